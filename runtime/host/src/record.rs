//! What is remembered of a plugin's calls: how many, how long, and the last things that it said and failed with.
//!
//! One for each plugin of a process, in memory and bounded. Knows nothing about who asks for it. Tested beside the code.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_runtime_agent::plain;

/// Calls whose times are remembered.
const TIMES: usize = 128;
/// Lines of log that are remembered.
const LINES: usize = 20;
/// Characters of each line, and of a failure.
const LINE: usize = 240;

/// A plugin's record; clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Calls>>);

/// What is remembered of a plugin's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// How many have ended.
    pub count: u64,
    /// How many of them have failed; one that was cancelled has not.
    pub failures: u64,
    /// Why the last one failed that did.
    pub last_failure: Option<String>,
    /// The last lines of its log, oldest first: the level, where it was written, and the text. None below `info`.
    pub lines: VecDeque<String>,
    /// The longest of all.
    pub longest: Option<Duration>,
    times: VecDeque<Duration>,
}

impl Calls {
    /// The time that half of the last 128 calls took at most; none before the first. Without the time that a person was
    /// asked, and that the component took to be compiled.
    pub fn median(&self) -> Option<Duration> {
        let mut times: Vec<Duration> = self.times.iter().copied().collect();
        times.sort_unstable();
        times.get(times.len().saturating_sub(1) / 2).copied()
    }
}

impl Record {
    /// What is remembered now.
    pub(crate) fn get(&self) -> Calls {
        self.lock().clone()
    }

    /// A call that ran has ended.
    pub(crate) fn ran(&self, time: Duration) {
        let mut calls = self.lock();
        calls.longest = calls.longest.max(Some(time));
        push(&mut calls.times, time, TIMES);
    }

    /// A call has ended, with a failure or without.
    pub(crate) fn ended(&self, failure: Option<String>) {
        let mut calls = self.lock();
        calls.count += 1;
        if let Some(failure) = failure {
            calls.failures += 1;
            calls.last_failure = Some(plain::line(&failure, LINE));
        }
    }

    /// The plugin has logged a line.
    pub(crate) fn logged(&self, line: &str) {
        push(&mut self.lock().lines, plain::line(line, LINE), LINES);
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<T>(queue: &mut VecDeque<T>, last: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_last_and_the_longest_of_all() {
        let record = Record::default();
        assert_eq!((record.get().median(), record.get().longest), (None, None));
        for millis in [900, 1, 3, 2] {
            record.ran(Duration::from_millis(millis));
        }
        assert_eq!(record.get().median(), Some(Duration::from_millis(2)));
        for _ in 0..TIMES {
            record.ran(Duration::from_millis(7));
        }
        let calls = record.get();
        assert_eq!((calls.median(), calls.longest), (Some(Duration::from_millis(7)), Some(Duration::from_millis(900))));
        assert_eq!(calls.times.len(), TIMES);
    }

    #[test]
    fn only_the_last_lines_stay_and_no_line_is_long() {
        let record = Record::default();
        for number in 0..1000 {
            record.logged(&format!("info log: {number}\n{}", "x".repeat(10_000)));
            record.ended((number % 2 == 0).then(|| format!("broken {number}\u{202e}")));
        }
        let calls = record.get();
        assert_eq!((calls.count, calls.failures), (1000, 500));
        assert_eq!(calls.last_failure.as_deref(), Some("broken 998"));
        assert_eq!(calls.lines.len(), LINES);
        assert!(calls.lines[0].starts_with("info log: 980 xxx"), "{}", calls.lines[0]);
        assert!(calls.lines.iter().all(|line| line.chars().count() <= LINE));
    }
}
