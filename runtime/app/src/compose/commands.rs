//! How commands run on this machine, as the settings say.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Duration;

use acp_runtime_agent::capability::Roots;
use acp_runtime_agent::terminal::Terminal;

use super::inherited;
use crate::process::{Launcher, cannot_contain};
use crate::settings::{Containment, ShellSettings};
use crate::terminal::LocalTerminal;
use crate::tools::ShellLimits;

/// What the commands of all sessions have in common.
pub(super) struct Commands {
    launcher: Launcher,
    environment: BTreeMap<String, String>,
    writable: Option<Vec<PathBuf>>,
    timeout: Duration,
    most: Duration,
    /// That nothing contains them is said once.
    warned: Once,
}

impl Commands {
    pub(super) fn new(launcher: Launcher, settings: &ShellSettings) -> Self {
        let seconds = |count: std::num::NonZeroU32| Duration::from_secs(count.get().into());
        let most = seconds(settings.max_timeout);
        Self {
            launcher,
            environment: inherited(&settings.variables().collect::<Vec<_>>()),
            writable: match settings.containment {
                Containment::Landlock => Some(settings.writable.clone()),
                Containment::None => None,
            },
            timeout: seconds(settings.timeout).min(most),
            most,
            warned: Once::new(),
        }
    }

    /// Where the commands of a session with these folders run, unless its client has terminals.
    pub(super) fn terminal(&self, roots: &Roots) -> Arc<dyn Terminal> {
        if self.writable.is_some() {
            self.warned.call_once(|| {
                if let Some(why) = cannot_contain() {
                    tracing::warn!("commands may write anywhere that you may: {why}");
                }
            });
        }
        Arc::new(LocalTerminal {
            launcher: self.launcher.clone(),
            roots: roots.clone(),
            environment: self.environment.clone(),
            writable: self.writable.clone(),
        })
    }

    /// How far commands may go; `output`: bytes that one call gives to the model.
    pub(super) fn limits(&self, output: usize) -> ShellLimits {
        ShellLimits { timeout: self.timeout, most: self.most, output }
    }
}
