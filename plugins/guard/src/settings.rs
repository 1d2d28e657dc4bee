//! What a person can set, as in the schema in `plugin.toml`.

use acp_plugin::{Result, settings};
use serde::Deserialize;

/// What is protected where nothing is set: what runs elsewhere, what is made by programs, and what holds secrets.
const BUILTIN: [&str; 8] = [
    ".github/**",
    ".gitlab-ci.yml",
    "**/*.lock",
    "**/package-lock.json",
    "**/pnpm-lock.yaml",
    "**/go.sum",
    "**/.env",
    "**/.env.*",
];

/// The plugin's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    protected: Option<Vec<String>>,
    /// What becomes of a call that would change a protected path.
    pub(crate) on_protected: OnProtected,
    /// What becomes of a prompt with a secret in it.
    pub(crate) on_secret: OnSecret,
}

/// What becomes of a call that would change a protected path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnProtected {
    /// It is not made.
    #[default]
    Block,
    /// The person decides.
    Ask,
}

/// What becomes of a prompt with a secret in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnSecret {
    /// The model never sees it.
    #[default]
    Block,
    /// The model sees it without the secret.
    Remove,
    /// The person decides.
    Ask,
    /// Nothing.
    Ignore,
}

impl Settings {
    /// As they are now.
    pub(crate) fn get() -> Result<Self> {
        settings::get()
    }

    /// Globs of what is not changed.
    pub(crate) fn protected(&self) -> Vec<String> {
        self.protected.clone().unwrap_or_else(|| BUILTIN.map(str::to_owned).into())
    }
}
