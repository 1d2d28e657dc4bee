//! Who stands for plugins, and may: publishers, their keys, and the namespaces that are theirs.
//!
//! A namespace belongs to one publisher. What another one has signed in it is refused and not asked about, however good the
//! signature; a namespace that nobody has yet can be given to whoever signs there first, by a person who has seen the
//! key. A signature that is there and does not hold is never accepted. Knows nothing about registries and terminals.
//! Tested by tables, and over the binary in `tests/it/distribution`.

mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use acp_runtime_agent::near::near;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::store::{TrustStore, TrustStoreError};
use crate::package::Digest;
use crate::package::signature::{KeyId, PublicKey, Signature, SignatureError, SignatureKind, Signed};

/// Namespaces that are nobody's for being the first: that of the plugins that come with the program, and those of
/// interfaces.
pub const RESERVED: [&str; 4] = ["aar", "acp-runtime", "std", "wasi"];
/// Publishers, and keys of one.
const MOST: usize = 1000;

/// All publishers that are trusted, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publishers {
    #[serde(default)]
    publishers: BTreeMap<String, Publisher>,
}

/// One publisher.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publisher {
    /// The namespaces that are theirs.
    pub namespaces: Vec<String>,
    /// Their keys.
    pub keys: Vec<TrustedKey>,
}

/// A key of a publisher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrustedKey {
    /// The key.
    pub public: PublicKey,
    /// Since when it is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// From when on nothing that it has signed is installed any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Moment>,
}

/// A moment, as RFC 3339 writes it: `2027-01-31T12:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment(pub Timestamp);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A day ends when it is over everywhere where its publisher may be.
        let whole = if text.len() == 10 { format!("{text}T23:59:59-12:00") } else { text.to_owned() };
        whole
            .parse()
            .map(Self)
            .map_err(|_| format!("`{text}` is no moment: write it like `2027-01-31` or `2027-01-31T12:00:00Z`"))
    }
}

impl TryFrom<String> for Moment {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        moment.to_string()
    }
}

/// How a plugin stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A trusted publisher has signed it.
    Trusted {
        /// Who.
        publisher: String,
        /// With which key.
        key: PublicKey,
    },
    /// An unknown key has signed it, in a namespace that is nobody's. The key came along, and the signature is by it.
    New {
        /// The key.
        key: PublicKey,
        /// Names that are known and much like this one.
        similar: Vec<String>,
    },
    /// An unknown key has signed it, and did not come along: the signature cannot be checked.
    Stranger {
        /// What it is called.
        key: KeyId,
    },
    /// Nobody has signed it.
    Unsigned {
        /// Whose namespace it is in.
        claimed_by: Option<String>,
    },
}

/// Why a plugin is refused, whatever the person has set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// A signature that does not hold.
    #[error("its signature does not hold: {0}")]
    Signature(#[from] SignatureError),
    /// A key that was trusted until then.
    #[error("its signature is by a key of `{publisher}` ({key}) that was trusted until {until}")]
    Expired {
        /// Whose.
        publisher: String,
        /// The key.
        key: KeyId,
        /// When it ended.
        until: Moment,
    },
    /// The namespace of somebody else.
    #[error(
        "the namespace `{namespace}` belongs to the publisher `{publisher}`, and the plugin is signed by another key ({key})"
    )]
    Taken {
        /// The namespace.
        namespace: String,
        /// Whose it is.
        publisher: String,
        /// Who has signed.
        key: KeyId,
    },
    /// A publisher outside of their own namespaces.
    #[error("it is signed by the publisher `{publisher}`, to whom the namespace `{namespace}` does not belong")]
    OtherNamespace {
        /// Who has signed.
        publisher: String,
        /// Where.
        namespace: String,
    },
    /// A namespace that nobody gets by being the first.
    #[error("the namespace `{namespace}` is reserved, and the plugin is signed by an unknown key ({key})")]
    Reserved {
        /// The namespace.
        namespace: String,
        /// Who has signed.
        key: KeyId,
    },
}

impl Distrust {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Signature(_) => "do not install it; tell its publisher, and get it from another place".to_owned(),
            Self::Expired { publisher, .. } => format!(
                "ask `{publisher}` for a version that a newer key has signed, or trust the key for longer: \
                 `acp-runtime trust add publisher {publisher} --key … --until …`"
            ),
            Self::Taken { publisher, .. } => format!(
                "do not install it, unless `{publisher}` has told you of a new key: then \
                 `acp-runtime trust add publisher {publisher} --key …`"
            ),
            Self::OtherNamespace { publisher, namespace } => {
                format!("if it is theirs, too: `acp-runtime trust add publisher {publisher} --namespace {namespace}`")
            }
            Self::Reserved { .. } => "do not install it: plugins of that namespace come with the program".to_owned(),
        }
    }
}

/// Why something cannot be said of a publisher.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublisherError {
    /// A name that is none.
    #[error("`{0}` is no name of a publisher or namespace: expected lower-case letters, digits and `-`")]
    Name(String),
    /// Somebody else's.
    #[error("the namespace `{namespace}` belongs to the publisher `{publisher}`")]
    Taken {
        /// The namespace.
        namespace: String,
        /// Whose it is.
        publisher: String,
    },
    /// A key of somebody else.
    #[error("the key {key} belongs to the publisher `{publisher}`")]
    OtherKey {
        /// The key.
        key: KeyId,
        /// Whose it is.
        publisher: String,
    },
    /// There is no such publisher, or no such key.
    #[error("{0}")]
    Unknown(String),
    /// Without a key nobody can be known.
    #[error("the publisher `{0}` has no key yet")]
    NoKey(String),
    /// Too many.
    #[error("no more than {MOST} publishers, and {MOST} keys of each, are kept")]
    TooMany,
}

impl Publishers {
    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Publisher)> {
        self.publishers.iter().map(|(name, publisher)| (name.as_str(), publisher))
    }

    /// Who has a namespace.
    pub fn owner(&self, namespace: &str) -> Option<&str> {
        let owns = |publisher: &Publisher| publisher.namespaces.iter().any(|own| own == namespace);
        self.publishers.iter().find(|(_, publisher)| owns(publisher)).map(|(name, _)| name.as_str())
    }

    /// How a plugin with these signatures stands at that moment.
    pub fn judge(
        &self,
        kind: &dyn SignatureKind,
        signatures: &[String],
        signed: Signed<'_>,
        now: Timestamp,
    ) -> Result<Standing, Distrust> {
        let mut refused = None;
        let mut unknown = None;
        for text in signatures {
            match self.judge_one(kind, text, signed, now) {
                // One good signature is enough, whatever else somebody has attached.
                Ok(standing @ Standing::Trusted { .. }) => return Ok(standing),
                Ok(standing) => unknown = unknown.or(Some(standing)),
                Err(distrust) => refused = refused.or(Some(distrust)),
            }
        }
        if let Some(distrust) = refused {
            return Err(distrust);
        }
        let claimed_by = self.owner(signed.id.namespace()).map(str::to_owned);
        Ok(unknown.unwrap_or(Standing::Unsigned { claimed_by }))
    }

    fn judge_one(
        &self,
        kind: &dyn SignatureKind,
        text: &str,
        signed: Signed<'_>,
        now: Timestamp,
    ) -> Result<Standing, Distrust> {
        let signature = kind.read(text)?;
        let namespace = signed.id.namespace();
        let mut broken = None;
        for (name, publisher) in &self.publishers {
            for trusted in publisher.keys.iter().filter(|trusted| trusted.public.id() == signature.key) {
                match kind.verify(&signature, &trusted.public, signed) {
                    // A key's id is chosen by whoever makes it: it may be one of several.
                    Err(error) => broken = Some(error),
                    Ok(()) => return admit(name, publisher, trusted, namespace, now),
                }
            }
        }
        if let Some(error) = broken {
            return Err(error.into());
        }
        self.judge_stranger(kind, &signature, signed)
    }

    /// A signature by a key that is not known.
    fn judge_stranger(
        &self,
        kind: &dyn SignatureKind,
        signature: &Signature,
        signed: Signed<'_>,
    ) -> Result<Standing, Distrust> {
        let (namespace, by) = (signed.id.namespace().to_owned(), signature.key);
        if let Some(publisher) = self.owner(&namespace) {
            return Err(Distrust::Taken { namespace, publisher: publisher.to_owned(), key: by });
        }
        if RESERVED.contains(&namespace.as_str()) {
            return Err(Distrust::Reserved { namespace, key: by });
        }
        let Some(key) = signature.offered.clone() else { return Ok(Standing::Stranger { key: by }) };
        kind.verify(signature, &key, signed)?;
        let known = self.iter().flat_map(|(_, publisher)| publisher.namespaces.iter().map(String::as_str));
        let similar = near(&namespace, known.chain(RESERVED)).into_iter().map(str::to_owned).collect();
        Ok(Standing::New { key, similar })
    }

    /// Trusts a publisher, or more of one: keys, namespaces. A name without namespaces has the one of its own name.
    pub fn add(
        &mut self,
        name: &str,
        keys: &[PublicKey],
        namespaces: &[String],
        since: Moment,
        not_after: Option<Moment>,
    ) -> Result<(), PublisherError> {
        for word in std::iter::once(name).chain(namespaces.iter().map(String::as_str)) {
            let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if !(1..=64).contains(&word.len()) || !word.chars().all(valid) || word.starts_with('-') {
                return Err(PublisherError::Name(word.chars().take(80).collect()));
            }
        }
        let known = self.publishers.get(name);
        let own = name.to_owned();
        let namespaces = if namespaces.is_empty() && known.is_none() { std::slice::from_ref(&own) } else { namespaces };
        for namespace in namespaces {
            if let Some(publisher) = self.owner(namespace).filter(|owner| *owner != name) {
                return Err(PublisherError::Taken { namespace: namespace.clone(), publisher: publisher.to_owned() });
            }
        }
        for (publisher, theirs) in self.iter().filter(|(publisher, _)| *publisher != name) {
            if let Some(key) = keys.iter().find(|key| theirs.keys.iter().any(|their| their.public == **key)) {
                return Err(PublisherError::OtherKey { key: key.id(), publisher: publisher.to_owned() });
            }
        }
        if keys.is_empty() && known.is_none() {
            return Err(PublisherError::NoKey(own));
        }
        if self.publishers.len() >= MOST || known.is_some_and(|known| known.keys.len() >= MOST) {
            return Err(PublisherError::TooMany);
        }
        let publisher = self.publishers.entry(own.clone()).or_default();
        for namespace in namespaces {
            if !publisher.namespaces.contains(namespace) {
                publisher.namespaces.push(namespace.clone());
            }
        }
        for key in keys {
            match publisher.keys.iter_mut().find(|trusted| trusted.public == *key) {
                Some(trusted) => trusted.not_after = not_after,
                None => publisher.keys.push(TrustedKey { public: key.clone(), since: Some(since), not_after }),
            }
        }
        Ok(())
    }

    /// Trusts whoever has signed first in a namespace that is nobody's, under its name.
    pub fn introduce(&mut self, namespace: &str, key: &PublicKey, since: Moment) -> Result<(), PublisherError> {
        if self.publishers.contains_key(namespace) {
            let publisher = namespace.to_owned();
            return Err(PublisherError::Taken { namespace: namespace.to_owned(), publisher });
        }
        self.add(namespace, std::slice::from_ref(key), &[namespace.to_owned()], since, None)
    }

    /// Trusts a publisher no more; or one of their keys, named by its fingerprint.
    pub fn remove(&mut self, name: &str, key: Option<Digest>) -> Result<(), PublisherError> {
        let unknown = || PublisherError::Unknown(format!("`{name}` is no publisher that is trusted"));
        let publisher = self.publishers.get_mut(name).ok_or_else(unknown)?;
        if let Some(fingerprint) = key {
            let before = publisher.keys.len();
            publisher.keys.retain(|trusted| trusted.public.fingerprint() != fingerprint);
            if publisher.keys.len() == before {
                return Err(PublisherError::Unknown(format!("`{name}` has no key {fingerprint}")));
            }
            // The namespaces stay theirs: nobody else gets them by that.
            return Ok(());
        }
        self.publishers.remove(name);
        Ok(())
    }
}

fn admit(
    name: &str,
    publisher: &Publisher,
    trusted: &TrustedKey,
    namespace: &str,
    now: Timestamp,
) -> Result<Standing, Distrust> {
    if !publisher.namespaces.iter().any(|own| own == namespace) {
        return Err(Distrust::OtherNamespace { publisher: name.to_owned(), namespace: namespace.to_owned() });
    }
    if let Some(until) = trusted.not_after.filter(|until| until.0 < now) {
        return Err(Distrust::Expired { publisher: name.to_owned(), key: trusted.public.id(), until });
    }
    Ok(Standing::Trusted { publisher: name.to_owned(), key: trusted.public.clone() })
}

#[cfg(test)]
#[path = "publishers/tests.rs"]
mod tests;
