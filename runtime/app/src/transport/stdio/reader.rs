//! Cuts a byte stream into messages: lines, or bodies behind `Content-Length` headers.
//!
//! Both are taken at any time; the first message says what the client wants to be answered in. Whatever the headers
//! say, no more than one message of the limit is held, a refused body is skipped after it was refused, and after a
//! length that was wrong the next header is found again. Knows no JSON. Tested with its user in `tests.rs`.

use std::io::{self, BufRead, BufReader, Read};

const BUFFER: usize = 64 * 1024;
/// Header lines before a body.
const MOST_HEADERS: usize = 32;
/// Bytes of a body over the limit that are skipped. One that claims more is not believed.
const MOST_SKIPPED: u64 = 1 << 30;

/// One message as it was found.
pub(super) enum Incoming {
    /// Without the byte order mark and the line's end.
    Message(String),
    /// Bytes that are not UTF-8.
    NotText,
    /// More bytes than the limit; all of them are skipped.
    TooLarge {
        /// In bytes.
        limit: usize,
    },
    /// A block of headers that does not say how long its message is.
    NoLength {
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// How messages are told from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Each is a line.
    Lines,
    /// Each follows a block of headers with its length.
    Length,
}

pub(super) struct Reader<R> {
    input: BufReader<R>,
    limit: usize,
    framing: Option<Framing>,
    /// Bytes of a refused body that are still to come.
    refused: u64,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::with_capacity(BUFFER, input), limit, framing: None, refused: 0 }
    }

    /// How the first message came; none before that.
    pub(super) fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// The next message that is not blank; none at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Incoming>> {
        let refused = std::mem::take(&mut self.refused);
        io::copy(&mut self.input.by_ref().take(refused), &mut io::sink())?;
        loop {
            let line = match self.line()? {
                None => return Ok(None),
                Some(Err(too_large)) => {
                    self.framing.get_or_insert(Framing::Lines);
                    return Ok(Some(too_large));
                }
                Some(Ok(line)) => line,
            };
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii();
            if line.is_empty() {
                continue;
            }
            if let Some(header) = header(line) {
                self.framing.get_or_insert(Framing::Length);
                return self.body(header);
            }
            return match *self.framing.get_or_insert(Framing::Lines) {
                Framing::Length if let Some(header) = header_at_the_end(line) => self.body(header),
                Framing::Length | Framing::Lines => Ok(Some(text(line))),
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
        let mut length = first.length;
        let mut headers = 1;
        // A body without the blank line before it is known by how it begins.
        while !matches!(self.input.fill_buf()?.first(), Some(b'{' | b'[')) {
            let line = match self.line()? {
                None => return Ok(None),
                Some(Err(too_large)) => return Ok(Some(too_large)),
                Some(Ok(line)) => line,
            };
            let line = line.trim_ascii();
            if line.is_empty() {
                break;
            }
            headers += 1;
            if let Some(header) = header(line) {
                length = length.and(header.length);
            }
        }
        match length {
            _ if headers > MOST_HEADERS => {
                self.refused = length.bytes().filter(|bytes| *bytes <= MOST_SKIPPED).unwrap_or(0);
                Ok(Some(Incoming::NoLength { reason: "there are too many headers" }))
            }
            Length::Missing => Ok(Some(Incoming::NoLength { reason: "the headers have no `Content-Length`" })),
            Length::Wrong => Ok(Some(Incoming::NoLength { reason: "`Content-Length` is not one number of bytes" })),
            Length::Bytes(bytes) if bytes > u64::try_from(self.limit).unwrap_or(u64::MAX) => {
                self.refused = if bytes <= MOST_SKIPPED { bytes } else { 0 };
                Ok(Some(Incoming::TooLarge { limit: self.limit }))
            }
            Length::Bytes(bytes) => {
                let mut body = Vec::new();
                let read = self.input.by_ref().take(bytes).read_to_end(&mut body)?;
                if u64::try_from(read).unwrap_or(u64::MAX) < bytes {
                    tracing::warn!("the input ended in the middle of a message");
                    return Ok(None);
                }
                Ok(Some(text(&body)))
            }
        }
    }
}

struct Header {
    length: Length,
}

/// What headers say about the length of a body.
#[derive(Clone, Copy)]
enum Length {
    Missing,
    Wrong,
    Bytes(u64),
}

impl Length {
    /// What two headers say together.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Missing, length) | (length, Self::Missing) => length,
            (Self::Bytes(one), Self::Bytes(other)) if one == other => self,
            (Self::Wrong | Self::Bytes(_), Self::Wrong | Self::Bytes(_)) => Self::Wrong,
        }
    }

    fn bytes(self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Missing | Self::Wrong => None,
        }
    }
}

const LENGTH: &[u8] = b"content-length";

/// Reads a line as a header. No JSON text begins like one.
fn header(line: &[u8]) -> Option<Header> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    let name = name.trim_ascii();
    if name.eq_ignore_ascii_case(LENGTH) {
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value).ok().filter(|_| digits).and_then(|value| value.parse().ok());
        Some(Header { length: number.map_or(Length::Wrong, Length::Bytes) })
    } else if name.eq_ignore_ascii_case(b"content-type") {
        Some(Header { length: Length::Missing })
    } else {
        None
    }
}

/// The header that a line ends in, after what a wrong length has left of the message before. No JSON text ends so.
fn header_at_the_end(line: &[u8]) -> Option<Header> {
    let at = line.windows(LENGTH.len()).rposition(|name| name.eq_ignore_ascii_case(LENGTH))?;
    header(line.get(at..)?).filter(|header| header.length.bytes().is_some())
}

fn text(bytes: &[u8]) -> Incoming {
    match std::str::from_utf8(bytes) {
        Ok(text) => Incoming::Message(text.to_owned()),
        Err(_) => Incoming::NotText,
    }
}
