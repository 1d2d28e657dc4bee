//! Cuts a byte stream into messages: lines, or bodies behind `Content-Length` headers.
//!
//! Never holds more than one message of the limit. Knows no JSON. Tested with its user in `tests.rs`.

use std::io::{self, BufRead, BufReader, Read};

const BUFFER: usize = 64 * 1024;

/// One message as it was found.
pub(super) enum Incoming {
    /// Not empty, without the byte order mark and the line's end.
    Message(String),
    /// Bytes that are not UTF-8.
    NotText,
    /// More bytes than the limit; all of them were skipped.
    TooLarge {
        /// In bytes.
        limit: usize,
    },
}

pub(super) struct Reader<R> {
    input: BufReader<R>,
    limit: usize,
    saw_length_header: bool,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::with_capacity(BUFFER, input), limit, saw_length_header: false }
    }

    /// Whether a message came behind a header: the client wants its answers so.
    pub(super) fn saw_length_header(&self) -> bool {
        self.saw_length_header
    }

    /// The next message that is not blank; none at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Incoming>> {
        loop {
            let line = match self.line()? {
                None => return Ok(None),
                Some(Err(too_large)) => return Ok(Some(too_large)),
                Some(Ok(line)) => line,
            };
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii();
            if line.is_empty() {
                continue;
            }
            return match header(line) {
                None => Ok(Some(text(line))),
                Some(header) => self.body(header),
            };
        }
    }

    /// One line without a limit break: its bytes, or that there were too many of them.
    fn line(&mut self) -> io::Result<Option<Result<Vec<u8>, Incoming>>> {
        let mut line = Vec::new();
        let most = u64::try_from(self.limit).unwrap_or(u64::MAX).saturating_add(1);
        if self.input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() <= self.limit || line.ends_with(b"\n") {
            return Ok(Some(Ok(line)));
        }
        drop(line);
        self.input.skip_until(b'\n')?;
        Ok(Some(Err(Incoming::TooLarge { limit: self.limit })))
    }

    /// The rest of a block of headers, and the body that it announces.
    fn body(&mut self, first: Header) -> io::Result<Option<Incoming>> {
        const MOST_HEADERS: usize = 16;
        let mut length = first.length;
        for _ in 0..MOST_HEADERS {
            let line = match self.line()? {
                None => return Ok(None),
                Some(Err(too_large)) => return Ok(Some(too_large)),
                Some(Ok(line)) => line,
            };
            let line = line.trim_ascii();
            if line.is_empty() {
                break;
            }
            length = header(line).and_then(|header| header.length).or(length);
        }
        let Some(length) = length else { return Ok(Some(Incoming::NotText)) };
        self.saw_length_header = true;
        let bytes = u64::try_from(length).unwrap_or(u64::MAX);
        if length > self.limit {
            io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
            return Ok(Some(Incoming::TooLarge { limit: self.limit }));
        }
        let mut body = Vec::new();
        self.input.by_ref().take(bytes).read_to_end(&mut body)?;
        Ok((body.len() == length).then(|| text(&body)))
    }
}

struct Header {
    /// Of `Content-Length`, where it is a number.
    length: Option<usize>,
}

/// Reads a line as a header. No JSON text begins like one.
fn header(line: &[u8]) -> Option<Header> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    if name.eq_ignore_ascii_case(b"content-length") {
        let value = std::str::from_utf8(value.get(1..)?).ok()?;
        Some(Header { length: value.trim().parse().ok() })
    } else if name.eq_ignore_ascii_case(b"content-type") {
        Some(Header { length: None })
    } else {
        None
    }
}

fn text(bytes: &[u8]) -> Incoming {
    match std::str::from_utf8(bytes) {
        Ok(text) => Incoming::Message(text.to_owned()),
        Err(_) => Incoming::NotText,
    }
}
