//! The client's person, asked for values through `elicitation/create`.

use acp_runtime_agent::elicit::{Elicitor, Form, Page, Reply};
use agent_client_protocol::v1::schema;
use futures::future::BoxFuture;

use super::{Peer, Unanswered};
use crate::acp::wire;

/// Shows forms and pages where the client offered them.
pub(in crate::acp) struct EditorElicitor {
    pub(in crate::acp) peer: Peer,
    /// Whether the client offered forms.
    pub(in crate::acp) forms: bool,
    /// Whether the client offered to open pages.
    pub(in crate::acp) pages: bool,
}

impl EditorElicitor {
    async fn ask(&self, request: schema::CreateElicitationRequest) -> Reply {
        match self.peer.ask_person(request).await {
            Ok(answer) => wire::reply(answer),
            Err(Unanswered::Late(patience)) => Reply::Late(patience),
            Err(Unanswered::Gone) => Reply::NoChannel,
            Err(unanswered @ (Unanswered::Refused(_) | Unanswered::Malformed(..))) => {
                Reply::Unusable(unanswered.to_string())
            }
        }
    }
}

impl Elicitor for EditorElicitor {
    fn fill_in(&self, form: Form) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            if !self.forms {
                return Reply::NoChannel;
            }
            match self.ask(wire::form(&form, &self.peer.session)).await {
                Reply::Accepted(answer) => form.check(answer).map_or_else(Reply::Unusable, Reply::Accepted),
                other => other,
            }
        })
    }

    fn open(&self, page: Page) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            if !self.pages {
                return Reply::NoChannel;
            }
            self.ask(wire::page(&page, &self.peer.session)).await
        })
    }

    fn done(&self, page: &Page) {
        if self.pages {
            self.peer.tell(schema::CompleteElicitationNotification::new(page.id.clone()));
        }
    }
}
