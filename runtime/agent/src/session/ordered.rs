//! Clients in the order of events: what was emitted before is shown first, since clients refuse a question about a call
//! that they have not heard of, and forget a terminal that was released before they heard whose it is.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::capability::EffectPattern;
use crate::elicit::{Elicitor, Form, Page, Reply};
use crate::gate::{Approval, Approver, Ask, Permit};
use crate::outbox::Outbox;
use crate::terminal::{Ran, ShellCommand, Terminal, TerminalError, Viewer};

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
                Ok(()) => {
                    let _open = self.outbox.question();
                    self.inner.ask(ask).await
                }
                Err(_) => Approval::NoChannel,
            }
        })
    }

    fn beforehand(&self) -> Option<&[EffectPattern]> {
        self.inner.beforehand()
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
                Some(inner) => {
                    let _open = self.outbox.question();
                    inner.fill_in(form).await
                }
                None => Reply::NoChannel,
            }
        })
    }

    fn open(&self, page: Page) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            match self.in_turn().await {
                Some(inner) => {
                    let _open = self.outbox.question();
                    inner.open(page).await
                }
                None => Reply::NoChannel,
            }
        })
    }

    fn done(&self, page: &Page) {
        self.inner.done(page);
    }
}

/// Runs commands whose terminal is shown before anything else is done with it.
pub struct OrderedTerminal {
    outbox: Outbox,
    inner: Arc<dyn Terminal>,
}

impl OrderedTerminal {
    /// Runs commands in `inner`, and shows them through `outbox`.
    pub fn new(outbox: Outbox, inner: Arc<dyn Terminal>) -> Self {
        Self { outbox, inner }
    }
}

impl Terminal for OrderedTerminal {
    fn is_clients(&self) -> bool {
        self.inner.is_clients()
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        command: &'a ShellCommand,
        viewer: &'a dyn Viewer,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, TerminalError>> {
        Box::pin(async move {
            let viewer = OrderedViewer { outbox: &self.outbox, inner: viewer };
            self.inner.run(permit, command, &viewer, cancel).await
        })
    }
}

struct OrderedViewer<'a> {
    outbox: &'a Outbox,
    inner: &'a dyn Viewer,
}

impl Viewer for OrderedViewer<'_> {
    fn opened<'a>(&'a self, terminal: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.inner.opened(terminal).await;
            if let Err(error) = self.outbox.flush().await {
                tracing::warn!("a terminal could not be shown: {error}");
            }
        })
    }

    fn wrote(&self, text: String) {
        self.inner.wrote(text);
    }
}
