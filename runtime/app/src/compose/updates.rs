//! `/plugins waiting` and `/plugins approve`: versions of installed plugins that ask for more than was approved.

use std::fmt::Write as _;

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::command::TextCommand;
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::ToolError;
use acp_runtime_host::approval::{ApprovalError, approve};
use acp_runtime_host::difference::terms;
use acp_runtime_host::install::Predecessor;
use acp_runtime_host::package::{Digest, Kept, Package, PackageStore};
use acp_runtime_host::publishers::TrustStore;

use crate::settings::SignatureSettings;

/// Answers behind `/plugins`.
pub(super) struct Updates {
    info: CommandInfo,
    store: PackageStore,
    trust: TrustStore,
    signatures: SignatureSettings,
}

impl Updates {
    /// The words that it answers.
    pub(super) const WORDS: &[&str] = &["waiting", "approve"];

    pub(super) fn new(store: PackageStore, trust: TrustStore, signatures: SignatureSettings) -> Self {
        let info = CommandInfo {
            name: "plugins".to_owned(),
            description: "Lists the plugins, switches one on or off, or shows and approves updates that wait"
                .to_owned(),
            hint: Some("[on|off PLUGIN | waiting | approve PLUGIN HASH]".to_owned()),
        };
        Self { info, store, trust, signatures }
    }

    fn waiting(&self) -> Result<String, ToolError> {
        let mut text = String::new();
        for (id, kept) in self.store.kept().map_err(told)? {
            let Kept { active, waiting: Some(waiting), .. } = kept else { continue };
            let manifest = match self.store.package(&waiting).map(Package::into_manifest) {
                Ok(manifest) => manifest,
                Err(error) => {
                    let _ = writeln!(text, "- `{id}` {}: {error}", waiting.version);
                    continue;
                }
            };
            let by = waiting.publisher.as_deref().unwrap_or("nobody");
            let _ = writeln!(text, "- `{id}` {} -> {}, signed by {by}:", active.version, waiting.version);
            let before = Predecessor::of(&self.store, active);
            match before.difference(&manifest) {
                Some(difference) => {
                    for item in &difference.items {
                        let _ = writeln!(
                            text,
                            "  - {}{}",
                            if item.waits() { "**new** " } else { "" },
                            plain::line(&item.to_string(), 500)
                        );
                    }
                }
                None => text.push_str("  - **new** all of it: what is installed cannot be read\n"),
            }
            let _ = writeln!(text, "  - to approve it: `/plugins approve {id} {}`", terms(&manifest));
        }
        if text.is_empty() {
            text.push_str("No update waits for approval.");
        }
        Ok(text)
    }

    fn approve(&self, plugin: &str, hash: &str) -> Result<String, ToolError> {
        let hash = hash
            .parse::<Digest>()
            .map_err(|error| ToolError::invalid(format!("{error}")).hint("type `/plugins waiting` for the hash"))?;
        let installed = self.store.kept().map_err(told)?;
        let meant = PluginId::meant_by(plugin, installed.keys());
        let [id] = meant.as_slice() else {
            let shown = plain::line(plugin, 80);
            return Err(ToolError::invalid(format!("`{shown}` is not installed")).hint("type `/plugins waiting`"));
        };
        let approved = approve(&self.store, &self.trust, id, hash, |waiting| self.signatures.must_be_signed(waiting))
            .map_err(told)?;
        Ok(format!(
            "Approved: `{id}` {}. Sessions that are open keep the version that they have; those that are opened from now on \
             use this one.",
            approved.version
        ))
    }
}

fn told(error: impl Into<ApprovalError>) -> ToolError {
    let error = error.into();
    ToolError::invalid(error.to_string()).hint(error.hint())
}

impl TextCommand for Updates {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        match words.as_slice() {
            ["waiting"] => self.waiting(),
            ["approve", plugin, hash] => self.approve(plugin, hash),
            _ => {
                let shown = plain::line(arguments, 80);
                Err(ToolError::invalid(format!("`/plugins {shown}` is not what it takes"))
                    .hint("type `/plugins waiting`, or `/plugins approve PLUGIN HASH` with the hash that it shows"))
            }
        }
    }
}
