//! Which secret one is: its name, and for a plugin's who stands for that plugin. A name alone says nothing of whose it is:
//! plugins of one id can be from several people.

use std::fmt;

use acp_runtime_agent::capability::SecretName;
use serde::{Deserialize, Serialize};

/// Bytes of what a publisher is called: the folder of a project may be in it.
const LONGEST: usize = 8 * 1024;

/// Which secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretId {
    /// Its name.
    pub name: SecretName,
    /// Whose plugin it is for. None for the person's own, and for what was kept for a plugin before that counted: nobody
    /// knows for whose, so it is lent to none.
    pub publisher: Option<String>,
}

impl SecretId {
    /// The one that is lent to the plugin which `name` is called after, if that is of this publisher.
    pub fn lent(name: SecretName, publisher: impl fmt::Display) -> Self {
        Self { name, publisher: Some(publisher.to_string()) }
    }

    /// Whether it was kept for a plugin and is lent to none.
    pub fn is_orphan(&self) -> bool {
        self.name.plugin().is_some() && self.publisher.is_none()
    }
}

/// One of the person's own.
impl From<SecretName> for SecretId {
    fn from(name: SecretName) -> Self {
        Self { name, publisher: None }
    }
}

/// The name, which has no space in it, and behind one the publisher.
impl fmt::Display for SecretId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.publisher {
            None => self.name.fmt(f),
            Some(publisher) => write!(f, "{} {publisher}", self.name),
        }
    }
}

impl TryFrom<String> for SecretId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let name = |name: &str| SecretName::new(name).map_err(|error| error.to_string());
        match text.split_once(' ') {
            None => name(&text).map(Self::from),
            Some((of, publisher)) => {
                let name = name(of)?;
                let fits = name.plugin().is_some() && (1..=LONGEST).contains(&publisher.len());
                if fits { Ok(Self::lent(name, publisher)) } else { Err("no secret is called so".to_owned()) }
            }
        }
    }
}

impl From<SecretId> for String {
    fn from(id: SecretId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_and_read_as_one_text() {
        for text in
            ["lab", "acme:x/key", "acme:x/key installed", "acme:x/key project /home/a b", "a:b/c installed sha256:0"]
        {
            assert_eq!(SecretId::try_from(text.to_owned()).unwrap().to_string(), text);
        }
        for bad in ["", " ", "lab installed", "acme:x/key ", "a b/c d", "../x"] {
            assert!(SecretId::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert!(SecretId::try_from(format!("a:b/c {}", "x".repeat(LONGEST + 1))).is_err());
        assert!(SecretId::try_from("a:b/c".to_owned()).unwrap().is_orphan());
        assert!(!SecretId::try_from("lab".to_owned()).unwrap().is_orphan());
    }
}
