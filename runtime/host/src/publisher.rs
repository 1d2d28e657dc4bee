//! Where a plugin is from, as far as it decides what two plugins of one id have in common: nothing, if that is not the
//! same. What is kept for a plugin is kept for its publisher and its id.

use std::fmt;

/// Who a plugin is from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Publisher {
    /// It came with the program.
    Bundled,
    /// It was installed.
    Installed,
    /// Nobody: it is a file that was named by its path.
    #[default]
    Path,
    /// The project in that folder.
    Project(String),
}

/// In words, no two of which are the same.
impl fmt::Display for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundled => f.write_str("bundled"),
            Self::Installed => f.write_str("installed"),
            Self::Path => f.write_str("path"),
            Self::Project(folder) => write!(f, "project {folder}"),
        }
    }
}
