//! Who a plugin is from, as far as it decides what two plugins of one id have in common: nothing, if that is not the same.
//!
//! Decided where a plugin is found, and nowhere else. What the person has answered about a plugin, and the secrets that
//! they have kept for it, are for its origin with the key that it was signed with; what it keeps itself is for the place
//! that it is from, and stays when its author begins to sign.

use std::fmt;

use crate::package::Digest;

/// Who a plugin is from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum PluginOrigin {
    /// It came with the program.
    Bundled,
    /// It was installed. Signed with the key of this fingerprint, or by nobody.
    Installed(Option<Digest>),
    /// Nobody: it is a file that was named by its path.
    #[default]
    Path,
    /// The project in that folder.
    Project(String),
}

impl PluginOrigin {
    /// The fingerprint of the key that it was signed with, where a publisher stands for it.
    pub fn key(&self) -> Option<Digest> {
        match self {
            Self::Installed(key) => *key,
            Self::Bundled | Self::Path | Self::Project(_) => None,
        }
    }

    /// The same, whoever has signed it.
    pub(crate) fn place(&self) -> Self {
        match self {
            Self::Installed(_) => Self::Installed(None),
            Self::Bundled | Self::Path | Self::Project(_) => self.clone(),
        }
    }
}

/// In words, no two of which are the same.
impl fmt::Display for PluginOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundled => f.write_str("bundled"),
            Self::Installed(None) => f.write_str("installed"),
            Self::Installed(Some(key)) => write!(f, "installed {key}"),
            Self::Path => f.write_str("path"),
            Self::Project(folder) => write!(f, "project {folder}"),
        }
    }
}
