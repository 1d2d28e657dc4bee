//! `acp-runtime run`: one prompt without a person. The exit code says whether what was asked for was done: a slash
//! command or a `/call` that failed counts, and so does a turn that did not end well; a tool that the model called and
//! that failed does not, since the model went on from there.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::session::{SessionFactory, SessionHandle, SessionRequest};
use acp_runtime_agent::store::SessionSetup;
use acp_runtime_agent::transcript::{Part, StopReason};

use super::arguments::RunArguments;
use super::failure::{FAILED, Failure};
use super::headless::Headless;
use crate::process::{Stop, Stops};

/// Bytes of a prompt from stdin.
const MOST: u64 = 16 << 20;
/// How long what runs may take to end when the process is asked to stop; it is gone within 2 s.
const FAREWELL: Duration = Duration::from_millis(900);

pub(super) async fn command(factory: Arc<dyn SessionFactory>, arguments: RunArguments) -> Result<ExitCode, Failure> {
    let cwd = absolute(arguments.cwd.unwrap_or_else(|| PathBuf::from(".")))?;
    let text = prompt(arguments.prompt)?;
    let headless = Arc::new(Headless::new(arguments.allow, arguments.json));
    let screen = headless.screen().clone();
    let setup = SessionSetup { cwd, additional: Vec::new(), system_prompt: None };
    let request = SessionRequest { setup, servers: Vec::new(), face: headless };
    let mut stops = Stops::listen().map_err(|error| Failure::new(format!("no signals can be heard: {error}")))?;
    let session = tokio::select! {
        session = factory.create(request) => session?,
        stop = stops.next() => return Err(stopped_by(stop)),
    };

    let mut answer = session.prompt(vec![Part::Text { text }]);
    let outcome = loop {
        tokio::select! {
            outcome = &mut answer => break outcome,
            stop = stops.next() => {
                end(&session, &mut stops).await;
                // What it can still show is shown, to whoever is there.
                let _ = screen.finish();
                return Err(stopped_by(stop));
            }
            () = screen.closed() => session.cancel(),
        }
    };
    session.close().await;
    let done = screen.finish()?;
    match outcome? {
        StopReason::EndTurn if done => Ok(ExitCode::SUCCESS),
        // Why, was told already.
        StopReason::EndTurn => Ok(ExitCode::from(FAILED)),
        StopReason::MaxTokens => Err(stopped("the answer reached the model's limit of tokens")),
        StopReason::MaxTurnRequests => {
            Err(stopped("it reached `limits.model_requests`").hint("raise it in the configuration, or split the task"))
        }
        StopReason::Refusal => Err(stopped("the model refuses to go on")),
        StopReason::Cancelled => Err(stopped("it was cancelled")),
    }
}

fn stopped(why: &str) -> Failure {
    Failure::Told { exit: FAILED, message: format!("the turn has not ended well: {why}"), hint: None }
}

fn stopped_by(stop: Stop) -> Failure {
    let message = format!("the turn has not ended well: it was stopped by {}", stop.name());
    Failure::Told { exit: stop.exit_code(), message, hint: None }
}

/// Cancels what runs and keeps it. Whoever asks once more does not want to wait for that.
async fn end(session: &SessionHandle, stops: &mut Stops) {
    tokio::select! {
        () = session.close() => {}
        () = tokio::time::sleep(FAREWELL) => tracing::warn!("not everything that ran could be ended in time"),
        _ = stops.next() => {}
    }
}

fn prompt(argument: String) -> Result<String, Failure> {
    let text = if argument == "-" { from_stdin()? } else { argument };
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").hint("write it as the last argument, or `-` to read stdin"));
    }
    Ok(text)
}

fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().take(MOST + 1).read_to_string(&mut text);
    match read {
        Ok(size) if size as u64 > MOST => Err(Failure::usage(format!("the prompt has more than {MOST} bytes"))),
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::usage(format!("the prompt cannot be read from stdin: {error}"))),
    }
}

/// The folder as the session is told of it.
pub(super) fn absolute(folder: PathBuf) -> Result<String, Failure> {
    let shown = folder.display().to_string();
    let unusable = |reason: &str| Failure::usage(format!("`{shown}` cannot be used as a folder: {reason}"));
    let path = std::path::absolute(&folder).map_err(|error| unusable(&error.to_string()))?;
    path.into_os_string().into_string().map_err(|_| unusable("its name is not Unicode"))
}
