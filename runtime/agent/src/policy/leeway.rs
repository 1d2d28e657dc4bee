//! How much a session may do without asking, flag by flag.

use serde::{Deserialize, Serialize};

use super::Mode;

/// The flags that a [`Mode`] stands for. A mode sets all of them at once; each can be set alone afterwards, which may
/// give a state that no mode describes: it goes by the name of the nearest.
///
/// | mode | writes | runs | hold |
/// |---|---|---|---|
/// | `review` | | | |
/// | `auto-edit` | yes | | |
/// | `auto` | yes | yes | |
/// | `read-only` | | | read-only |
/// | `plan` | | | offline |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Leeway {
    writes: bool,
    runs: bool,
    hold: Hold,
}

/// What is withheld, whatever else is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Hold {
    #[default]
    Nothing,
    /// Every change.
    ReadOnly,
    /// Every change, and the network.
    Offline,
}

impl Leeway {
    /// Whether files are written and moved without asking; while nothing may be changed, they are not.
    pub fn writes(self) -> bool {
        self.writes && !self.read_only()
    }

    /// Whether programs are run without asking; while nothing may be changed, they are not.
    pub fn runs(self) -> bool {
        self.runs && !self.read_only()
    }

    /// Whether nothing may be changed and nothing run.
    pub fn read_only(self) -> bool {
        self.hold != Hold::Nothing
    }

    /// Whether the network is off as well.
    pub fn offline(self) -> bool {
        self.hold == Hold::Offline
    }

    /// With or without asking before files are written. What is set while nothing may be changed holds afterwards.
    #[must_use]
    pub fn with_writes(self, writes: bool) -> Self {
        Self { writes, ..self }
    }

    /// With or without asking before programs are run. What is set while nothing may be changed holds afterwards.
    #[must_use]
    pub fn with_runs(self, runs: bool) -> Self {
        Self { runs, ..self }
    }

    /// With or without the right to change anything. Giving it back ends planning, too.
    #[must_use]
    pub fn with_read_only(self, read_only: bool) -> Self {
        let hold = if read_only { self.hold.max(Hold::ReadOnly) } else { Hold::Nothing };
        Self { hold, ..self }
    }

    /// What both allow.
    #[must_use]
    pub fn narrowed_to(self, other: Self) -> Self {
        Self { writes: self.writes && other.writes, runs: self.runs && other.runs, hold: self.hold.max(other.hold) }
    }

    /// The mode that describes it, or comes nearest.
    pub fn mode(self) -> Mode {
        match (self.hold, self.writes, self.runs) {
            (Hold::Offline, ..) => Mode::Plan,
            (Hold::ReadOnly, ..) => Mode::ReadOnly,
            (Hold::Nothing, true, true) => Mode::Auto,
            (Hold::Nothing, true, false) => Mode::AutoEdit,
            (Hold::Nothing, false, true | false) => Mode::Review,
        }
    }
}

impl From<Mode> for Leeway {
    fn from(mode: Mode) -> Self {
        let (writes, runs, hold) = match mode {
            Mode::Review => (false, false, Hold::Nothing),
            Mode::AutoEdit => (true, false, Hold::Nothing),
            Mode::Auto => (true, true, Hold::Nothing),
            Mode::ReadOnly => (false, false, Hold::ReadOnly),
            Mode::Plan => (false, false, Hold::Offline),
        };
        Self { writes, runs, hold }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_its_flags() {
        for mode in Mode::ALL {
            assert_eq!(Leeway::from(mode).mode(), mode);
        }
    }

    #[test]
    fn flags_make_modes() {
        let review = Leeway::from(Mode::Review);
        for (leeway, mode) in [
            (review.with_writes(true), Mode::AutoEdit),
            (review.with_runs(true), Mode::Review),
            (review.with_runs(true).with_writes(true), Mode::Auto),
            (Leeway::from(Mode::Auto).with_read_only(true), Mode::ReadOnly),
            (Leeway::from(Mode::Auto).with_read_only(true).with_read_only(false), Mode::Auto),
            (Leeway::from(Mode::Plan).with_read_only(true), Mode::Plan),
            (Leeway::from(Mode::Plan).with_read_only(false), Mode::Review),
            (Leeway::from(Mode::Plan).with_writes(true), Mode::Plan),
        ] {
            assert_eq!(leeway.mode(), mode, "{leeway:?}");
        }
        let held = Leeway::from(Mode::Auto).with_read_only(true);
        assert!(!held.writes() && !held.runs() && held.read_only(), "{held:?}");
    }

    #[test]
    fn the_narrower_of_two() {
        for (one, other, both) in [
            (Mode::Auto, Mode::Review, Mode::Review),
            (Mode::Auto, Mode::AutoEdit, Mode::AutoEdit),
            (Mode::Auto, Mode::Plan, Mode::Plan),
            (Mode::ReadOnly, Mode::Plan, Mode::Plan),
            (Mode::Review, Mode::ReadOnly, Mode::ReadOnly),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(Leeway::from(one).narrowed_to(other.into()).mode(), both, "{one:?} {other:?}");
            }
        }
    }
}
