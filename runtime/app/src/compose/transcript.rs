//! What was said in a session, for plugins that may read it.

use acp_runtime_agent::outbox::Outbox;
use acp_runtime_agent::transcript::Conversation;
use acp_runtime_host::scope::Transcript;

use crate::redaction::Redaction;

pub(super) struct SessionTranscript {
    outbox: Outbox,
    redaction: Redaction,
}

impl SessionTranscript {
    /// What went through `outbox`, without what `redaction` knows.
    pub(super) fn of(outbox: &Outbox, redaction: &Redaction) -> Self {
        Self { outbox: outbox.clone(), redaction: redaction.clone() }
    }
}

impl Transcript for SessionTranscript {
    fn messages(&self) -> Conversation {
        self.outbox.messages()
    }

    fn clean(&self, text: &str) -> String {
        self.redaction.clean(text).into_owned()
    }
}
