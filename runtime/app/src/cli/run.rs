//! `acp-runtime run`: one prompt without a person. The exit code says whether what was asked for was done: a slash
//! command or a `/call` that failed counts, and so does a turn that did not end well; a tool that the model called and
//! that failed does not, since the model went on from there.

mod stdin;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::session::{Answer, SessionFactory as _, SessionHandle, SessionRequest};
use acp_runtime_agent::store::{PointOfNoReturn, SessionRecord, SessionSetup};
use acp_runtime_agent::transcript::StopReason;

use super::arguments::RunArguments;
use super::exit::{self, FAILED};
use super::failure::Failure;
use super::headless::{Headless, Output, Screen};
use super::session;
use crate::compose::Runtime;
use crate::process::{Stop, Stops};

/// How long what runs may take to end when the process is asked to stop; it is gone within 2 s.
const FAREWELL: Duration = Duration::from_millis(900);

pub(super) async fn command(runtime: Arc<Runtime>, arguments: RunArguments) -> Result<ExitCode, Failure> {
    let RunArguments { cwd, json, allow, deny: _, resume, session, prompt } = arguments;
    let cwd = absolute(cwd.unwrap_or_else(|| PathBuf::from(".")))?;
    let before = match (session, resume) {
        (Some(id), _) => Some(session::kept(&*runtime.store(), Some(id)).await?.0),
        (None, true) => Some(latest_of(&runtime, &cwd).await?),
        (None, false) => None,
    };
    let is_new = before.is_none();
    let output = if json { Output::Json(runtime.redaction().clone()) } else { Output::Text };
    let headless = Arc::new(Headless::new(allow, output));
    let screen = headless.screen().clone();
    let mut stops = Stops::listen().map_err(|error| Failure::new(format!("no signals can be heard: {error}")))?;
    let parts = tokio::select! {
        parts = stdin::prompt(prompt, &screen) => parts?,
        stop = stops.next() => return Err(stopped_by(stop)),
    };
    let session = tokio::select! {
        session = open(&runtime, before, cwd, headless) => session?,
        stop = stops.next() => return Err(stopped_by(stop)),
    };

    let mut answer = std::pin::pin!(session.prompt(parts).answered());
    let outcome = loop {
        tokio::select! {
            outcome = &mut answer => break outcome,
            stop = stops.next() => {
                let end = end(&runtime, &session, is_new, &screen);
                return Err(stop_at(stop, end, &mut stops, &screen).await);
            }
            () = screen.closed() => session.cancel(),
        }
    };
    end(&runtime, &session, is_new, &screen).await;
    screen.finish(outcome.clone())?;
    match outcome? {
        // Why, was told already.
        Answer { fault: Some(fault), .. } => Ok(ExitCode::from(exit::code(fault))),
        Answer { stop, fault: None } => ended(stop),
    }
}

/// A new session in the folder, or one that was there before, in its own.
async fn open(
    runtime: &Arc<Runtime>,
    before: Option<SessionRecord>,
    cwd: String,
    headless: Arc<Headless>,
) -> Result<SessionHandle, Failure> {
    let screen = headless.screen().clone();
    let Some(SessionRecord { id, setup, .. }) = before else {
        let setup = SessionSetup { cwd, additional: Vec::new(), system_prompt: None };
        return Ok(runtime.create(SessionRequest { setup, servers: Vec::new(), face: headless }).await?);
    };
    let request = SessionRequest { setup, servers: Vec::new(), face: headless };
    let (session, _) = runtime.load(id, request, None, PointOfNoReturn::passed()).await?;
    screen.recall(&session);
    Ok(session)
}

async fn latest_of(runtime: &Runtime, cwd: &str) -> Result<SessionRecord, Failure> {
    session::latest_asked(&*runtime.store(), cwd).await?.ok_or_else(|| {
        Failure::usage(format!("there is no session in `{cwd}` to go on with: none in which a model was asked"))
            .hint("leave `--continue` out, or name one of `acp-runtime session list` with `--session`")
    })
}

fn ended(stop: StopReason) -> Result<ExitCode, Failure> {
    match stop {
        StopReason::EndTurn => Ok(ExitCode::from(exit::DONE)),
        StopReason::MaxTokens => {
            Err(stopped("it reached a limit of tokens or of cost: the model's, or one of `[limits]`"))
        }
        StopReason::MaxTurnRequests => {
            let hint = "raise the limit that is named above in the configuration, or split the task";
            Err(stopped("it reached a limit of requests or of time").hint(hint))
        }
        StopReason::Refusal => Err(stopped("the model refuses to go on")),
        StopReason::Cancelled => Err(stopped("it was cancelled")),
    }
}

/// Ends the session. A new one in which only commands were answered is not kept: all that it has was shown.
async fn end(runtime: &Runtime, session: &SessionHandle, is_new: bool, screen: &Screen) {
    session.close().await;
    if is_new
        && !screen.lasts()
        && let Err(error) = runtime.store().delete(session.id(), PointOfNoReturn::passed()).await
    {
        tracing::debug!("a session of commands alone stays: {error}");
    }
}

/// Cancels what runs and keeps it, by `end`.
async fn stop_at(stop: Stop, end: impl Future<Output = ()>, stops: &mut Stops, screen: &Screen) -> Failure {
    if stop == Stop::Interrupt {
        screen.remark("cancelling what runs: Ctrl-C once more quits at once");
    }
    tokio::select! {
        () = end => {}
        () = tokio::time::sleep(FAREWELL) => tracing::warn!("not everything that ran could be ended in time"),
        // Whoever asks once more does not want to wait for that.
        _ = stops.next() => {}
    }
    // What it can still show is shown, to whoever is there.
    let _ = screen.finish(Ok(Answer { stop: StopReason::Cancelled, fault: None }));
    stopped_by(stop)
}

fn stopped(why: &str) -> Failure {
    Failure::Told { exit: FAILED, message: format!("the turn has not ended well: {why}"), hint: None }
}

fn stopped_by(stop: Stop) -> Failure {
    let message = format!("the turn has not ended well: it was stopped by {}", stop.name());
    Failure::Told { exit: stop.exit_code(), message, hint: None }
}

/// The folder as the session is told of it.
pub(super) fn absolute(folder: PathBuf) -> Result<String, Failure> {
    let shown = folder.display().to_string();
    let unusable = |reason: &str| Failure::usage(format!("`{shown}` cannot be used as a folder: {reason}"));
    let path = std::path::absolute(&folder).map_err(|error| unusable(&error.to_string()))?;
    path.into_os_string().into_string().map_err(|_| unusable("its name is not Unicode"))
}
