//! Whether bytes are text, and what they seem to be where they are not.

/// Bytes that files of a kind begin with.
const BEGINNINGS: [(&[u8], &str); 17] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
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
    (b"\xFF\xFE", UTF_16),
    (b"\xFE\xFF", UTF_16),
    (b"wOF2", "a font"),
];

const UTF_16: &str = "text in UTF-16: `iconv -f UTF-16 -t UTF-8` makes it readable";

/// The text, else what the bytes seem to be. Text in UTF-8 has no NUL.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, &'static str> {
    if bytes.contains(&0) {
        return Err(seeming(&bytes));
    }
    String::from_utf8(bytes).map_err(|error| seeming(error.as_bytes()))
}

fn seeming(bytes: &[u8]) -> &'static str {
    let known = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning)).map(|(_, kind)| *kind);
    let control = |byte: &u8| *byte < b' ' && !byte.is_ascii_whitespace() && *byte != 0x1B;
    known.unwrap_or(if bytes.iter().any(control) {
        "binary data"
    } else {
        "text in an older encoding, such as Latin-1: `iconv -f LATIN1 -t UTF-8` makes it readable"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_named() {
        for (bytes, seems) in [
            (&b"plain\ttext\r\n"[..], None),
            ("\u{feff}ünïcode €\n".as_bytes(), None),
            (b"", None),
            (b"\x1b[31mred\x1b[0m", None),
            (b"\x89PNG\r\n\x1a\n\0\0", Some("a PNG image")),
            (b"\xFF\xFEh\0i\0", Some(UTF_16)),
            (b"\xFE\xFF\0h\0i", Some(UTF_16)),
            (b"\0asm\x01\0\0\0", Some("a WebAssembly module")),
            (b"text with a NUL\0", Some("binary data")),
            (b"\x01\x02\xFF", Some("binary data")),
            (
                b"gr\xFC\xDFe",
                Some("text in an older encoding, such as Latin-1: `iconv -f LATIN1 -t UTF-8` makes it readable"),
            ),
        ] {
            let read = text(bytes.to_vec());
            assert_eq!(read.as_ref().err().copied(), seems, "{bytes:?}");
            assert!(seems.is_some() || read.is_ok_and(|text| text.as_bytes() == bytes));
        }
    }
}
