//! The framing of a component file: `\0asm`, a version, and sections of one byte of id, a length and a content.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;

use wasm_encoder::{ComponentSection, CustomSection, Encode};

use crate::manifest::{MOST_BYTES, SECTION};

/// The magic bytes, and version 13 of layer 1: a component.
const HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const CUSTOM: u8 = 0;

/// The content of the manifest's section; none where there is no such section. Two are an error.
pub(crate) fn find(file: &mut (impl Read + Seek)) -> Result<Option<Vec<u8>>, String> {
    let mut found = None;
    header(file)?;
    while let Some(section) = Section::next(file)? {
        let content = section.manifest(file)?;
        if content.is_some() && found.is_some() {
            return Err(format!("it has two sections `{SECTION}`"));
        }
        found = found.or(content);
        section.skip(file)?;
    }
    Ok(found)
}

/// The component with `content` as its manifest, at its beginning, in place of the one that it had.
pub(crate) fn replace(component: &[u8], content: &[u8]) -> Result<Vec<u8>, String> {
    let mut file = std::io::Cursor::new(component);
    header(&mut file)?;
    let mut kept = Vec::new();
    while let Some(section) = Section::next(&mut file)? {
        if section.manifest(&mut file)?.is_none() {
            kept.push(section.whole());
        }
        section.skip(&mut file)?;
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
    /// The next section, its content not yet read; none at the end.
    fn next(file: &mut (impl Read + Seek)) -> Result<Option<Self>, String> {
        let start = file.stream_position().map_err(text)?;
        let mut id = [0];
        match file.read_exact(&mut id) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(text(error)),
        }
        let [id] = id;
        let length = u64::from(leb(file)?);
        let begin = file.stream_position().map_err(text)?;
        Ok(Some(Self { id, start, content: begin..begin + length }))
    }

    /// The content, if this is the manifest.
    fn manifest(&self, file: &mut (impl Read + Seek)) -> Result<Option<Vec<u8>>, String> {
        if self.id != CUSTOM {
            return Ok(None);
        }
        let mut expected = Vec::new();
        SECTION.encode(&mut expected);
        let mut name = Vec::new();
        let length = self.content.end - self.content.start;
        let own = length.min(expected.len() as u64);
        file.by_ref().take(own).read_to_end(&mut name).map_err(text)?;
        if name != expected {
            return Ok(None);
        }
        let length = length - own;
        if length > MOST_BYTES as u64 {
            return Err(format!("its manifest has {length} bytes; at most {MOST_BYTES} are read"));
        }
        let mut content = Vec::new();
        file.by_ref().take(length).read_to_end(&mut content).map_err(text)?;
        if (content.len() as u64) < length {
            return Err("its manifest is cut off".to_owned());
        }
        Ok(Some(content))
    }

    fn skip(&self, file: &mut impl Seek) -> Result<(), String> {
        file.seek(SeekFrom::Start(self.content.end)).map(|_| ()).map_err(text)
    }

    fn whole(&self) -> Range<usize> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        place(self.start)..place(self.content.end)
    }
}

fn header(file: &mut impl Read) -> Result<(), String> {
    let mut header = [0; HEADER.len()];
    file.read_exact(&mut header).map_err(|_| "it is too short".to_owned())?;
    match header {
        HEADER => Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0] => Err("it is a core module".to_owned()),
        _ => Err("it does not begin like one".to_owned()),
    }
}

/// A number of at most 32 bits in LEB128.
fn leb(file: &mut impl Read) -> Result<u32, String> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let mut byte = [0];
        file.read_exact(&mut byte).map_err(|_| "a section is cut off".to_owned())?;
        let [byte] = byte;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).map_err(|_| "a section's size is out of range".to_owned());
        }
    }
    Err("a section's size is out of range".to_owned())
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
            (&twice, "it has two sections `aar:manifest`"),
            (&cut[..cut.len() - 1], "its manifest is cut off"),
        ] {
            assert_eq!(find(&mut Cursor::new(bytes)).unwrap_err(), problem);
        }
    }
}
