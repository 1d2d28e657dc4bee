//! What a project may say: only what narrows. Its file is read as a stranger's.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

use acp_runtime_agent::capability::{EffectPattern, PathGlob, PluginId};
use acp_runtime_agent::policy::Mode;
use serde::Deserialize;

use super::sections::Settings;
use super::written::Written;
use super::{SettingsError, file};

/// Where a project keeps its file.
pub const PROJECT_FILE: &str = ".acp-runtime/config.toml";

/// A project's file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectFile {
    /// The mode of new sessions, where it is stricter than the user's.
    mode: Option<Mode>,
    files: Files,
    permission: Permission,
    plugins: Plugins,
    limits: Limits,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Files {
    deny: Vec<Written<PathGlob>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Permission {
    deny: Vec<Written<EffectPattern>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Plugins {
    disabled: Vec<PluginId>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    model_requests: Option<NonZeroU32>,
    tool_output: Option<NonZeroUsize>,
}

/// The settings as they hold in one project.
#[derive(Debug, Clone)]
pub struct ProjectSettings {
    /// The user's, narrowed.
    pub settings: Settings,
    /// What the project asked for and did not get, since it would widen; one sentence each.
    pub ignored: Vec<String>,
}

impl Settings {
    /// These settings in the project at `folder`. A file that cannot be understood is an error: what it forbids would
    /// be lost.
    pub fn in_project(&self, folder: &Path) -> Result<ProjectSettings, SettingsError> {
        let path = folder.join(PROJECT_FILE);
        let project: ProjectFile = match file::read(&path)? {
            Some(text) => file::parse(&path, &text).map_err(SettingsError::in_project_file)?,
            None => ProjectFile::default(),
        };
        let mut settings = self.clone();
        let ignored = settings.narrow(project);
        let ignored = ignored.into_iter().map(|problem| format!("`{}`: {problem}", path.display())).collect();
        Ok(ProjectSettings { settings, ignored })
    }

    fn narrow(&mut self, project: ProjectFile) -> Vec<String> {
        let mut ignored = Vec::new();
        self.files.deny.extend(project.files.deny);
        self.permission.deny.extend(project.permission.deny);
        self.plugins.disabled.extend(project.plugins.disabled);
        if let Some(mode) = project.mode
            && !self.mode_is_fixed
        {
            if strictness(mode) >= strictness(self.mode) {
                self.mode = mode;
            } else {
                ignored.push(wider("mode", mode.id(), self.mode.id()));
            }
        }
        lower("limits.model_requests", &mut self.limits.model_requests, project.limits.model_requests, &mut ignored);
        lower("limits.tool_output", &mut self.limits.tool_output, project.limits.tool_output, &mut ignored);
        ignored
    }
}

fn lower<T: Ord + Copy + ToString>(key: &str, ours: &mut T, theirs: Option<T>, ignored: &mut Vec<String>) {
    match theirs {
        Some(theirs) if theirs <= *ours => *ours = theirs,
        Some(theirs) => ignored.push(wider(key, &theirs.to_string(), &ours.to_string())),
        None => {}
    }
}

fn wider(key: &str, theirs: &str, ours: &str) -> String {
    format!("`{key} = {theirs}` is ignored: a project may only narrow the user's `{ours}`")
}

/// How little a mode allows.
fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Auto => 0,
        Mode::AutoEdit => 1,
        Mode::Review => 2,
        Mode::ReadOnly => 3,
        Mode::Plan => 4,
    }
}
