//! What was said in a session, for plugins that may read it.

use acp_runtime_agent::session::Outbox;
use acp_runtime_agent::transcript::Conversation;
use acp_runtime_host::scope::Transcript;

use crate::redaction::Redaction;

pub(super) struct SessionTranscript {
    pub(super) outbox: Outbox,
    pub(super) redaction: Redaction,
}

impl Transcript for SessionTranscript {
    fn messages(&self) -> Conversation {
        self.outbox.messages()
    }

    fn clean(&self, text: &str) -> String {
        self.redaction.clean(text).into_owned()
    }
}
