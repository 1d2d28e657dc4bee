//! Where a plugin is from, as far as that decides what is kept for it: two plugins of one id have nothing in common
//! unless both are from the same place. Who has signed a plugin is another matter, see [`crate::publishers`].

use std::fmt;

/// Where a plugin is from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum PluginOrigin {
    /// It came with the program.
    Bundled,
    /// It was installed.
    Installed,
    /// It is a file that was named by its path.
    #[default]
    Path,
    /// The project in that folder.
    Project(String),
}

/// In words, no two of which are the same.
impl fmt::Display for PluginOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundled => f.write_str("bundled"),
            Self::Installed => f.write_str("installed"),
            Self::Path => f.write_str("path"),
            Self::Project(folder) => write!(f, "project {folder}"),
        }
    }
}
