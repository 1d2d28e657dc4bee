//! Whether bytes are text, in which encoding, and what they seem to be where they are not.
//!
//! Beside UTF-8 there is UTF-16, which its mark tells, and what is left: text in an older encoding is read as Windows-1252,
//! in which every byte is some character. So whatever it was, what is not changed is written back as it was.

use encoding_rs::WINDOWS_1252;

/// Bytes that files of a kind begin with.
const BEGINNINGS: [(&[u8], &str); 15] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "an image, a sound or a film"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document of that form"),
    (b"\x1F\x8B", "a gzip archive"),
    (b"\xFD7zXZ", "an xz archive"),
    (b"\x28\xB5\x2F\xFD", "a zstd archive"),
    (b"\x7FELF", "a program"),
    (b"\xCF\xFA\xED\xFE", "a program"),
    (b"MZ", "a program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3", "a SQLite database"),
    (b"wOF2", "a font"),
];

/// How characters are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16LittleEndian,
    Utf16BigEndian,
    Windows1252,
}

/// What text in UTF-16 begins with.
const MARK: char = '\u{feff}';

/// A character that an encoding does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the file is written in {}, which has no `{character}`: do without it, or convert the file to UTF-8 first", .encoding.name())]
pub(super) struct NoSuchCharacter {
    encoding: Encoding,
    character: char,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16LittleEndian | Self::Utf16BigEndian => "UTF-16",
            Self::Windows1252 => "an older encoding, such as Latin-1",
        }
    }

    /// The bytes of `text`.
    pub(super) fn write(self, text: &str) -> Result<Vec<u8>, NoSuchCharacter> {
        let marked = || Some(MARK).filter(|mark| !text.starts_with(*mark)).into_iter().chain(text.chars());
        let units = || marked().flat_map(|character| character.encode_utf16(&mut [0; 2]).to_vec());
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf16LittleEndian => Ok(units().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16BigEndian => Ok(units().flat_map(u16::to_be_bytes).collect()),
            Self::Windows1252 => {
                let (bytes, _, has_others) = WINDOWS_1252.encode(text);
                if !has_others {
                    return Ok(bytes.into_owned());
                }
                let is_other = |character: &char| WINDOWS_1252.encode(character.encode_utf8(&mut [0; 4])).2;
                let character = text.chars().find(is_other).unwrap_or(char::REPLACEMENT_CHARACTER);
                Err(NoSuchCharacter { encoding: self, character })
            }
        }
    }
}

/// The text and its encoding, else what the bytes seem to be. Text has no NUL.
pub(super) fn read(bytes: Vec<u8>) -> Result<(String, Encoding), &'static str> {
    for (mark, encoding) in [(b"\xFF\xFE", Encoding::Utf16LittleEndian), (b"\xFE\xFF", Encoding::Utf16BigEndian)] {
        if bytes.starts_with(mark) {
            return Ok((utf16(&bytes, encoding).ok_or("damaged text in UTF-16, or something else")?, encoding));
        }
    }
    if bytes.contains(&0) {
        return Err(seeming(&bytes));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, Encoding::Utf8)),
        Err(error) if is_text(error.as_bytes()) => {
            let text = WINDOWS_1252.decode_without_bom_handling(error.as_bytes()).0.into_owned();
            Ok((text, Encoding::Windows1252))
        }
        Err(error) => Err(seeming(error.as_bytes())),
    }
}

fn utf16(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| match encoding {
        Encoding::Utf16BigEndian => u16::from_be_bytes(*pair),
        Encoding::Utf8 | Encoding::Utf16LittleEndian | Encoding::Windows1252 => u16::from_le_bytes(*pair),
    };
    let text: String = char::decode_utf16(units.iter().map(unit)).collect::<Result<_, _>>().ok()?;
    (rest.is_empty() && !text.contains('\0')).then_some(text)
}

/// Whether bytes that are not UTF-8 may be text all the same.
fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| *byte < b' ' && !byte.is_ascii_whitespace() && *byte != 0x1B;
    known(bytes).is_none() && !bytes.iter().any(control)
}

fn known(bytes: &[u8]) -> Option<&'static str> {
    BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning)).map(|(_, kind)| *kind)
}

fn seeming(bytes: &[u8]) -> &'static str {
    known(bytes).unwrap_or("binary data")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_text_is_named() {
        for (bytes, seems) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], "a PNG image"),
            (b"\xFF\xD8\xFF\xE0", "a JPEG image"),
            (b"\0asm\x01\0\0\0", "a WebAssembly module"),
            (b"text with a NUL\0", "binary data"),
            (b"\x01\x02\xFF", "binary data"),
            (b"\xFF\xFEh\0i", "damaged text in UTF-16, or something else"),
            (b"\xFF\xFE\0\xD8", "damaged text in UTF-16, or something else"),
            // UTF-32 begins like UTF-16.
            (b"\xFF\xFE\0\0h\0\0\0", "damaged text in UTF-16, or something else"),
        ] {
            assert_eq!(read(bytes.to_vec()), Err(seems), "{bytes:?}");
        }
    }

    #[test]
    fn text_is_read_in_its_encoding() {
        use Encoding::{Utf8, Utf16BigEndian, Utf16LittleEndian, Windows1252};
        for (bytes, text, encoding) in [
            (&b"plain\ttext\r\n"[..], "plain\ttext\r\n", Utf8),
            ("\u{feff}\u{fc}n \u{20ac}\n".as_bytes(), "\u{feff}\u{fc}n \u{20ac}\n", Utf8),
            (b"", "", Utf8),
            (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m", Utf8),
            (b"\xFF\xFEh\0i\0", "\u{feff}hi", Utf16LittleEndian),
            (b"\xFE\xFF\0h\xD8\x3D\xDE\x00", "\u{feff}h\u{1f600}", Utf16BigEndian),
            (b"gr\xFC\xDFe \x80", "gr\u{fc}\u{df}e \u{20ac}", Windows1252),
        ] {
            assert_eq!(read(bytes.to_vec()), Ok((text.to_owned(), encoding)), "{bytes:?}");
            assert_eq!(encoding.write(text).unwrap(), bytes);
        }
    }

    #[test]
    fn what_an_encoding_does_not_have_is_named() {
        let error = Encoding::Windows1252.write("a \u{2192} b").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the file is written in an older encoding, such as Latin-1, which has no `\u{2192}`: do without it, or convert \
             the file to UTF-8 first"
        );
        assert_eq!(Encoding::Utf16LittleEndian.write("h").unwrap(), b"\xFF\xFEh\0", "the mark is never lost");
    }

    proptest! {
        #[test]
        fn what_was_read_is_written_back(bytes in prop::collection::vec(any::<u8>(), 0..64), mark in 0usize..3) {
            let marks: [&[u8]; 3] = [b"\xFF\xFE", b"\xFE\xFF", b""];
            let bytes = [marks[mark], &bytes].concat();
            if let Ok((text, encoding)) = read(bytes.clone()) {
                prop_assert_eq!(encoding.write(&text).unwrap(), bytes);
            }
        }
    }
}
