//! What a project may say: only what narrows. Its file is read as a stranger's.

use acp_runtime_agent::capability::{EffectPattern, PathGlob, PluginId};
use acp_runtime_agent::policy::Mode;
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU32, NonZeroUsize};

use super::limits::HookPayload;
use super::plugin_limits::PluginLimits;
use super::sections::Settings;
use super::written::Written;
use super::{Amount, SettingsError, Timeout, file};
use crate::workspace::{OpenRoot, RootError, RootRegistry};

/// Where a project keeps its file.
pub const PROJECT_FILE: &str = ".acp-runtime/config.toml";
/// Where a project notes which plugins belong to it.
pub const PROJECT_LOCK: &str = ".acp-runtime/acp-plugins.lock";

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
    turn_seconds: Option<Timeout>,
    turn_tokens: Option<u64>,
    turn_cost: Option<Amount>,
    same_calls: Option<u32>,
    tool_output: Option<NonZeroUsize>,
    hook_payload: Option<HookPayload>,
    plugin: PluginLimits<false>,
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
    /// These settings in the project whose folder is `root`. A file that cannot be read or understood is an error: what
    /// it forbids would be lost. Nothing outside of the folder is read, whatever its links say.
    pub fn in_project(&self, root: &OpenRoot) -> Result<ProjectSettings, SettingsError> {
        let path = root.path.join(PROJECT_FILE);
        let project: ProjectFile = match file::of_project(root, &path)? {
            Some(text) => file::parse(&path, &text).map_err(SettingsError::in_project_file)?,
            None => ProjectFile::default(),
        };
        let mut settings = self.clone();
        let ignored = settings.narrow(project);
        let ignored = ignored.into_iter().map(|problem| format!("`{}`: {problem}", path.display())).collect();
        Ok(ProjectSettings { settings, ignored })
    }

    /// These settings in the folder that the program was started in, which may be no place for a project.
    pub fn in_current_folder(&self) -> Result<ProjectSettings, SettingsError> {
        let folder = std::env::current_dir().unwrap_or_default();
        match RootRegistry::default().open(&folder) {
            Ok(root) => self.in_project(&root),
            Err(RootError::Relative(_) | RootError::NotFound(_) | RootError::NotAFolder(_) | RootError::MadeUp(_)) => {
                Ok(ProjectSettings { settings: self.clone(), ignored: Vec::new() })
            }
            Err(RootError::System { reason, .. }) => Err(SettingsError::Project { path: folder, reason }),
        }
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
        let (ours, theirs) = (&mut self.limits, project.limits);
        lower("limits.model_requests", &mut ours.model_requests, theirs.model_requests, &mut ignored);
        lower("limits.tool_output", &mut ours.tool_output, theirs.tool_output, &mut ignored);
        limit("limits.turn_seconds", &mut ours.turn_seconds, theirs.turn_seconds, &mut ignored);
        limit("limits.turn_tokens", &mut ours.turn_tokens, theirs.turn_tokens, &mut ignored);
        limit("limits.turn_cost", &mut ours.turn_cost, theirs.turn_cost, &mut ignored);
        limit("limits.same_calls", &mut ours.same_calls, theirs.same_calls, &mut ignored);
        lower("limits.hook_payload", &mut ours.hook_payload, theirs.hook_payload, &mut ignored);
        let (narrowed, wide) = theirs.plugin.narrower_than(self.plugin_limits().usual());
        self.narrowed = narrowed;
        ignored.extend(wide.iter().map(|(name, theirs, ours)| wider(&format!("limits.plugin.{name}"), theirs, ours)));
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

/// The same where 0 is no limit at all.
fn limit<T>(key: &str, ours: &mut T, theirs: Option<T>, ignored: &mut Vec<String>)
where
    T: PartialOrd + Copy + Default + Serialize,
{
    let none = T::default();
    match theirs {
        Some(theirs) if *ours == none || (theirs != none && theirs <= *ours) => *ours = theirs,
        Some(theirs) => {
            let shown = |value: T| serde_json::json!(value).to_string();
            ignored.push(wider(key, &shown(theirs), &shown(*ours)));
        }
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
