//! The plugin's own storage: what must outlast a call. No other plugin sees it.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::imports;
use crate::{Error, ErrorKind, Result};

/// How long a value lives, and who shares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// This conversation.
    Session,
    /// All conversations in this project.
    Project,
    /// Everything that this person does.
    User,
}

impl Scope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// Bytes that were kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The bytes.
    pub value: Vec<u8>,
    /// Starts at 1, and grows by one with every write of the key.
    pub version: u64,
}

/// What is kept under the key.
pub fn get(scope: Scope, key: &str) -> Result<Option<Entry>> {
    let entry = imports::kv::get(scope.as_str(), key)?;
    Ok(entry.map(|entry| Entry { value: entry.value, version: entry.version }))
}

/// Keeps the value and answers its version. With `expected`, only where that is the version now (0: there is none);
/// else an error of kind [`Conflict`](ErrorKind::Conflict).
pub fn set(scope: Scope, key: &str, value: &[u8], expected: Option<u64>) -> Result<u64> {
    Ok(imports::kv::set(scope.as_str(), key, value, expected)?)
}

/// Forgets the value; answers whether there was one.
pub fn delete(scope: Scope, key: &str) -> Result<bool> {
    Ok(imports::kv::delete(scope.as_str(), key)?)
}

/// The keys that begin with `prefix`, sorted.
pub fn keys(scope: Scope, prefix: &str) -> Result<Vec<String>> {
    Ok(imports::kv::list_keys(scope.as_str(), prefix)?)
}

/// A place for one value of one type, kept as JSON.
///
/// ```
/// use acp_plugin::kv::{Cell, Scope};
///
/// const VISITS: Cell<u32> = Cell::new(Scope::Project, "visits");
///
/// fn visit() -> acp_plugin::Result<u32> {
///     VISITS.update(|visits| {
///         *visits += 1;
///         Ok(*visits)
///     })
/// }
/// # assert_eq!(visit(), Ok(1));
/// # assert_eq!(visit(), Ok(2));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cell<T> {
    scope: Scope,
    key: &'static str,
    value: PhantomData<fn() -> T>,
}

/// How often [`Cell::update`] tries before it gives up.
const UPDATE_ATTEMPTS: usize = 16;

impl<T: Serialize + DeserializeOwned> Cell<T> {
    /// The place under that key.
    pub const fn new(scope: Scope, key: &'static str) -> Self {
        Self { scope, key, value: PhantomData }
    }

    /// The value, if there is one. Bytes that are not such a value are an error, and stay as they are.
    pub fn get(&self) -> Result<Option<T>> {
        Ok(self.load()?.0)
    }

    /// Keeps the value, whatever was there.
    pub fn set(&self, value: &T) -> Result<()> {
        set(self.scope, self.key, &serde_json::to_vec(value)?, None).map(|_| ())
    }

    /// Forgets the value; answers whether there was one.
    pub fn delete(&self) -> Result<bool> {
        delete(self.scope, self.key)
    }

    /// Changes the value in place, so that no other call's change is lost: where somebody else wrote meanwhile, the
    /// change is made anew on their value. Begins with the default where there is none. An error of `change` is
    /// passed on and nothing is written.
    pub fn update<R>(&self, mut change: impl FnMut(&mut T) -> Result<R>) -> Result<R>
    where
        T: Default,
    {
        for _ in 0..UPDATE_ATTEMPTS {
            let (value, version) = self.load()?;
            let mut value = value.unwrap_or_default();
            let answer = change(&mut value)?;
            match set(self.scope, self.key, &serde_json::to_vec(&value)?, Some(version)) {
                Ok(_) => return Ok(answer),
                Err(error) if error.kind() == &ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        let message = format_args!("`{}` was changed by others in each of {UPDATE_ATTEMPTS} attempts", self.key);
        Err(Error::new(ErrorKind::Conflict, message).retryable())
    }

    fn load(&self) -> Result<(Option<T>, u64)> {
        let Some(entry) = get(self.scope, self.key)? else { return Ok((None, 0)) };
        let value = serde_json::from_slice(&entry.value).map_err(|error| {
            Error::internal(format_args!("what is kept under `{}` cannot be read: {error}", self.key))
        })?;
        Ok((Some(value), entry.version))
    }
}
