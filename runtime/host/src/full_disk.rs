//! What counts as a full disk, wherever something could not be written. Knows nothing about what that was. Tested over the
//! binary.

use std::io::{self, ErrorKind};

/// Whether an error says that there is no room: on the disk, or in what this user or process may use of it.
pub fn explains(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
