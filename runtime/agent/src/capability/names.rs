//! Newtypes for the names of things.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not a valid {what}: {rule}")]
pub struct NameError {
    what: &'static str,
    value: String,
    rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `value`; the error says what a valid one looks like.
            pub fn new(value: impl AsRef<str>) -> Result<Self, NameError> {
                let value = value.as_ref();
                let valid: fn(&str) -> bool = $valid;
                if valid(value) {
                    Ok(Self(value.into()))
                } else {
                    Err(NameError { what: $what, value: value.chars().take(80).collect(), rule: $rule })
                }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(value: String) -> Result<Self, NameError> {
                Self::new(value)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }
    };
}

fn word(text: &str, most: usize, also: &[char]) -> bool {
    (1..=most).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(&c))
}

fn kebab(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

name!(
    /// A plugin: `namespace:name`, each part lower-case letters, digits and `-`.
    PluginId,
    "plugin id",
    "expected `namespace:name` of lower-case letters, digits and `-`",
    |text| text.split_once(':').is_some_and(|(space, name)| kebab(space) && kebab(name))
);
name!(
    /// A tool as the model sees it: `[A-Za-z0-9_-]`, 1 to 64 characters.
    ToolName,
    "tool name",
    "expected 1 to 64 letters, digits, `_` or `-`",
    |text| word(text, 64, &['_', '-'])
);
name!(
    /// A slash command, without the slash.
    CommandName,
    "command name",
    "expected 1 to 64 letters, digits, `_`, `-` or `:`",
    |text| word(text, 64, &['_', '-', ':'])
);
name!(
    /// A panel, unique in a session.
    PanelName,
    "panel name",
    "expected 1 to 128 letters, digits, `_`, `-`, `.`, `:` or `/`",
    |text| word(text, 128, &['_', '-', '.', ':', '/'])
);
name!(
    /// An MCP server.
    ServerName,
    "server name",
    "expected 1 to 64 letters, digits, `_`, `-` or `.`",
    |text| word(text, 64, &['_', '-', '.'])
);
name!(
    /// The handle of a secret; never its value. One that a plugin may have sent is called `PLUGIN/HANDLE`, after its id:
    /// no plugin can name another one's, or the person's own.
    SecretName,
    "secret name",
    "expected 1 to 64 letters, digits, `_` or `-`; for a plugin's, its id and a slash before them",
    |text| match text.split_once('/') {
        Some((plugin, handle)) => PluginId::new(plugin).is_ok() && word(handle, 64, &['_', '-']),
        None => word(text, 64, &['_', '-']),
    }
);

impl SecretName {
    /// The secret that `plugin` knows as `handle`.
    pub fn of_plugin(plugin: &PluginId, handle: &str) -> Result<Self, NameError> {
        Self::new(format!("{plugin}/{handle}"))
    }

    /// The plugin that it is called after.
    pub fn plugin(&self) -> Option<PluginId> {
        PluginId::new(self.0.split_once('/')?.0).ok()
    }

    /// The name as its plugin knows it; the whole name of one that is no plugin's.
    pub fn handle(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, handle)| handle)
    }
}

impl PluginId {
    /// The part before the colon.
    pub fn namespace(&self) -> &str {
        self.0.split_once(':').map_or("", |(namespace, _)| namespace)
    }

    /// The part after the colon.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, name)| name)
    }

    /// Those of `ids` that `text` can mean: the one of that id, else all of that name.
    pub fn meant_by<'a>(text: &str, ids: impl IntoIterator<Item = &'a Self>) -> Vec<&'a Self> {
        let mut meant: Vec<&Self> = ids.into_iter().filter(|id| id.as_str() == text || id.name() == text).collect();
        if let Some(exact) = meant.iter().position(|id| id.as_str() == text) {
            meant = vec![meant.swap_remove(exact)];
        }
        meant
    }

    /// Whether `text` can be the part after the colon.
    pub fn is_name(text: &str) -> bool {
        kebab(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["aar:tasks", "a:b", "acme-inc:code-stats2"] {
            assert!(PluginId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "tasks", "a:b:c", "A:b", "a:", ":b", "a:b c", "a:-b", "a:\u{202e}b"] {
            assert!(PluginId::new(bad).is_err(), "{bad}");
        }
        assert!(ToolName::new("mcp__server__tool-2").is_ok());
        assert!(ToolName::new("a".repeat(65)).is_err());
        assert!(ToolName::new("naïve").is_err());
        let error = ToolName::new("two words").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`two words` is not a valid tool name: expected 1 to 64 letters, digits, `_` or `-`"
        );
    }

    #[test]
    fn a_plugin_is_meant_by_its_id_or_its_name() {
        let ids = ["aar:tasks", "aar:notes", "me:notes"].map(|id| PluginId::new(id).unwrap());
        for (text, meant) in [
            ("aar:notes", &["aar:notes"][..]),
            ("tasks", &["aar:tasks"]),
            ("notes", &["aar:notes", "me:notes"]),
            ("aar", &[]),
            ("note", &[]),
            ("", &[]),
        ] {
            let found: Vec<&str> = PluginId::meant_by(text, &ids).into_iter().map(PluginId::as_str).collect();
            assert_eq!(found, meant, "{text}");
        }
    }

    #[test]
    fn a_plugin_s_secret_is_called_after_it() {
        let plugin = PluginId::new("acme:weather").unwrap();
        let secret = SecretName::of_plugin(&plugin, "api-key").unwrap();
        assert_eq!((secret.as_str(), secret.handle()), ("acme:weather/api-key", "api-key"));
        assert_eq!(secret.plugin(), Some(plugin.clone()));
        let own = SecretName::new("openai").unwrap();
        assert_eq!((own.handle(), own.plugin()), ("openai", None));
        for handle in ["", "a/b", "../x", "a:b", "a b"] {
            assert!(SecretName::of_plugin(&plugin, handle).is_err(), "{handle}");
        }
        for bad in ["acme/key", "acme:weather:x/key", "/key", "acme:weather/"] {
            assert!(SecretName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_are_checked_when_read_from_json() {
        assert!(serde_json::from_str::<PluginId>("\"aar:tasks\"").is_ok());
        assert!(serde_json::from_str::<PluginId>("\"../tasks\"").is_err());
    }
}
