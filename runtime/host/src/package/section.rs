//! The framing of a component file: `\0asm`, a version, and sections of one byte of id, a length and a content.

use std::io::{ErrorKind, Read, Seek};
use std::ops::Range;

use wasm_encoder::{ComponentSection, CustomSection, Encode};

use crate::limits::SECTIONS;
use crate::manifest::{MOST_BYTES, SECTION};

/// The magic bytes, and version 13 of layer 1: a component.
const HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const CUSTOM: u8 = 0;

/// Whether a file begins like a component; the error says what is there instead. Reads no further than that.
pub(crate) fn check_beginning(file: &mut (impl Read + Seek)) -> Result<(), String> {
    Sections::begin(file)?;
    file.rewind().map_err(text)
}

/// The content of the manifest's section; none where there is no such section. Two are an error.
pub(crate) fn find(file: &mut (impl Read + Seek)) -> Result<Option<Vec<u8>>, String> {
    let mut found = None;
    let mut file = Sections::begin(file)?;
    while let Some(section) = file.next()? {
        let content = file.manifest(&section)?;
        if content.is_some() && found.is_some() {
            return Err(format!("it has two sections `{SECTION}`"));
        }
        found = found.or(content);
        file.skip(&section)?;
    }
    Ok(found)
}

/// The component with `content` as its manifest, at its beginning, in place of the one that it had.
pub(crate) fn replace(component: &[u8], content: &[u8]) -> Result<Vec<u8>, String> {
    let mut cursor = std::io::Cursor::new(component);
    let mut file = Sections::begin(&mut cursor)?;
    let mut kept = Vec::new();
    while let Some(section) = file.next()? {
        if file.manifest(&section)?.is_none() {
            kept.push(section.whole());
        }
        file.skip(&section)?;
    }
    let mut bytes = HEADER.to_vec();
    CustomSection { name: SECTION.into(), data: content.into() }.append_to_component(&mut bytes);
    for range in kept {
        bytes.extend(component.get(range).ok_or("a section is cut off")?);
    }
    Ok(bytes)
}

struct Section {
    id: u8,
    start: u64,
    content: Range<u64>,
}

impl Section {
    fn whole(&self) -> Range<usize> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        place(self.start)..place(self.content.end)
    }
}

/// A component file, section by section. Counts where it is, because asking a buffered file costs a system call, and
/// skips relatively, because going to a place empties the buffer: a component has hundreds of small sections.
struct Sections<'a, F> {
    file: &'a mut F,
    at: u64,
    seen: usize,
}

impl<'a, F: Read + Seek> Sections<'a, F> {
    fn begin(file: &'a mut F) -> Result<Self, String> {
        let mut header = [0; HEADER.len()];
        file.read_exact(&mut header).map_err(|_| "it is too short".to_owned())?;
        match header {
            HEADER => Ok(Self { file, at: HEADER.len() as u64, seen: 0 }),
            [0, b'a', b's', b'm', 1, 0, 0, 0] => Err("it is a core module".to_owned()),
            _ => Err("it does not begin like one".to_owned()),
        }
    }

    /// The next section, its content not yet read; none at the end. None is empty, and there are only so many: a file
    /// that is made to be slow to read has no other way.
    fn next(&mut self) -> Result<Option<Section>, String> {
        let start = self.at;
        let id = match self.byte() {
            Ok(id) => id,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(text(error)),
        };
        let length = u64::from(self.leb()?);
        self.seen += 1;
        if length == 0 {
            return Err("it has an empty section".to_owned());
        }
        if self.seen > SECTIONS {
            return Err(format!("it has more than {SECTIONS} sections"));
        }
        Ok(Some(Section { id, start, content: self.at..self.at + length }))
    }

    /// The content, if this is the manifest.
    fn manifest(&mut self, section: &Section) -> Result<Option<Vec<u8>>, String> {
        if section.id != CUSTOM {
            return Ok(None);
        }
        let mut expected = Vec::new();
        SECTION.encode(&mut expected);
        let length = section.content.end - section.content.start;
        let own = length.min(expected.len() as u64);
        if self.take(own)? != expected {
            return Ok(None);
        }
        let length = length - own;
        if length > MOST_BYTES as u64 {
            return Err(format!("its manifest has {length} bytes; at most {MOST_BYTES} are read"));
        }
        let content = self.take(length)?;
        if (content.len() as u64) < length {
            return Err("its manifest is cut off".to_owned());
        }
        Ok(Some(content))
    }

    fn skip(&mut self, section: &Section) -> Result<(), String> {
        let rest = i64::try_from(section.content.end - self.at).map_err(|error| error.to_string())?;
        self.at = section.content.end;
        self.file.seek_relative(rest).map_err(text)
    }

    /// As many bytes as there are of `length`.
    fn take(&mut self, length: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(length).read_to_end(&mut bytes).map_err(text)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }

    fn byte(&mut self) -> std::io::Result<u8> {
        let mut byte = [0];
        self.file.read_exact(&mut byte)?;
        self.at += 1;
        let [byte] = byte;
        Ok(byte)
    }

    /// A number of at most 32 bits in LEB128.
    fn leb(&mut self) -> Result<u32, String> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte().map_err(|_| "a section is cut off".to_owned())?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| "a section's size is out of range".to_owned());
            }
        }
        Err("a section's size is out of range".to_owned())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` takes")]
fn text(error: std::io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn section(name: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        CustomSection { name: name.into(), data: data.into() }.append_to_component(&mut bytes);
        bytes
    }

    #[test]
    fn the_manifest_is_found_and_replaced() {
        let other = section("other", &[7; 300]);
        let bare = [&HEADER[..], &other].concat();
        assert_eq!(find(&mut Cursor::new(&bare)), Ok(None));
        let first = replace(&bare, b"first").unwrap();
        assert_eq!(find(&mut Cursor::new(&first)), Ok(Some(b"first".to_vec())));
        let second = replace(&first, b"second").unwrap();
        assert_eq!(find(&mut Cursor::new(&second)), Ok(Some(b"second".to_vec())));
        assert!(second.ends_with(&other));
        assert_eq!(replace(&second, b"first").unwrap(), first);
    }

    /// Counts what would be system calls.
    struct Counted<'a>(Cursor<&'a [u8]>, &'a mut usize);

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            *self.1 += 1;
            self.0.read(buffer)
        }
    }

    impl Seek for Counted<'_> {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            *self.1 += 1;
            self.0.seek(to)
        }
    }

    #[test]
    fn many_sections_cost_few_system_calls() {
        let small: Vec<u8> = (0..500).flat_map(|_| section("small", b"content")).collect();
        let bytes =
            replace(&[&HEADER[..], &small, &section("big", &vec![7; 1 << 20]), &small].concat(), b"first").unwrap();
        let mut calls = 0;
        let mut file = std::io::BufReader::new(Counted(Cursor::new(&bytes), &mut calls));
        assert_eq!(find(&mut file), Ok(Some(b"first".to_vec())));
        assert!(calls < 20, "{calls} calls for a thousand sections");
    }

    #[test]
    fn what_is_no_component_is_refused() {
        let twice = [&HEADER[..], &section(SECTION, b"a"), &section(SECTION, b"b")].concat();
        let cut = replace(&HEADER, b"manifest").unwrap();
        for (bytes, problem) in [
            (&b""[..], "it is too short"),
            (b"\0asm\x01\0\0\0", "it is a core module"),
            (b"not wasm", "it does not begin like one"),
            (b"\0asm\x0d\0\x01\0\x00\xff\xff\xff\xff\xff", "a section's size is out of range"),
            (b"\0asm\x0d\0\x01\0\x00\xff", "a section is cut off"),
            (b"\0asm\x0d\0\x01\0\0\0\0\0", "it has an empty section"),
            (&[&HEADER[..], &[0, 1, 0].repeat(SECTIONS + 1)].concat(), "it has more than 100000 sections"),
            (&twice, "it has two sections `aar:manifest`"),
            (&cut[..cut.len() - 1], "its manifest is cut off"),
        ] {
            assert_eq!(find(&mut Cursor::new(bytes)).unwrap_err(), problem);
        }
    }
}
