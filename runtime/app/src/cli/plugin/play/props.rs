//! What a case meets in the place of the world: servers, programs, and a person who has decided beforehand.
//!
//! All that is asked of them is remembered until somebody looks. What no case has a word for is not made up: it is
//! unreachable, not there or refused, and counts as missing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::capability::{Effect, EffectPattern};
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::{Approval, Approver, Ask, Permit};
use acp_runtime_agent::outbox::{Audience, Haste};
use acp_runtime_agent::session::Face;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_host::egress::Play;
use acp_runtime_host::exec::{ProgramEnd, ProgramError, ProgramOutput, ProgramRun, Programs};
use futures::future::{BoxFuture, FutureExt as _};
use http::{Request, Response};

use crate::authoring::cases::{Answer, Case, Program};

/// The world of one case.
pub(super) struct Props {
    answers: Vec<Answer>,
    programs: Vec<Program>,
    allow: Vec<EffectPattern>,
    seen: Mutex<Seen>,
    /// Which answers were given.
    given: Mutex<Vec<bool>>,
}

/// What has happened since somebody last looked.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) events: Vec<SessionEvent>,
    pub(super) asks: Vec<String>,
    pub(super) requests: Vec<String>,
    pub(super) runs: Vec<String>,
    /// What the case has no word for.
    pub(super) missing: Vec<String>,
}

impl Props {
    pub(super) fn of(case: &Case) -> Arc<Self> {
        Arc::new(Self {
            answers: case.http.clone(),
            programs: case.programs.clone(),
            allow: case.allow.iter().map(|pattern| pattern.0.clone()).collect(),
            seen: Mutex::default(),
            given: Mutex::new(vec![false; case.http.len()]),
        })
    }

    /// What has happened since the last time.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen())
    }

    /// The events since the last time, which stay until all is taken.
    pub(super) fn seen_so_far(&self) -> Vec<SessionEvent> {
        self.seen().events.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first answer that fits and was not given yet; else the last that fits.
    fn answer_to(&self, request: &Request<bytes::Bytes>) -> Option<&Answer> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting: Vec<usize> =
            (0..).zip(&self.answers).filter(|(_, answer)| fits(answer, request)).map(|(index, _)| index).collect();
        let fresh = fitting.iter().find(|index| given.get(**index) == Some(&false)).or(fitting.last())?;
        if let Some(given) = given.get_mut(*fresh) {
            *given = true;
        }
        self.answers.get(*fresh)
    }
}

fn fits(answer: &Answer, request: &Request<bytes::Bytes>) -> bool {
    let header = |name: &String| request.headers().get(name).and_then(|value| value.to_str().ok());
    // What is sent is written as addresses are: `https://a.example` is sent as `https://a.example/`.
    let url = url::Url::parse(&answer.url).map_or_else(|_| answer.url.clone(), String::from);
    request.method().as_str() == answer.method
        && request.uri().to_string() == url
        && answer.sent_headers.iter().all(|(name, value)| header(name) == Some(value))
        && answer.sent_body.as_ref().is_none_or(|body| request.body().as_ref() == body.as_bytes())
}

impl Play for Props {
    fn answer(&self, request: Request<bytes::Bytes>) -> BoxFuture<'_, Result<Response<bytes::Bytes>, String>> {
        async move {
            let line = format!("{} {}", request.method(), request.uri());
            self.seen().requests.push(line.clone());
            let Some(answer) = self.answer_to(&request) else {
                self.seen().missing.push(format!("no `http` of the case answers `{line}` as it was sent"));
                return Err(line);
            };
            if answer.unreachable {
                return Err(line);
            }
            let mut response = Response::builder().status(answer.status);
            if answer.json.is_some() {
                response = response.header("content-type", "application/json");
            }
            for (name, value) in &answer.headers {
                response = response.header(name, value);
            }
            response.body(answer.body().into()).map_err(|error| {
                self.seen().missing.push(format!("the answer to `{line}` cannot be sent: {error}"));
                error.to_string()
            })
        }
        .boxed()
    }
}

impl Programs for Props {
    fn run<'a>(&'a self, permit: &'a Permit, run: ProgramRun) -> BoxFuture<'a, Result<ProgramOutput, ProgramError>> {
        async move {
            let effect = Effect::Run(run.line.clone());
            if !permit.covers(&effect) {
                return Err(ProgramError::NoPermit(effect.to_string()));
            }
            if run.is_precaution() {
                return Ok(ProgramOutput { end: ProgramEnd::Exited(0), stdout: Vec::new(), stderr: Vec::new() });
            }
            let line = run.line.to_string();
            self.seen().runs.push(line.clone());
            let Some(Program { stdout, stderr, exit, .. }) = self.programs.iter().find(|known| known.line == line)
            else {
                self.seen().missing.push(format!("no `programs` of the case is `{line}`"));
                return Err(ProgramError::NotFound(run.line.program));
            };
            let bytes = |text: &String| text.as_bytes().to_vec();
            Ok(ProgramOutput { end: ProgramEnd::Exited(*exit), stdout: bytes(stdout), stderr: bytes(stderr) })
        }
        .boxed()
    }
}

impl Approver for Props {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        let mut seen = self.seen();
        // As a pattern that would allow it is written.
        seen.asks.extend(ask.effects.iter().map(|effect| match effect.key() {
            key if key.is_empty() => effect.class().to_owned(),
            key => format!("{}:{key}", effect.class()),
        }));
        let allowed = ask.effects.iter().all(|effect| self.allow.iter().any(|pattern| pattern.covers(effect)));
        let approval = if allowed { Approval::AllowOnce } else { Approval::RejectOnce };
        async move { approval }.boxed()
    }
}

impl Audience for Props {
    fn show<'a>(&'a self, events: Vec<SessionEvent>, _haste: &'a Haste) -> BoxFuture<'a, ()> {
        self.seen().events.extend(events);
        async {}.boxed()
    }
}

/// The client of a case.
pub(super) struct Client(pub(super) Arc<Props>);

impl Face for Client {
    fn approver(&self, _session: &SessionId) -> Arc<dyn Approver> {
        self.0.clone()
    }

    fn audience(&self, _session: &SessionId) -> Arc<dyn Audience> {
        self.0.clone()
    }

    fn stays(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn props(http: &str) -> Arc<Props> {
        let text = format!("[[case]]\nname = \"n\"\nhttp = {http}\nsteps = [{{ tool = \"a\" }}]\n");
        let cases = crate::authoring::cases::Cases::read(std::path::Path::new("a.toml"), &text).unwrap();
        Props::of(&cases.cases[0])
    }

    async fn send(props: &Props, line: &str, headers: &[(&str, &str)]) -> Option<String> {
        let (method, url) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = props.answer(request.body(bytes::Bytes::new()).unwrap()).await.ok()?;
        Some(format!("{} {}", answer.status().as_u16(), String::from_utf8_lossy(answer.body())))
    }

    #[tokio::test]
    async fn answers_are_given_in_their_order_and_the_last_for_ever() {
        let props = props(
            r#"[{ url = "https://a.example", body = "1" }, { url = "https://a.example", body = "2", status = 404 },
                { url = "https://b.example/x", sent_headers = { x-key = "k" }, body = "3" },
                { url = "https://c.example/", unreachable = true }]"#,
        );
        for (line, headers, answer) in [
            ("GET https://a.example/", &[][..], Some("200 1")),
            ("GET https://a.example/", &[], Some("404 2")),
            ("GET https://a.example/", &[], Some("404 2")),
            ("POST https://a.example/", &[], None),
            ("GET https://b.example/x", &[], None),
            ("GET https://b.example/x", &[("x-key", "k")], Some("200 3")),
            ("GET https://c.example/", &[], None),
        ] {
            assert_eq!(send(&props, line, headers).await.as_deref(), answer, "{line}");
        }
        let seen = props.take();
        assert_eq!(seen.requests.len(), 7);
        let missing = [
            "no `http` of the case answers `POST https://a.example/` as it was sent",
            "no `http` of the case answers `GET https://b.example/x` as it was sent",
        ];
        assert_eq!(seen.missing, missing);
    }
}
