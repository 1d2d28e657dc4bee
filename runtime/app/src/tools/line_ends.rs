//! How the lines of a file end, so that what is put into it ends alike.

use std::borrow::Cow;

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// Every one in CR LF.
    Dos,
    /// In LF, or not all alike.
    Unix,
}

impl LineEnds {
    /// Those of `text`.
    pub(super) fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        if all > 0 && all == text.matches("\r\n").count() { Self::Dos } else { Self::Unix }
    }

    /// `text` with lines that end so, where that matters.
    pub(super) fn put_into(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Unix => text.into(),
            Self::Dos => text.replace("\r\n", "\n").replace('\n', "\r\n").into(),
        }
    }
}
