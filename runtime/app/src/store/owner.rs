//! Which process works on a session.
//!
//! A process that works on sessions has a file of its own in the folder beside the database, and holds that file's lock;
//! a session's row names the file. The system lets go of the lock when the process ends, however it ends, so a name whose
//! file is gone, or can be locked, is nobody's. Everything here happens inside a writing transaction, and so in one
//! process at a time. Tested through `SqliteStore` and with two real processes.
#![expect(clippy::disallowed_methods, reason = "this room owns the processes' files beside the database")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use acp_runtime_host::regular_file;

/// This process as an owner of sessions. Dropped, it owns none any longer.
pub(super) struct Owner {
    folder: PathBuf,
    /// None before the first session.
    me: Mutex<Option<Me>>,
}

struct Me {
    name: String,
    /// Its lock is what says that this process lives.
    file: File,
}

impl Owner {
    /// The owners of the sessions in the file `database` have their files beside it. Touches nothing yet.
    pub(super) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push("-owners");
        Self { folder: folder.into(), me: Mutex::default() }
    }

    /// The name of this process. The first call makes its file, and removes those of processes that have ended.
    pub(super) fn name(&self) -> io::Result<String> {
        let mut me = self.me.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(me) = &*me {
            return Ok(me.name.clone());
        }
        regular_file::private_folder(&self.folder)?;
        self.sweep()?;
        let name = format!("{}.{}", std::process::id(), uuid::Uuid::now_v7().simple());
        let file = File::create_new(self.folder.join(&name))?;
        file.lock()?;
        *me = Some(Me { name: name.clone(), file });
        Ok(name)
    }

    /// Gives back all that this process owns.
    pub(super) fn leave(&self) {
        let me = self.me.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Me { name, file }) = me {
            drop(file);
            // What stays is swept away by the next process.
            let _ = std::fs::remove_file(self.folder.join(name));
        }
    }

    /// Whether that is the name of this process.
    pub(super) fn is_me(&self, name: &str) -> bool {
        self.me.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|me| me.name == name)
    }

    /// The id of the other process that has that name and lives.
    pub(super) fn holder(&self, name: &str) -> io::Result<Option<u32>> {
        if self.is_me(name) || !self.is_alive(name)? {
            return Ok(None);
        }
        Ok(Some(name.split('.').next().and_then(|process| process.parse().ok()).unwrap_or_default()))
    }

    /// Whether a process holds the file's lock. One that nobody holds is removed.
    fn is_alive(&self, name: &str) -> io::Result<bool> {
        // Names come from the database, which may be damaged: they stay in the folder.
        let Some(name) = Path::new(name).file_name() else { return Ok(false) };
        let path = self.folder.join(name);
        let file = match regular_file::open_own(&path, OpenOptions::new().write(true)) {
            Ok(file) => file,
            // What is no file was not made by a process that works on sessions.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::Other) => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => std::fs::remove_file(&path).map(|()| false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn sweep(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            if let Some(name) = entry?.file_name().to_str() {
                self.is_alive(name)?;
            }
        }
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.leave();
    }
}
