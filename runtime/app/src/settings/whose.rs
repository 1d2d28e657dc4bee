//! Whose plugins may be loaded: by their namespaces, and by the publishers who have signed them.
//!
//! Judged whenever plugins are read, not only when one is installed. Tested by a table.

use std::fmt;
use std::str::FromStr;

use acp_runtime_agent::capability::PluginId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PluginSettings;
use super::written::Written;

/// Namespaces and publishers of plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Whose {
    /// Namespaces: what stands before the colon of a plugin's id.
    pub namespaces: Vec<Written<Word>>,
    /// Publishers who have signed what is installed, by the names that they are trusted under.
    pub publishers: Vec<Written<Word>>,
}

/// A namespace or a publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(String);

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if PluginId::is_name(text) {
            return Ok(Self(text.to_owned()));
        }
        let shown = acp_runtime_agent::plain::line(text, 80);
        Err(format!("`{shown}` is no namespace or publisher: expected 1 to 64 lower-case letters, digits and `-`"))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Whose {
    fn is_empty(&self) -> bool {
        self.namespaces.is_empty() && self.publishers.is_empty()
    }

    fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.iter().any(|known| known.0.0 == namespace)
    }

    fn has_publisher(&self, publisher: Option<&str>) -> bool {
        publisher.is_some_and(|publisher| self.publishers.iter().any(|known| known.0.0 == publisher))
    }
}

impl PluginSettings {
    /// Why a plugin is not to be loaded, as a sentence without its end; none where it may be. `publisher` is who has signed
    /// it. What comes with the program needs no allowance.
    pub fn refusal(&self, id: &PluginId, publisher: Option<&str>, bundled: bool) -> Option<String> {
        let namespace = id.namespace();
        if self.deny.has_namespace(namespace) {
            return Some(format!("its namespace `{namespace}` is in `plugins.deny.namespaces`"));
        }
        if self.deny.has_publisher(publisher) {
            let publisher = publisher.unwrap_or_default();
            return Some(format!("its publisher `{publisher}` is in `plugins.deny.publishers`"));
        }
        let allowed = bundled
            || self.allow.is_empty()
            || self.allow.has_namespace(namespace)
            || self.allow.has_publisher(publisher);
        let by = publisher.map_or("nobody that is known".to_owned(), |publisher| format!("`{publisher}`"));
        (!allowed)
            .then(|| format!("`plugins.allow` has neither its namespace `{namespace}` nor who has signed it, {by}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_wins_and_what_is_not_allowed_is_refused_where_something_is() {
        let whose = |namespaces: &[&str], publishers: &[&str]| {
            let words = |words: &[&str]| words.iter().map(|word| Written(word.parse().unwrap())).collect();
            Whose { namespaces: words(namespaces), publishers: words(publishers) }
        };
        let id = PluginId::new("acme:list").unwrap();
        let (none, acme, other) = (whose(&[], &[]), whose(&["acme"], &[]), whose(&["other"], &[]));
        let by = whose(&[], &["acme-inc"]);
        for (allow, deny, publisher, bundled, refused) in [
            (&none, &none, None, false, false),
            (&acme, &none, None, false, false),
            (&other, &none, None, false, true),
            (&other, &none, None, true, false),
            (&by, &none, Some("acme-inc"), false, false),
            (&by, &none, Some("else"), false, true),
            (&by, &none, None, false, true),
            (&none, &acme, None, false, true),
            (&none, &acme, None, true, true),
            (&acme, &acme, None, false, true),
            (&none, &by, Some("acme-inc"), false, true),
            (&acme, &by, Some("acme-inc"), false, true),
            (&none, &by, None, false, false),
        ] {
            let settings = PluginSettings { allow: allow.clone(), deny: deny.clone(), ..PluginSettings::default() };
            assert_eq!(
                settings.refusal(&id, publisher, bundled).is_some(),
                refused,
                "{allow:?} {deny:?} {publisher:?}"
            );
        }
        assert!("Acme".parse::<Word>().is_err() && "acme:list".parse::<Word>().is_err());
    }
}
