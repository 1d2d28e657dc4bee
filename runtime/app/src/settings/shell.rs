//! `[shell]`: how commands run on this machine.

use std::num::NonZeroU32;
use std::path::PathBuf;

use acp_runtime_agent::capability::VariableName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::written::Written;

/// `[shell]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShellSettings {
    /// Seconds that a command may take where the call does not say.
    pub timeout: NonZeroU32,
    /// Seconds that a call may let one take.
    pub max_timeout: NonZeroU32,
    /// What keeps commands that run on this machine from writing elsewhere than in the session's folders.
    pub containment: Containment,
    /// More folders that they may write in. Relative to this file.
    pub writable: Vec<PathBuf>,
    /// More variables of the environment that they get, by name.
    pub inherit: Vec<Written<VariableName>>,
}

impl Default for ShellSettings {
    fn default() -> Self {
        let seconds = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        Self {
            timeout: seconds(60),
            max_timeout: seconds(600),
            containment: Containment::default(),
            writable: Vec::new(),
            inherit: Vec::new(),
        }
    }
}

impl ShellSettings {
    /// Variables beside those of every program that commands get: where compilers and interpreters are.
    pub const TOOLS: [&str; 10] = [
        "CARGO_HOME",
        "RUSTUP_HOME",
        "GOPATH",
        "GOROOT",
        "JAVA_HOME",
        "NVM_DIR",
        "PYENV_ROOT",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "LANGUAGE",
    ];

    /// The names of all variables that commands get beside those of every program.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        Self::TOOLS.into_iter().chain(self.inherit.iter().map(|name| name.0.as_str()))
    }
}

/// What keeps commands from writing elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Containment {
    /// The kernel's Landlock, where it has it.
    #[default]
    Landlock,
    /// Nothing.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_inherited() {
        for name in ["JAVA_HOME", "SSH_AUTH_SOCK", "http_proxy", "_x", "KEYBOARD", "MONKEY"] {
            assert!(name.parse::<VariableName>().is_ok(), "{name}");
        }
        for name in [
            "",
            "A=B",
            "A B",
            "1A",
            "OPENAI_API_KEY",
            "github_token",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "CLIENT_SECRET",
            "ACP_RUNTIME_HOME",
            "acp_runtime_model",
        ] {
            assert!(name.parse::<VariableName>().is_err(), "{name}");
        }
        for name in ShellSettings::TOOLS {
            assert!(name.parse::<VariableName>().is_ok(), "{name}");
        }
    }
}
