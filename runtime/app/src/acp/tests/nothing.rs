//! A book, a ground, a project and an audit of which nothing is known.

use acp_runtime_agent::capability::{GrantSet, PluginId, WorkspacePath};
use acp_runtime_agent::context::ProjectFiles;
use acp_runtime_agent::gate::{AuditEntry, AuditSink, GrantBook, Ground, Origin};
use futures::future::BoxFuture;

pub(super) struct Nothing;

impl GrantBook for Nothing {
    fn grants(&self, _plugin: &PluginId) -> Option<GrantSet> {
        None
    }

    fn keeps(&self, _origin: &Origin) -> bool {
        true
    }
}

impl Ground for Nothing {}

impl ProjectFiles for Nothing {
    fn texts(&self, paths: Vec<WorkspacePath>) -> BoxFuture<'_, Vec<Option<String>>> {
        Box::pin(async move { vec![None; paths.len()] })
    }
}

impl AuditSink for Nothing {
    fn record(&self, _entry: AuditEntry<'_>) {}
}
