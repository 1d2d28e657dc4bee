//! Secrets of the person: API keys of the providers, kept by name, and what plugins may be lent, kept by name and by who
//! stands for the plugin.
//!
//! [`SecretStore`] is the one place. Values go to the system's keyring where one answers, else to a file that nobody
//! else may read; the file also says which secrets there are, so listing them asks no keyring. Another process's changes
//! are seen at once. Knows nothing about providers. Tested beside the code with keyrings that fail and hang.

mod command;
mod file;
mod id;
mod keyring;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_runtime_agent::capability::SecretName;
use acp_runtime_host::full_disk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::file::{Entry, SecretFile, Stamp};
use self::keyring::{Bounded, Keyring, SystemKeyring};
use crate::redaction::Redaction;
use crate::secret::Secret;

pub use self::command::KeyPrograms;
pub use self::id::SecretId;

/// How long a keyring may take to show that it is there.
const PROBE: Duration = Duration::from_secs(2);
/// How long it may take to do something: its person may have to unlock it.
const WORK: Duration = Duration::from_secs(30);

/// Where new secrets are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keeping {
    /// In the system's keyring where one answers, else in the file.
    #[default]
    Auto,
    /// In the system's keyring, or not at all.
    Keyring,
    /// In the file.
    File,
}

/// Where a secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the system's keyring.
    Keyring,
    /// In the file.
    File,
}

/// A secret that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Where.
    pub place: Place,
    /// Why it is not in the keyring, where it should have been.
    pub no_keyring: Option<String>,
}

/// Why secrets cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// Others could have read or written the file.
    #[error("`{}` is not used: {problem}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The file cannot be read or written.
    #[error("the secrets at `{}` cannot be {doing}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        doing: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The file is not what it should be. Nothing of it is repeated.
    #[error("the secrets at `{}` cannot be understood (line {line}, column {column})", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A newer version has written the file.
    #[error("the secrets at `{}` have the format {version}, which this version does not know", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The keyring does not do what it is asked for.
    #[error("the system's keyring cannot be used for `{name}`: {reason}")]
    Keyring {
        /// The secret.
        name: SecretId,
        /// Its words, or ours.
        reason: String,
    },
}

impl SecretsError {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Exposed { path, .. } => {
                format!(
                    "make it yours alone: `chmod 600 {}`; change the keys in it if others could read them",
                    path.display()
                )
            }
            Self::System { source, .. } if full_disk::explains(source) => {
                "make room on the disk and try again; nothing was changed".to_owned()
            }
            Self::System { .. } => "check the permissions of the file and its folder".to_owned(),
            Self::Damaged { .. } => "correct the file, or remove it and set the secrets again".to_owned(),
            Self::Newer { .. } => "use the newer acp-runtime, or set `ACP_RUNTIME_HOME` to another folder".to_owned(),
            Self::Keyring { .. } => {
                "unlock or start the keyring, or set `secrets.store = \"file\"` and set the secret again".to_owned()
            }
        }
    }
}

/// The secrets of one person; cheap to clone.
#[derive(Clone)]
pub struct SecretStore(Arc<Inner>);

struct Inner {
    file: SecretFile,
    keyring: Bounded,
    keeping: Keeping,
    redaction: Redaction,
    /// What the keyring gave, for as long as the file says the same.
    fetched: Mutex<(Option<Stamp>, HashMap<SecretId, Secret>)>,
}

impl SecretStore {
    /// The secrets that the file at `path` knows of. Opens nothing yet. What is fetched is told to `redaction`.
    pub fn new(path: PathBuf, keeping: Keeping, redaction: Redaction) -> Self {
        Self::with(path, keeping, redaction, Arc::new(SystemKeyring))
    }

    fn with(path: PathBuf, keeping: Keeping, redaction: Redaction, keyring: Arc<dyn Keyring>) -> Self {
        let (file, keyring) = (SecretFile::new(path), Bounded::new(keyring));
        Self(Arc::new(Inner { file, keyring, keeping, redaction, fetched: Mutex::default() }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.0.file.path()
    }

    /// Which secrets there are, sorted by name.
    pub fn list(&self) -> Result<Vec<(SecretId, Place)>, SecretsError> {
        let (entries, _) = self.0.file.read()?;
        Ok(entries.into_iter().map(|(name, entry)| (name, entry.place())).collect())
    }

    /// A secret; none where there is none of that name. `afresh` asks the keyring even if it has answered before. Blocks
    /// for as long as the keyring takes, at most half a minute.
    pub fn get(&self, name: &SecretId, afresh: bool) -> Result<Option<Secret>, SecretsError> {
        let (mut entries, stamp) = self.0.file.read()?;
        let secret = match entries.remove(name) {
            None => return Ok(None),
            Some(Entry::Value(value)) => Some(Secret::new(value)),
            Some(Entry::Keyring) => match self.remembered(stamp, name).filter(|_| !afresh) {
                Some(secret) => Some(secret),
                None => self.fetch(stamp, name)?,
            },
        };
        if let Some(secret) = &secret {
            self.0.redaction.learn(secret);
        }
        Ok(secret)
    }

    /// Lets texts be kept clean of all that is kept in the file. What is in a keyring is known once it was asked for.
    pub fn learn(&self) {
        let kept = self.0.file.read().map(|(entries, _)| entries).unwrap_or_default();
        for entry in kept.into_values() {
            if let Entry::Value(value) = entry {
                self.0.redaction.learn(&Secret::new(value));
            }
        }
    }

    /// Keeps a secret under a name, in place of what was there.
    pub fn set(&self, name: &SecretId, secret: &Secret) -> Result<Kept, SecretsError> {
        self.0.redaction.learn(secret);
        let no_keyring = match self.0.keeping {
            Keeping::File => None,
            Keeping::Keyring => {
                self.put(name, secret).map_err(|reason| SecretsError::Keyring { name: name.clone(), reason })?;
                return self.enter(name, Entry::Keyring, None);
            }
            Keeping::Auto => match self.put(name, secret) {
                Ok(()) => return self.enter(name, Entry::Keyring, None),
                Err(reason) => Some(reason),
            },
        };
        self.enter(name, Entry::Value(secret.expose().to_owned()), no_keyring)
    }

    /// Removes a secret; false where there was none.
    pub fn remove(&self, name: &SecretId) -> Result<bool, SecretsError> {
        if self.0.file.read()?.0.get(name) == Some(&Entry::Keyring) {
            let key = name.clone();
            let removed = self.0.keyring.ask(WORK, move |keyring| keyring.remove(&key));
            removed.map_err(|reason| SecretsError::Keyring { name: name.clone(), reason })?;
        }
        Ok(self.0.file.change(|entries| entries.remove(name))?.is_some())
    }

    /// Puts it into the keyring, if one is there.
    fn put(&self, name: &SecretId, secret: &Secret) -> Result<(), String> {
        let key = name.clone();
        self.0.keyring.ask(PROBE, move |keyring| keyring.get(&probe(&key)))?;
        let (key, secret) = (name.clone(), secret.clone());
        self.0.keyring.ask(WORK, move |keyring| keyring.set(&key, &secret))
    }

    fn enter(&self, name: &SecretId, entry: Entry, no_keyring: Option<String>) -> Result<Kept, SecretsError> {
        let place = entry.place();
        let before = self.0.file.change(|entries| entries.insert(name.clone(), entry))?;
        if before == Some(Entry::Keyring) && place == Place::File {
            // What nobody refers to any more should not stay; but a keyring that is gone cannot be asked.
            let key = name.clone();
            if let Err(reason) = self.0.keyring.ask(PROBE, move |keyring| keyring.remove(&key)) {
                tracing::warn!("an old value of `{name}` may be left in the keyring: {reason}");
            }
        }
        Ok(Kept { place, no_keyring })
    }

    fn remembered(&self, stamp: Option<Stamp>, name: &SecretId) -> Option<Secret> {
        let fetched = self.fetched();
        (fetched.0 == stamp).then(|| fetched.1.get(name).cloned()).flatten()
    }

    fn fetch(&self, stamp: Option<Stamp>, name: &SecretId) -> Result<Option<Secret>, SecretsError> {
        let key = name.clone();
        let found = self.0.keyring.ask(WORK, move |keyring| keyring.get(&key));
        let found = found.map_err(|reason| SecretsError::Keyring { name: name.clone(), reason })?;
        if let Some(secret) = &found {
            let mut fetched = self.fetched();
            if fetched.0 != stamp {
                *fetched = (stamp, HashMap::new());
            }
            fetched.1.insert(name.clone(), secret.clone());
        }
        Ok(found)
    }

    fn fetched(&self) -> MutexGuard<'_, (Option<Stamp>, HashMap<SecretId, Secret>)> {
        self.0.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name that has no secret: asking for it shows whether a keyring answers, without unlocking it.
fn probe(name: &SecretId) -> SecretId {
    SecretName::new("acp-runtime-probe").map_or_else(|_| name.clone(), SecretId::from)
}

#[cfg(test)]
mod tests;
