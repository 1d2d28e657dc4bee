//! Questions in the order of events: what was emitted before is shown first, since clients refuse a question about a call
//! that they have not heard of.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Outbox;
use crate::elicit::{Elicitor, Form, Page, Reply};
use crate::gate::{Approval, Approver, Ask};

/// Asks for permission, after all that was emitted.
pub struct OrderedApprover {
    outbox: Outbox,
    inner: Arc<dyn Approver>,
}

impl OrderedApprover {
    /// Asks `inner`, after `outbox`.
    pub fn new(outbox: Outbox, inner: Arc<dyn Approver>) -> Self {
        Self { outbox, inner }
    }
}

impl Approver for OrderedApprover {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            match self.outbox.flush().await {
                Ok(()) => self.inner.ask(ask).await,
                Err(_) => Approval::NoChannel,
            }
        })
    }
}

/// Asks for values, after all that was emitted.
pub struct OrderedElicitor {
    outbox: Outbox,
    inner: Arc<dyn Elicitor>,
}

impl OrderedElicitor {
    /// Asks `inner`, after `outbox`.
    pub fn new(outbox: Outbox, inner: Arc<dyn Elicitor>) -> Self {
        Self { outbox, inner }
    }

    /// None where what was emitted cannot be shown.
    async fn in_turn(&self) -> Option<&dyn Elicitor> {
        self.outbox.flush().await.ok().map(|()| &*self.inner)
    }
}

impl Elicitor for OrderedElicitor {
    fn fill_in(&self, form: Form) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            match self.in_turn().await {
                Some(inner) => inner.fill_in(form).await,
                None => Reply::NoChannel,
            }
        })
    }

    fn open(&self, page: Page) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            match self.in_turn().await {
                Some(inner) => inner.open(page).await,
                None => Reply::NoChannel,
            }
        })
    }

    fn done(&self, page: &Page) {
        self.inner.done(page);
    }
}
