//! The file of secrets: a line for each name, with the value or with the word that the keyring has it.
//!
//! Only its owner may be able to read it, or it is not used. It is replaced as a whole, so a crash leaves the old or the
//! new one, and processes change it one after another.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acp_runtime_host::{regular_file, whole_file};
use serde::{Deserialize, Serialize};

use super::{Place, SecretId, SecretsError};

/// The format of the file, since it says who stands for the plugins that have secrets.
const VERSION: u32 = 2;
/// That of a file that says it of none, which older versions can read.
const PLAIN: u32 = 1;
/// Bytes that it may have.
const MOST: u64 = 1 << 20;
/// How long another process may hold it.
const LOCK: Duration = Duration::from_secs(5);

/// What the file says of one secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Entry {
    /// It is this.
    Value(String),
    /// The keyring has it.
    Keyring,
}

impl Entry {
    pub(super) fn place(&self) -> Place {
        match self {
            Self::Value(_) => Place::File,
            Self::Keyring => Place::Keyring,
        }
    }
}

pub(super) type Entries = BTreeMap<SecretId, Entry>;

/// Tells one state of the file from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    #[cfg(unix)]
    inode: u64,
    modified: Option<SystemTime>,
    length: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    #[serde(default)]
    secrets: Entries,
}

pub(super) struct SecretFile(PathBuf);

impl SecretFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// All entries, and which state of the file has them; no state where there is no file.
    pub(super) fn read(&self) -> Result<(Entries, Option<Stamp>), SecretsError> {
        let unreadable = |error: io::Error| self.system("read", error);
        let file = match regular_file::open_own(&self.0, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok((Entries::new(), None));
            }
            Err(error) => return Err(unreadable(error)),
        };
        let metadata = regular_file::require_open(&file).map_err(unreadable)?;
        if let Some(problem) = exposure(&metadata) {
            return Err(SecretsError::Exposed { path: self.0.clone(), problem });
        }
        let text = regular_file::text(file, MOST).map_err(unreadable)?;
        Ok((self.parse(&text)?, Some(stamp(&metadata))))
    }

    /// Reads it, changes it and writes it; other processes wait meanwhile.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> Result<T, SecretsError> {
        let folder = self.0.parent().unwrap_or(Path::new(""));
        regular_file::private_folder(folder).map_err(|error| self.system("written", error))?;
        let _lock = self.lock()?;
        let (mut entries, _) = self.read()?;
        let had_none = entries.is_empty();
        let outcome = change(&mut entries);
        // Written also when the keyring alone has changed: its values are remembered by the state of this file.
        if !(had_none && entries.is_empty()) {
            self.write(entries).map_err(|error| self.system("written", error))?;
        }
        Ok(outcome)
    }

    fn parse(&self, text: &str) -> Result<Entries, SecretsError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let damaged = |error: serde_json::Error| SecretsError::Damaged {
            path: self.0.clone(),
            line: error.line(),
            column: error.column(),
        };
        let Version { version } = serde_json::from_str(text).map_err(damaged)?;
        if version > VERSION {
            return Err(SecretsError::Newer { path: self.0.clone(), version });
        }
        serde_json::from_str(text).map(|contents: Contents| contents.secrets).map_err(damaged)
    }

    /// Holds others off until it is dropped.
    fn lock(&self) -> Result<File, SecretsError> {
        let path = self.0.with_extension("lock");
        regular_file::lock(&path, LOCK)
            .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display())))
            .map_err(|error| self.system("written", error))
    }

    fn write(&self, secrets: Entries) -> io::Result<()> {
        let is_plain = secrets.keys().all(|id| id.publisher.is_none());
        let version = if is_plain { PLAIN } else { VERSION };
        whole_file::put(&self.0, &serde_json::to_vec_pretty(&Contents { version, secrets })?)
    }

    fn system(&self, doing: &'static str, source: io::Error) -> SecretsError {
        SecretsError::System { path: self.0.clone(), doing, source }
    }
}

/// Why others may know what the file says; none where they cannot.
#[cfg(unix)]
fn exposure(metadata: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let mode = metadata.mode() & 0o777;
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us {
        Some(format!("it belongs to the user {} and not to you ({us})", metadata.uid()))
    } else if mode & 0o077 != 0 {
        Some(format!("others than you may use it (its mode is {mode:03o} and should be 600)"))
    } else {
        None
    }
}

/// Elsewhere the folder of the person's own data is private by itself.
#[cfg(not(unix))]
fn exposure(_metadata: &std::fs::Metadata) -> Option<String> {
    None
}

fn stamp(metadata: &std::fs::Metadata) -> Stamp {
    Stamp {
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(metadata),
        modified: metadata.modified().ok(),
        length: metadata.len(),
    }
}
