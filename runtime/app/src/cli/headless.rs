//! A client without a person: what would be asked for is refused, unless it was allowed beforehand.

use std::io::{self, IsTerminal as _, Stderr, Stdout, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::capability::EffectPattern;
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::{Approval, Approver, Ask};
use acp_runtime_agent::outbox::{Audience, Haste};
use acp_runtime_agent::session::{Answer, Face, PromptError, SessionHandle};
use acp_runtime_agent::transcript::{SessionId, ToolContent};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Notify;

use super::styled::Look;
use super::transcript::Transcript;
use crate::acp::Teller;
use crate::redaction::Redaction;
use crate::settings::variable;

/// The form of what is shown.
pub(super) enum Output {
    /// Answers as text.
    Text,
    /// Every event as a line of JSON; errors without what this knows.
    Json(Redaction),
}

/// The client of `acp-runtime run`.
pub(super) struct Headless {
    approver: Arc<AllowList>,
    screen: Arc<Screen>,
}

impl Headless {
    pub(super) fn new(allow: Vec<EffectPattern>, output: Output) -> Self {
        Self { approver: Arc::new(AllowList(allow)), screen: Arc::new(Screen::new(output)) }
    }

    /// Where it is shown.
    pub(super) fn screen(&self) -> &Arc<Screen> {
        &self.screen
    }
}

impl Face for Headless {
    fn approver(&self, _session: &SessionId) -> Arc<dyn Approver> {
        self.approver.clone()
    }

    fn audience(&self, session: &SessionId) -> Arc<dyn Audience> {
        self.screen.open(session);
        self.screen.clone()
    }

    fn stays(&self) -> bool {
        false
    }
}

/// Allows a question when a pattern covers each of its effects.
struct AllowList(Vec<EffectPattern>);

impl Approver for AllowList {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        let allowed = ask.effects.iter().all(|effect| self.0.iter().any(|pattern| pattern.covers(effect)));
        let approval = if allowed { Approval::AllowOnce } else { Approval::NoChannel };
        Box::pin(async move { approval })
    }

    fn beforehand(&self) -> Option<&[EffectPattern]> {
        Some(&self.0)
    }
}

/// Shows events on stdout, and in text form tool calls on stderr.
pub(super) struct Screen {
    view: Mutex<View>,
    closed: Notify,
}

struct View {
    form: Form,
    failure: Option<io::Error>,
    /// Whether there is something to come back to: a model was asked, or an output is kept whole.
    lasts: bool,
}

enum Form {
    Text(Transcript<Stdout, Stderr>),
    Json {
        redaction: Redaction,
        /// None until the session is there.
        teller: Option<Teller>,
    },
}

impl Screen {
    fn new(output: Output) -> Self {
        let form = match output {
            Output::Json(redaction) => Form::Json { redaction, teller: None },
            Output::Text => {
                let look = Look::of(io::stdout().is_terminal(), variable);
                Form::Text(Transcript::new(io::stdout(), io::stderr(), look))
            }
        };
        Self { view: Mutex::new(View { form, failure: None, lasts: false }), closed: Notify::new() }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, session: &SessionId) {
        if let Form::Json { redaction, teller } = &mut self.view().form {
            *teller = Some(Teller::new(session.clone(), redaction.clone()));
        }
    }

    /// Takes up a session that was there before.
    pub(super) fn recall(&self, session: &SessionHandle) {
        if let Form::Json { teller: Some(teller), .. } = &mut self.view().form {
            teller.recall(session);
        }
    }

    /// Says something about the run itself, on stderr.
    pub(super) fn remark(&self, text: &str) {
        let told = match &mut self.view().form {
            Form::Text(transcript) => transcript.remark(text),
            Form::Json { .. } => writeln!(io::stderr(), "[{text}]"),
        };
        // With nobody to tell there is nothing else to do.
        drop(told);
    }

    /// Whether the session is one to come back to, and not only commands that were answered.
    pub(super) fn lasts(&self) -> bool {
        self.view().lasts
    }

    /// Waits until nothing more can be shown.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Ends the output with how the prompt ended; gives back what kept it from being shown.
    pub(super) fn finish(&self, outcome: Result<Answer, PromptError>) -> io::Result<()> {
        let mut view = self.view();
        match view.failure.take() {
            Some(error) => Err(error),
            None => match &mut view.form {
                Form::Text(transcript) => transcript.finish(),
                Form::Json { teller: Some(teller), .. } => print_line(&teller.end(outcome)),
                Form::Json { teller: None, .. } => Ok(()),
            },
        }
    }
}

impl View {
    fn show(&mut self, event: &SessionEvent) -> io::Result<()> {
        match &mut self.form {
            Form::Text(transcript) => transcript.show(event),
            Form::Json { teller: Some(teller), .. } => teller.tell(event).iter().try_for_each(print_line),
            Form::Json { teller: None, .. } => Ok(()),
        }
    }
}

/// Whether the event is a prompt to a model.
pub(super) fn was_asked(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::UserMessage { local: false, .. })
}

/// Whether the event leads to a file that is kept with the session.
fn keeps_output(event: &SessionEvent) -> bool {
    let SessionEvent::ToolCallUpdated(update) = event else { return false };
    update.content.iter().flatten().any(|content| matches!(content, ToolContent::Link { .. }))
}

fn print_line(value: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{value}")
}

impl Audience for Screen {
    fn show<'a>(&'a self, events: Vec<SessionEvent>, _haste: &'a Haste) -> BoxFuture<'a, ()> {
        let mut view = self.view();
        for event in &events {
            view.lasts |= was_asked(event) || keeps_output(event);
            if view.failure.is_some() {
                continue;
            }
            if let Err(error) = view.show(event) {
                view.failure = Some(error);
                self.closed.notify_one();
            }
        }
        Box::pin(async {})
    }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::capability::{CommandLine, Effect, PathGlob, PathScope, RootId};

    use super::*;

    fn write(path: &str) -> Effect {
        Effect::Write(PathScope { root: RootId(0), glob: PathGlob::exact(path) })
    }

    fn run() -> Effect {
        Effect::Run(CommandLine { program: "ls".into(), arguments: Vec::new() })
    }

    async fn ask(allow: &[&str], effects: Vec<Effect>) -> Approval {
        let headless = Headless::new(allow.iter().map(|text| text.parse().unwrap()).collect(), Output::Text);
        let ask = Ask {
            call: None,
            subject: "tool write_file".to_owned(),
            title: String::new(),
            effects,
            content: Vec::new(),
            raw: None,
            may_remember: true,
        };
        headless.approver(&SessionId::new("s")).ask(ask).await
    }

    #[tokio::test]
    async fn only_what_was_allowed_is_approved() {
        for (allow, effects, approval) in [
            (&[][..], vec![write("a")], Approval::NoChannel),
            (&["all"], vec![write("a"), run()], Approval::AllowOnce),
            (&["write"], vec![write("a")], Approval::AllowOnce),
            (&["write"], vec![write("a"), run()], Approval::NoChannel),
            (&["write", "run"], vec![write("a"), run()], Approval::AllowOnce),
            (&["write:notes/**"], vec![write("notes/a")], Approval::AllowOnce),
            (&["write:notes/**"], vec![write("notes/a"), write("b")], Approval::NoChannel),
            (&["delete", "run"], vec![write("a")], Approval::NoChannel),
        ] {
            assert_eq!(ask(allow, effects.clone()).await, approval, "{allow:?} {effects:?}");
        }
    }
}
