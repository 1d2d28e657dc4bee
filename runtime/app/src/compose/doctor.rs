//! `/doctor`: what `acp-runtime doctor` says, of this process, and how the session's models, servers and plugins do.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use acp_runtime_agent::command::{TextCommand, takes_nothing};
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::options::Options;
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::{ToolError, ToolSource as _};
use acp_runtime_agent::transcript::fenced;
use acp_runtime_host::record::Calls;

use super::checks::{self, Check};
use super::{KnownPlugin, Runtime};
use crate::mcp::SessionServers;
use crate::models::ProviderKey;
use crate::settings::SettingsError;

/// Bytes of the whole answer.
const MOST: usize = 32 << 10;
/// The last lines of each plugin's log.
const LINES: usize = 5;

pub(super) struct Doctor {
    info: CommandInfo,
    runtime: Weak<Runtime>,
    /// The session's first folder.
    folder: PathBuf,
    options: Arc<Options>,
    servers: Arc<SessionServers>,
    plugins: Vec<KnownPlugin>,
}

impl Doctor {
    /// For a session in `folder` of that process, with these options, servers and plugins.
    pub(super) fn new(
        runtime: Weak<Runtime>,
        folder: &Path,
        options: Arc<Options>,
        servers: Arc<SessionServers>,
        plugins: Vec<KnownPlugin>,
    ) -> Self {
        let info = CommandInfo {
            name: "doctor".to_owned(),
            description: "Checks that everything is in order, and shows how models, servers and plugins do".to_owned(),
            hint: None,
        };
        Self { info, runtime, folder: folder.to_owned(), options, servers, plugins }
    }

    fn plugin(&self, known: &KnownPlugin) -> String {
        let id = known.plugin.id();
        let on = match self.options.withheld().iter().find(|withheld| withheld.plugin.id == *id) {
            Some(_) => "left out",
            None if self.options.switches().lets(Some(id)) => "on",
            None => "off",
        };
        let calls = known.plugin.calls();
        format!("`{id}` ({}, {on}) – {}", known.origin.as_str(), done(&calls))
    }
}

impl TextCommand for Doctor {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        takes_nothing(&self.info.name, arguments)?;
        let gone = || ToolError::Fatal("the process is about to end".to_owned());
        let runtime = self.runtime.upgrade().ok_or_else(gone)?;
        let id = self.options.seat().get().0.id().to_owned();
        let mut text = String::from("**Checks**\n\n");
        let here = match runtime.folders.open(&self.folder) {
            Ok(root) => runtime.settings.in_project(&root),
            Err(error) => Err(SettingsError::Project { path: self.folder.clone(), reason: error.to_string() }),
        };
        let mut found = checks::configuration(&runtime.settings, here);
        let Runtime { paths, settings, keys, .. } = &*runtime;
        found.extend(checks::all(paths, settings, keys, Ok(&*runtime), Some(&id), &self.folder).await);
        found.iter().for_each(|check| write_check(&mut text, check));
        text.push_str("\n**Model providers**\n\n");
        list(&mut text, runtime.models.keys().iter().map(provider), "None is configured.");
        text.push_str("\n**MCP servers**\n\n");
        self.servers.settle_to_show().await;
        list(&mut text, self.servers.lines().into_iter(), "There are none.");
        text.push_str("\n**Plugins**, since this process began\n\n");
        list(&mut text, self.plugins.iter().map(|known| self.plugin(known)), "There are none.");
        let clean = runtime.keys.redaction().clean(&text).into_owned();
        Ok(match plain::cut(&clean, MOST) {
            all if all.len() == clean.len() => clean,
            begin => format!("{begin}\n\n[cut: {} of {} bytes shown]", begin.len(), clean.len()),
        })
    }
}

fn list(text: &mut String, items: impl Iterator<Item = String>, none: &str) {
    let before = text.len();
    items.for_each(|item| {
        let _ = writeln!(text, "- {item}");
    });
    if text.len() == before {
        let _ = writeln!(text, "{none}");
    }
}

fn write_check(text: &mut String, check: &Check) {
    let _ = writeln!(text, "- {} {}: {}", check.outcome.as_str(), check.check, check.detail);
    if let Some(hint) = &check.hint {
        let _ = writeln!(text, "  - hint: {hint}");
    }
}

fn provider(key: &ProviderKey) -> String {
    let state = match &key.from {
        Some(from) => format!("its key is from {from}"),
        None if key.needed => format!("it has no key: run `acp-runtime login {}`", key.provider),
        None => "it needs no key".to_owned(),
    };
    format!("`{}` – {state}", key.provider)
}

/// What is remembered of a plugin's calls, as the end of an entry.
fn done(calls: &Calls) -> String {
    let mut text = match calls.count {
        0 => "not called".to_owned(),
        count => counted(count, "call"),
    };
    if calls.failures > 0 {
        let _ = write!(text, ", {} failed", calls.failures);
    }
    if let (Some(median), Some(longest)) = (calls.median(), calls.longest) {
        let _ = write!(text, ", half of them within {}, the longest {}", millis(median), millis(longest));
    }
    if let Some(failure) = &calls.last_failure {
        let _ = write!(text, "\n  - the last failure: {failure}");
    }
    let lines: Vec<&str> =
        calls.lines.iter().skip(calls.lines.len().saturating_sub(LINES)).map(String::as_str).collect();
    if !lines.is_empty() {
        let block = fenced("text", &lines.join("\n"));
        let _ = write!(text, "\n  - the last lines of its log:\n\n    {}\n", block.replace('\n', "\n    "));
    }
    text
}

fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1000.0;
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.0} ms") }
}
