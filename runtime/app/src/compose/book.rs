//! The grant book of one session: the plugins' rights, and what the person answered for good in this project.

use std::collections::HashMap;

use acp_runtime_agent::capability::{Effect, GrantSet, PluginId};
use acp_runtime_agent::gate::GrantBook;

use super::KnownPlugin;
use crate::store::Answers;

pub(super) struct Book {
    grants: HashMap<PluginId, GrantSet>,
    answers: Answers,
}

impl Book {
    pub(super) fn new(plugins: &[KnownPlugin], answers: Answers) -> Self {
        let grants = plugins.iter().map(|known| (known.plugin.id().clone(), known.grants.clone())).collect();
        Self { grants, answers }
    }
}

impl GrantBook for Book {
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet> {
        self.grants.get(plugin).cloned()
    }

    fn remembered(&self, subject: &str, effect: &Effect) -> Option<bool> {
        self.answers.remembered(subject, effect)
    }

    fn remember(&self, subject: &str, effect: &Effect, allowed: bool) {
        self.answers.remember(subject, effect, allowed);
    }
}
