//! Whether the configured MCP servers can be reached, as far as that can be known without starting or asking any.

use std::path::Path;

use acp_runtime_agent::plain;

use super::Check;
use crate::compose::Runtime;
use crate::mcp::{Finding, Health};
use crate::settings::Settings;

/// For sessions in `folder`.
pub(super) fn servers(runtime: &Runtime, folder: &Path) -> Vec<Check> {
    let settings = &runtime.settings;
    let found = runtime.mcp.check(folder);
    if found.is_empty() {
        return vec![Check::ok("mcp", "no servers are configured")];
    }
    let mut checks: Vec<Check> = found.iter().flat_map(|health| of(settings, health)).collect();
    checks.extend(settings.hidden_servers().map(|(server, file)| {
        let (key, by) = settings.server_place(server);
        let detail = format!(
            "the server `{}` of `{}` is not used: `{}` in `{}` goes before it",
            plain::name(server),
            file.display(),
            plain::name(&key),
            by.display()
        );
        Check::warn("mcp", detail, "give each server a name of its own")
    }));
    checks
}

fn of(settings: &Settings, health: &Health) -> Vec<Check> {
    let Health { server, place, findings } = health;
    let (table, file) = settings.server_place(server);
    let mut checks: Vec<Check> = findings
        .iter()
        .map(|Finding { key, problem, hint, is_usable }| {
            let key = key.as_ref().map_or(table.clone(), |key| format!("{table}.{key}"));
            let detail = format!("`{}` in `{}`: {problem}", plain::name(&key), file.display());
            if *is_usable { Check::warn("mcp", detail, hint) } else { Check::fail("mcp", detail, hint) }
        })
        .collect();
    checks.extend(
        place
            .as_ref()
            .filter(|_| findings.is_empty())
            .map(|place| Check::ok("mcp", format!("`{}`: {place}", plain::name(server)))),
    );
    checks
}
