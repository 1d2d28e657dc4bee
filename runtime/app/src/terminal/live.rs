//! Telling of output while it comes: soon, but not too often, and never too much at once.

use std::time::Duration;

use acp_runtime_agent::noun::counted;
use acp_runtime_agent::terminal::Viewer;
use tokio::time::Instant;

/// The time between two pieces.
const PACE: Duration = Duration::from_millis(200);
/// The same once much was told: it scrolls by faster than anybody reads.
const SLOW: Duration = Duration::from_secs(1);
/// Bytes that count as much.
const MUCH: usize = 1024 * 1024;
/// Bytes of one piece.
const PIECE: usize = 8 * 1024;

/// What was written and not told yet.
pub(super) struct Live<'v> {
    viewer: &'v dyn Viewer,
    pending: Vec<u8>,
    /// Bytes before those that were too many to be told.
    skipped: usize,
    told: usize,
    next: Instant,
}

impl<'v> Live<'v> {
    pub(super) fn new(viewer: &'v dyn Viewer, now: Instant) -> Self {
        Self { viewer, pending: Vec::new(), skipped: 0, told: 0, next: now }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let over = self.pending.len().saturating_sub(PIECE);
        self.pending.drain(..over);
        self.skipped += over;
    }

    /// When something is to be told; none where there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.pending.is_empty()).then_some(self.next)
    }

    /// Tells of it, but for a character that is not complete.
    pub(super) fn tell(&mut self, now: Instant) {
        self.tell_of(whole_characters(&self.pending));
        self.next = now + if self.told > MUCH { SLOW } else { PACE };
    }

    /// Tells of all that is left.
    pub(super) fn finish(&mut self) {
        self.tell_of(self.pending.len());
    }

    fn tell_of(&mut self, size: usize) {
        let rest = self.pending.split_off(size);
        let bytes = std::mem::replace(&mut self.pending, rest);
        if bytes.is_empty() {
            return;
        }
        self.told += bytes.len();
        let mut text = String::new();
        let skipped = std::mem::take(&mut self.skipped);
        if skipped > 0 {
            text = format!("\n[{} not shown]\n", counted(skipped, "byte"));
        }
        text.push_str(&String::from_utf8_lossy(&bytes));
        self.viewer.wrote(text);
    }
}

/// How many bytes are not the beginning of a character whose end is still to come.
fn whole_characters(bytes: &[u8]) -> usize {
    const LONGEST: usize = 4;
    let last = bytes.len().saturating_sub(LONGEST - 1);
    for start in (last..bytes.len()).rev() {
        let size = match bytes.get(start) {
            Some(0xC2..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF4) => 4,
            Some(0x80..=0xBF) => continue,
            Some(_) | None => 1,
        };
        return if start + size > bytes.len() { start } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::BoxFuture;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Viewer for Told {
        fn opened<'a>(&'a self, _terminal: &'a str) -> BoxFuture<'a, ()> {
            Box::pin(async {})
        }

        fn wrote(&self, text: String) {
            self.0.lock().unwrap().push(text);
        }
    }

    impl Told {
        fn texts(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }

    #[test]
    fn output_is_told_soon_and_then_at_its_pace() {
        let (told, begin) = (Told::default(), Instant::now());
        let mut live = Live::new(&told, begin);
        assert_eq!(live.due(), None);
        for (bytes, after) in [("a", 0), ("b", 200), ("c", 400)] {
            live.push(bytes.as_bytes());
            let due = begin + Duration::from_millis(after);
            assert_eq!(live.due(), Some(due));
            live.tell(due);
        }
        assert_eq!(live.due(), None, "nothing new is never due");
        live.finish();
        assert_eq!(told.texts(), ["a", "b", "c"]);
    }

    #[test]
    fn of_too_much_at_once_the_end_is_told() {
        let (told, now) = (Told::default(), Instant::now());
        let mut live = Live::new(&told, now);
        live.push(&vec![b'x'; PIECE]);
        live.push(b"the end");
        live.tell(now);
        let texts = told.texts();
        assert!(texts[0].starts_with("\n[7 bytes not shown]\nx") && texts[0].ends_with("xthe end"));
        // What never ends is told more slowly.
        for _ in 0..=MUCH / PIECE {
            live.push(&vec![b'x'; PIECE]);
            live.tell(now);
        }
        live.push(b"y");
        assert_eq!(live.due(), Some(now + SLOW));
    }

    #[test]
    fn characters_are_told_whole() {
        let (told, now) = (Told::default(), Instant::now());
        let mut live = Live::new(&told, now);
        let text = "aü€🦀";
        for byte in text.as_bytes() {
            live.push(&[*byte]);
            live.tell(now);
        }
        assert_eq!(told.texts(), ["a", "ü", "€", "🦀"]);
        live.push(&[0xF0, 0x9F]);
        live.tell(now);
        assert_eq!(told.texts().concat(), text);
        live.finish();
        live.push(&[0xFF, b'z', 0x80, 0x80]);
        live.tell(now);
        assert_eq!(told.texts().concat(), format!("{text}\u{fffd}\u{fffd}z\u{fffd}\u{fffd}"));
    }
}
