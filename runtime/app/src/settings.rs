//! The settings: what the user, the project, the environment and the command line say, in that order.
//!
//! A later layer overrides an earlier one, but a project may only narrow what its user has set: it can forbid, lower
//! and switch off. Unknown keys are errors that name the file, the place and the key that was probably meant. This is
//! the only room that reads the environment and the only one that knows where files are kept. Knows nothing about what
//! the values do. Tested by tables: the text of a file against its values or its error.
#![expect(clippy::disallowed_methods, reason = "this room owns the configuration files and the environment")]

mod exec;
mod file;
mod limits;
mod log_filter;
mod packages;
mod paths;
mod plugin_limits;
mod project;
mod project_content;
mod published;
mod sections;
mod shell;
mod whose;
mod written;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::{EffectPattern, PluginId};
use acp_runtime_agent::policy::Mode;

pub use exec::ExecSettings;
pub use file::{Place, SettingsError, parse, place};
pub use limits::{Amount, ContextSettings, LimitSettings};
pub use log_filter::LogFilter;
pub use packages::{RegistrySettings, Requirement, SignatureSettings};
pub use paths::{HOME_VARIABLE, Paths};
pub use plugin_limits::PluginLimits;
pub use project::{PROJECT_FILE, PROJECT_LOCK, ProjectFile, ProjectSettings};
pub use project_content::{PROJECT_PLUGINS, PROJECT_STEERING, ProjectContent, ProjectPlugin, Steering};
pub use published::schema;
pub use sections::{
    BusyPolicy, FilesSettings, LogSettings, PermissionSettings, PluginSettings, PromptSettings, SecretSettings,
    Settings, Timeout,
};
pub use shell::{Containment, ShellSettings};
pub use whose::Whose;
pub use written::Written;

/// The variable that names a file of certificates to trust.
const CERTIFICATES: &str = "SSL_CERT_FILE";

/// What goes before the files: the command line, and the environment in its place.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The user's file, instead of the usual one. It must exist.
    pub config: Option<PathBuf>,
    /// The model of new sessions.
    pub model: Option<String>,
    /// The mode of new sessions. Beats the project's as well.
    pub mode: Option<Mode>,
    /// What to log.
    pub log_level: Option<LogFilter>,
    /// Where to log.
    pub log_file: Option<PathBuf>,
    /// Effects to forbid, beside those of the files.
    pub deny: Vec<EffectPattern>,
    /// Files that name more MCP servers, in the form that many clients share.
    pub mcp: Vec<PathBuf>,
}

impl Overrides {
    /// These, and what `environment` says where they say nothing.
    pub fn or_environment(self, environment: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let mode = || read(&environment, "ACP_RUNTIME_MODE", |id| Mode::from_id(id).ok_or_else(|| unknown_mode(id)));
        let level = || read(&environment, "ACP_RUNTIME_LOG", str::parse);
        Ok(Self {
            config: self.config.or_else(|| environment("ACP_RUNTIME_CONFIG").map(PathBuf::from)),
            model: self.model.or_else(|| environment("ACP_RUNTIME_MODEL")),
            mode: self.mode.map_or_else(mode, |mode| Ok(Some(mode)))?,
            log_level: self.log_level.map_or_else(level, |level| Ok(Some(level)))?,
            log_file: self.log_file,
            deny: self.deny,
            mcp: self.mcp,
        })
    }
}

fn read<T>(
    environment: impl Fn(&str) -> Option<String>,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, SettingsError> {
    let parsed = environment(name).map(|text| parse(&text)).transpose();
    parsed.map_err(|problem| SettingsError::Variable { name, problem })
}

fn unknown_mode(id: &str) -> String {
    format!("there is no mode `{id}`: expected one of `{}`", Mode::ALL.map(Mode::id).join("`, `"))
}

impl Settings {
    /// The user's settings with the overrides on top. A file that is not there is an empty one, unless it was asked
    /// for.
    pub fn load(paths: &Paths, overrides: Overrides) -> Result<Self, SettingsError> {
        let (path, asked_for) = match &overrides.config {
            Some(path) => (path.as_path(), true),
            None => (paths.config(), false),
        };
        let mut settings: Self = match file::read(path)? {
            Some(text) => file::parse(path, &text)?,
            None if asked_for => return Err(SettingsError::missing(path)),
            None => Self::default(),
        };
        settings.anchor(path.parent().unwrap_or(Path::new("")))?;
        path.clone_into(&mut settings.file);
        settings.mode_is_fixed = overrides.mode.is_some();
        settings.model = overrides.model.or(settings.model);
        settings.mode = overrides.mode.unwrap_or(settings.mode);
        settings.log.level = overrides.log_level.map_or(settings.log.level, Written);
        settings.log.file = overrides.log_file.or(settings.log.file);
        settings.permission.deny.extend(overrides.deny.into_iter().map(Written));
        for path in &overrides.mcp {
            settings.add_servers(path)?;
        }
        file::check_certificates(std::env::var_os(CERTIFICATES).map(PathBuf::from).as_deref())?;
        Ok(settings)
    }

    /// The servers of a file of the command line go before others of their names.
    fn add_servers(&mut self, path: &Path) -> Result<(), SettingsError> {
        for (name, server) in file::servers(path)? {
            let before = self.server_files.of.insert(name.clone(), path.to_owned());
            if self.mcp.insert(name.clone(), server).is_some() {
                self.server_files.gave_way.push((name, before));
            }
        }
        Ok(())
    }

    /// The key of an MCP server, with the file that has it.
    pub fn server_place(&self, server: &str) -> (String, &Path) {
        let plain = !server.is_empty() && server.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let name = if plain { server.to_owned() } else { format!("{server:?}") };
        match self.server_files.of.get(server) {
            Some(file) => (format!("mcpServers.{name}"), file),
            None => (format!("mcp.{name}"), &self.file),
        }
    }

    /// The MCP servers that have given way to others of their name, and the file of each.
    pub fn hidden_servers(&self) -> impl Iterator<Item = (&str, &Path)> {
        let gave_way = self.server_files.gave_way.iter();
        gave_way.map(move |(name, file)| (name.as_str(), file.as_deref().unwrap_or(&self.file)))
    }

    /// The user's file, which may not be there.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where a plugin's own settings are, as a part of a sentence.
    pub fn plugin_place(&self, id: &PluginId) -> String {
        format!("`[plugins.settings.\"{id}\"]` in `{}`", self.file.display())
    }

    /// Makes the relative paths of the file relative to its folder, and `~/` the user's home.
    fn anchor(&mut self, folder: &Path) -> Result<(), SettingsError> {
        let folders = self.plugins.paths.iter_mut().chain(&mut self.shell.writable).chain(&mut self.exec.readable);
        for path in folders.chain(self.log.file.as_mut()) {
            *path = match path.strip_prefix("~") {
                Ok(rest) => paths::home_folder()?.join(rest),
                Err(_) => folder.join(&*path),
            };
        }
        Ok(())
    }
}

/// A variable of the environment; none where it is absent, empty or not Unicode.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// All variables of the environment that are Unicode.
pub fn environment() -> BTreeMap<String, String> {
    let unicode = |text: OsString| text.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((unicode(name)?, unicode(value)?))).collect()
}

/// The person's home folder; the root of the file system where there is none.
pub fn home() -> PathBuf {
    let home = paths::home_folder().ok();
    home.filter(|home| home.is_dir()).unwrap_or_else(|| PathBuf::from(std::path::MAIN_SEPARATOR_STR))
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
