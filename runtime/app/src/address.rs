//! The address of a server as a person writes it, which may hold a password or a key: it is shown without them.
//!
//! Knows nothing about who is there. Tested by a table.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// What stands where something is not shown.
const MASK: &str = "****";

/// An address such as `https://host:8080/v1`. Who asks, what is asked for and the place in the answer (`user:password@`,
/// `?…`, `#…`) are never shown.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent)]
pub struct Address(String);

impl Address {
    /// The address itself, for the place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may be mistyped, so nothing is parsed: whatever could be a secret counts as one.
        let (scheme, rest) = self.0.split_at(self.0.find("://").map_or(0, |at| at + 3));
        f.write_str(scheme)?;
        match (rest.rfind('@'), rest.find(['?', '#'])) {
            (None, None) => f.write_str(rest),
            (None, Some(mark)) => write!(f, "{}{MASK}", rest.get(..=mark).unwrap_or_default()),
            (Some(at), None) => write!(f, "{MASK}{}", rest.get(at..).unwrap_or_default()),
            // A password may have a mark in it, and a query an `@`.
            (Some(at), Some(mark)) if mark < at => f.write_str(MASK),
            (Some(at), Some(mark)) => write!(f, "{MASK}{}{MASK}", rest.get(at..=mark).unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_a_secret_is_not_shown() {
        for (written, shown) in [
            ("https://host:8080/v1", "https://host:8080/v1"),
            ("https://me:hunter2@host/v1", "https://****@host/v1"),
            ("https://sk-1@host/v1", "https://****@host/v1"),
            ("https://me:p@ss/w@rd@host/v1", "https://****@host/v1"),
            ("me:hunter2@host", "****@host"),
            ("://me:hunter2@host", "://****@host"),
            ("https://host/v1?key=sk-1&x=y", "https://host/v1?****"),
            ("https://host/v1#sk-1?x", "https://host/v1#****"),
            ("https://me:pw@host/v1?key=sk-1", "https://****@host/v1?****"),
            ("https://me:pw?@host/", "https://****"),
            ("https://host/v1?to=me@host&key=sk-1", "https://****"),
            ("ftp://host", "ftp://host"),
            ("localhost:1", "localhost:1"),
            ("", ""),
        ] {
            let address = Address(written.to_owned());
            let json = serde_json::to_value(&address).unwrap();
            assert_eq!((address.to_string().as_str(), json.as_str(), address.expose()), (shown, Some(shown), written));
        }
    }
}
