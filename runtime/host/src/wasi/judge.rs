//! Who judges what is done in a folder of a guest.

use std::sync::Arc;

use acp_runtime_agent::gate::{Lent, Refusal, Way};

use crate::own_files::Own;

/// Who judges: the session's gate, path by path, or nobody, where all belongs to the plugin.
#[derive(Clone)]
pub(super) enum Judge {
    Lent(Arc<Lent>),
    Own(Arc<Own>),
}

impl Judge {
    /// The folder of the plugin's own that it is; none where it is the session's.
    pub(super) fn own(&self) -> Option<&Arc<Own>> {
        match self {
            Self::Lent(_) => None,
            Self::Own(own) => Some(own),
        }
    }

    /// Whether that file would be read, for lists.
    pub(super) fn shows(&self, way: &Way) -> bool {
        match self {
            Self::Lent(lent) => lent.shows(way),
            Self::Own(_) => true,
        }
    }

    /// Whether that folder may be looked into.
    pub(super) fn enters(&self, way: &Way) -> bool {
        match self {
            Self::Lent(lent) => lent.enters(way),
            Self::Own(_) => true,
        }
    }

    /// Reads that file.
    pub(super) fn read(&self, way: &Way) -> Result<(), Refusal> {
        match self {
            Self::Lent(lent) => lent.read(way),
            Self::Own(_) => Ok(()),
        }
    }

    /// Makes or changes that file or folder.
    pub(super) fn write(&self, way: &Way) -> Result<(), Refusal> {
        match self {
            Self::Lent(lent) => lent.write(way),
            Self::Own(_) => Ok(()),
        }
    }

    /// Whether what stands at `from` may not be moved to `to`.
    pub(super) fn forbids_move(&self, from: &Way, to: &Way) -> bool {
        match self {
            Self::Lent(lent) => lent.forbids_move(from, to),
            Self::Own(_) => false,
        }
    }
}
