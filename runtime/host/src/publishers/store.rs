//! The file of trusted publishers. It is the person's own, and written whole or not at all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PublisherError, Publishers};
use crate::{regular_file, whole_file};

/// Bytes of the file.
const MOST: u64 = 4 << 20;
/// How long another process may hold it.
const LOCK: Duration = Duration::from_secs(10);

/// Where the trusted publishers are kept. The file is made with the first of them.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

/// Why it cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustStoreError {
    /// The file.
    #[error("`{}`: {source}", path.display())]
    System {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Not what this version writes.
    #[error("`{}` cannot be read: {problem}", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, with the place.
        problem: String,
    },
    /// What was to be said of a publisher.
    #[error(transparent)]
    Publisher(#[from] PublisherError),
}

impl TrustStoreError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::System { .. } => "see that it is a file that you can read and write",
            Self::Form { .. } => "correct the file; until then nothing that needs a signature is installed",
            Self::Publisher(PublisherError::NoKey(_)) => "name one with `--key`",
            Self::Publisher(_) => "see `acp-runtime trust list`",
        }
    }
}

impl TrustStore {
    /// The store at `path`. Reads nothing yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The publishers; none where there is no file.
    pub fn read(&self) -> Result<Publishers, TrustStoreError> {
        let path = || self.path.clone();
        match regular_file::read_text(&self.path, MOST) {
            Ok(text) => toml::from_str(&text)
                .map_err(|error| TrustStoreError::Form { path: path(), problem: at_its_place(&text, &error) }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Publishers::default()),
            Err(source) => Err(TrustStoreError::System { path: path(), source }),
        }
    }

    /// Changes what is kept. No other process does so meanwhile.
    pub fn change(
        &self,
        change: impl FnOnce(&mut Publishers) -> Result<(), PublisherError>,
    ) -> Result<(), TrustStoreError> {
        let system = |source| TrustStoreError::System { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            regular_file::private_folder(folder).map_err(system)?;
        }
        let _lock = regular_file::lock(&self.path.with_extension("lock"), LOCK).map_err(system)?;
        let mut publishers = self.read()?;
        change(&mut publishers)?;
        let text = toml::to_string(&publishers)
            .map_err(|error| TrustStoreError::Form { path: self.path.clone(), problem: error.to_string() })?;
        whole_file::put(&self.path, text.as_bytes()).map_err(system)
    }
}

/// What is wrong with the text, in one line, and where.
fn at_its_place(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    format!("line {line}, column {column}: {}", error.message().trim_end())
}
