//! The session's folders as everybody sees them: by the settings' rules, and without what is the program's own.

use super::Runtime;
use crate::settings::Settings;
use crate::workspace::{DiskWorkspace, OpenRoot};

impl Runtime {
    /// Where the program's own files lie in one of `folders`, nobody reads or writes them, unless the built-in deny list is
    /// switched off.
    pub(super) fn disk(&self, folders: Vec<OpenRoot>, settings: &Settings) -> DiskWorkspace {
        let own = folders.iter().filter(|_| settings.files.builtin_deny);
        let own = own.flat_map(|folder| self.paths.own_in(&folder.canonical)).collect::<Vec<_>>();
        DiskWorkspace::new(folders, settings.policy().deny(own))
    }
}
