//! What a program wrote, as far as it fits: the beginning and the end.

use std::collections::VecDeque;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes that are read at once.
const CHUNK: usize = 8 * 1024;

/// Keeps at most so many bytes of an output: the first half of them from its beginning, the other from its end.
#[derive(Debug)]
pub struct Capture {
    half: usize,
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Keeps `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { half: limit / 2, beginning: Vec::new(), end: VecDeque::new(), total: 0 }
    }

    /// Takes the next bytes of the output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.beginning.len()));
        self.beginning.extend_from_slice(first);
        let skipped = rest.len().saturating_sub(self.half);
        self.end.extend(rest.iter().skip(skipped));
        let over = self.end.len().saturating_sub(self.half);
        self.end.drain(..over);
    }

    /// Takes all that is left of an output.
    pub async fn read(&mut self, output: &mut (impl AsyncRead + Unpin + ?Sized)) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        loop {
            match output.read(&mut chunk).await? {
                0 => return Ok(()),
                size => self.push(chunk.get(..size).unwrap_or_default()),
            }
        }
    }

    /// Bytes that were written, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that were not kept.
    pub fn missing(&self) -> u64 {
        self.total - (self.beginning.len() + self.end.len()) as u64
    }

    /// What was kept as text, with a note in the place of what was not.
    pub fn text(&self) -> String {
        let (front, back) = self.end.as_slices();
        let end = [front, back].concat();
        match self.missing() {
            0 => String::from_utf8_lossy(&[self.beginning.as_slice(), &end].concat()).into_owned(),
            missing => format!(
                "{}\n[cut: {missing} of {} bytes left out]\n{}",
                String::from_utf8_lossy(&self.beginning),
                self.total,
                String::from_utf8_lossy(&end)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, pieces: &[&str]) -> Capture {
        let mut capture = Capture::new(limit);
        pieces.iter().for_each(|piece| capture.push(piece.as_bytes()));
        capture
    }

    #[test]
    fn what_fits_is_kept_whole() {
        for pieces in [&["abcdefgh"][..], &["a", "bc", "def", "gh"], &["", "abcd", "", "efgh"]] {
            let capture = captured(8, pieces);
            assert_eq!((capture.text().as_str(), capture.total(), capture.missing()), ("abcdefgh", 8, 0), "{pieces:?}");
        }
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept() {
        for pieces in [&["abcdefghijkl"][..], &["abc", "defghijk", "l"], &["abcdefgh", "ijkl"]] {
            let capture = captured(8, pieces);
            assert_eq!(capture.text(), "abcd\n[cut: 4 of 12 bytes left out]\nijkl", "{pieces:?}");
            assert_eq!((capture.total(), capture.missing()), (12, 4));
        }
        assert_eq!(captured(0, &["abc"]).text(), "\n[cut: 3 of 3 bytes left out]\n");
    }

    #[tokio::test]
    async fn memory_does_not_grow_with_the_output() {
        let mut capture = Capture::new(1024);
        let output = tokio::io::repeat(b'x').take(10 << 20);
        capture.read(&mut Box::pin(output)).await.unwrap();
        assert_eq!(capture.total(), 10 << 20);
        assert!(capture.beginning.capacity() + capture.end.capacity() < 16 * 1024);
    }
}
