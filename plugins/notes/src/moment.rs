//! The date and time that a note bears, in UTC: a plugin does not know where its host is.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// A moment, as it is written into notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// As `2026-11-30`.
    pub(crate) date: String,
    /// As `09:05`.
    pub(crate) time: String,
}

impl Moment {
    /// This moment.
    pub(crate) fn now() -> Self {
        Self::at(Timestamp::now())
    }

    fn at(timestamp: Timestamp) -> Self {
        let written = |format| strtime::format(format, timestamp).unwrap_or_default();
        Self { date: written("%Y-%m-%d"), time: written("%H:%M") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_utc() {
        let moment = Moment::at(Timestamp::from_second(1_796_029_505).unwrap());
        assert_eq!(moment, Moment { date: "2026-11-30".to_owned(), time: "09:05".to_owned() });
    }
}
