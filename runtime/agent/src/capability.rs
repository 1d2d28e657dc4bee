//! What can be done: names, paths, effects and the rights to them.
//!
//! Everything here is checked on construction, so the rooms above never meet an invalid name or a path that leaves its
//! root. Knows nothing about sessions, policy, files on disk or plugins; holds no state. Tested by tables beside the
//! code.

mod danger;
mod effect;
mod glob;
mod grant;
mod hook;
mod host;
mod inclusion;
mod names;
mod path;
mod pattern;
mod roots;
mod run;
mod shell;

pub use danger::Danger;
pub use effect::{CommandLine, Effect, KvScope, OwnFolder, Touched};
pub use glob::PathGlob;
pub use grant::{Grant, GrantClass, GrantSet, SecretPlace, SecretRight, Tier};
pub use hook::{HookEvent, HookRole};
pub use host::{HostPattern, NetRequest};
pub use inclusion::include;
pub use names::{CommandName, NameError, PanelName, PluginId, SecretName, ServerName, ToolName};
pub use path::{PathError, PathScope, RootId, WorkspacePath};
pub use pattern::{CLASSES, EffectPattern, EffectPatternError};
pub use roots::{Root, Roots};
pub use run::{RunError, RunPattern, RunRight, VariableName};
