//! Where the keys of providers are, beside the settings.

use acp_runtime_agent::capability::SecretName;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::secret::Secret;

/// A place where a key may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// What a program prints: the program and its arguments.
    Command(Vec<String>),
    /// A variable of the environment.
    Variable(String),
    /// A secret that the person has let us keep.
    Kept(SecretName),
}

impl KeyPlace {
    /// The place as a part of a sentence: a key comes from it.
    pub fn described(&self) -> String {
        match self {
            Self::Command(command) => format!("`{}`", command.first().map_or("", String::as_str)),
            Self::Variable(name) => format!("the environment variable `{name}`"),
            Self::Kept(name) => format!("the secret `{name}`"),
        }
    }
}

/// Why a key cannot be sent, as a sentence without its end; none where it can. Nothing of the key is repeated.
pub fn unfit(key: &Secret) -> Option<&'static str> {
    let key = key.expose();
    if key.contains(['\n', '\r']) {
        Some("it has a line end in it; write it without")
    } else if !key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        Some("it has characters that a header cannot carry; a key is plain ASCII")
    } else {
        None
    }
}

/// Looks keys up. They are asked for with every request, so what has changed meanwhile is seen.
pub trait KeySource: Send + Sync {
    /// Whether there is something at a place. Nothing is started and nobody is asked for it.
    fn has(&self, place: &KeyPlace) -> bool;

    /// The key at a place where that can be told at once. Nothing is started and nobody is asked for it.
    fn at_hand(&self, place: &KeyPlace) -> Option<Secret> {
        let _ = place;
        None
    }

    /// Why no key can come from a place, as a sentence without its end, and what to do about it; none where nothing is
    /// known to be in the way. Starts nothing and asks nobody.
    fn obstacle(&self, place: &KeyPlace) -> Option<(String, String)> {
        let _ = place;
        None
    }

    /// The key at a place; none where there is nothing. `afresh` where what is remembered was not accepted. The error
    /// says why it cannot be had.
    fn fetch<'a>(&'a self, place: &'a KeyPlace, afresh: bool) -> BoxFuture<'a, Result<Option<Secret>, String>>;
}

/// A function that looks variables up is a source that has nothing else.
impl<F: Fn(&str) -> Option<String> + Send + Sync> KeySource for F {
    fn has(&self, place: &KeyPlace) -> bool {
        matches!(place, KeyPlace::Variable(name) if self(name).is_some())
    }

    fn fetch<'a>(&'a self, place: &'a KeyPlace, _afresh: bool) -> BoxFuture<'a, Result<Option<Secret>, String>> {
        let found = match place {
            KeyPlace::Variable(name) => self(name).map(Secret::new),
            KeyPlace::Command(_) | KeyPlace::Kept(_) => None,
        };
        async { Ok(found) }.boxed()
    }
}
