//! A client without a person: what would be asked for is refused, unless it was allowed beforehand.

use std::io::{self, IsTerminal as _, Stderr, Stdout, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use acp_runtime_agent::capability::{EffectPattern, Roots};
use acp_runtime_agent::elicit::{Elicitor, NoElicitor};
use acp_runtime_agent::event::{SessionEvent, TurnEnd};
use acp_runtime_agent::gate::{Approval, Approver, Ask};
use acp_runtime_agent::session::{Audience, Face, Haste};
use acp_runtime_agent::terminal::Terminal;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_agent::workspace::Workspace;
use futures::future::BoxFuture;
use tokio::sync::Notify;

use super::transcript::Transcript;

/// The client of `acp-runtime run`.
pub(super) struct Headless {
    approver: Arc<AllowList>,
    screen: Arc<Screen>,
}

impl Headless {
    pub(super) fn new(allow: Vec<EffectPattern>, json: bool) -> Self {
        Self { approver: Arc::new(AllowList(allow)), screen: Arc::new(Screen::new(json)) }
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

    fn elicitor(&self, _session: &SessionId) -> Arc<dyn Elicitor> {
        Arc::new(NoElicitor)
    }

    fn terminal(&self, _session: &SessionId, _roots: &Roots, local: Arc<dyn Terminal>) -> Arc<dyn Terminal> {
        local
    }

    fn overlay(&self, _session: &SessionId, _roots: &Roots, disk: Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        disk
    }

    fn audience(&self, _session: &SessionId) -> Arc<dyn Audience> {
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
}

/// Shows events on stdout, and in text form tool calls on stderr.
pub(super) struct Screen {
    view: Mutex<View>,
    closed: Notify,
}

struct View {
    form: Form,
    failure: Option<io::Error>,
    /// Whether the turn has ended without what was asked for.
    failed: bool,
}

enum Form {
    Text(Transcript<Stdout, Stderr>),
    Json(Stdout),
}

impl Screen {
    fn new(json: bool) -> Self {
        let form = if json {
            Form::Json(io::stdout())
        } else {
            Form::Text(Transcript::new(io::stdout(), io::stderr(), io::stdout().is_terminal()))
        };
        Self { view: Mutex::new(View { form, failure: None, failed: false }), closed: Notify::new() }
    }

    /// Waits until nothing more can be shown.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Ends the output, and says whether what was asked for was done; gives back what kept it from being shown.
    pub(super) fn finish(&self) -> io::Result<bool> {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        match view.failure.take() {
            Some(error) => return Err(error),
            None => match &mut view.form {
                Form::Text(transcript) => transcript.finish()?,
                Form::Json(out) => out.flush()?,
            },
        }
        Ok(!view.failed)
    }
}

impl View {
    fn show(&mut self, event: &SessionEvent) -> io::Result<()> {
        self.failed |= matches!(event, SessionEvent::TurnEnded { end: TurnEnd::Failed(_) });
        match &mut self.form {
            Form::Text(transcript) => transcript.show(event),
            Form::Json(out) => print_json(out, event),
        }
    }
}

/// One event as a line of JSON.
pub(super) fn print_json(out: &mut impl io::Write, event: &SessionEvent) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    out.write_all(&line)
}

impl Audience for Screen {
    fn show<'a>(&'a self, events: Vec<SessionEvent>, _haste: &'a Haste) -> BoxFuture<'a, ()> {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        for event in &events {
            if view.failure.is_some() {
                break;
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
        let headless = Headless::new(allow.iter().map(|text| text.parse().unwrap()).collect(), false);
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
