//! Plugins are compiled by this program once more, in a process that can be ended: it has an end of memory and of time,
//! may write no file, and ends with this one whatever happens.
//!
//! The component goes in by its input, and the code comes out by its output; nobody else has the other ends. What is said
//! on the way is the reason why there is no code.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use acp_runtime_host::compile::{CompileError, CompileManner, CompileWork, Compiler, compile};
use acp_runtime_host::plugin_host::PluginHost;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use crate::process::{Bounds, Capture, Input, Launcher, Program, Resources, Running};

/// The role.
const COMPILE: &str = "__compile";
/// Its argument for engines with slots.
const SLOTS: &str = "--slots";
/// Its argument for what nobody waits for yet.
const AHEAD: &str = "--ahead";

/// Bytes of code that are taken: as many as the cache has room for.
const MOST_CODE: u64 = 1 << 30;
/// Bytes of the reason that are kept.
const REASON: usize = 4 << 10;

/// Compiles by processes that `launcher` starts.
struct Apart {
    launcher: Launcher,
    /// Each may take all of its memory.
    turns: Arc<Semaphore>,
}

/// The host, for which this program compiles in processes of their own, where it can keep them to something.
pub(super) fn apart(host: Arc<PluginHost>, launcher: &Launcher) -> Arc<PluginHost> {
    if cfg!(not(unix)) {
        return host;
    }
    let turns = Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from)));
    host.compiled_by(Arc::new(Apart { launcher: launcher.clone(), turns }))
}

impl Compiler for Apart {
    fn compile(&self, work: CompileWork) -> BoxFuture<'static, Result<Vec<u8>, CompileError>> {
        let (launcher, turns) = (self.launcher.clone(), self.turns.clone());
        async move {
            let _turn = turns.acquire().await;
            let CompileWork { component, manner, time, memory } = work;
            let program = program(manner, time, memory);
            let running = launcher.start(program).await.map_err(|error| CompileError::Broken(error.to_string()))?;
            let ended = exchange(running, &component).await.map_err(|error| CompileError::Broken(error.to_string()))?;
            read(ended, time, memory)
        }
        .boxed()
    }
}

fn program(manner: CompileManner, time: Duration, memory: u64) -> Program {
    let arguments = [(manner.slots, SLOTS), (manner.ahead, AHEAD)];
    let processors = available_parallelism().map_or(1, |count| count.get() as u64);
    // Should nobody end it in time, it ends itself.
    let processor = (time.as_secs() + 1).saturating_mul(processors);
    Program {
        arguments: arguments.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_owned()).collect(),
        bare: true,
        input: Input::Piped,
        bounds: Bounds {
            writable: Some(Vec::new()),
            readable: Some(Vec::new()),
            offline: true,
            resources: Some(Resources { memory, processor }),
        },
        ..Program::itself(COMPILE, std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")))
    }
}

/// What came out of it.
struct Ended {
    status: ExitStatus,
    code: Vec<u8>,
    reason: String,
}

async fn exchange(mut running: Running, component: &[u8]) -> io::Result<Ended> {
    let (input, output, errors) = (running.input.take(), running.output.take(), running.errors.take());
    let feed = async {
        if let Some(mut input) = input {
            // It may have ended over what it has read so far.
            let _ = input.write_all(component).await;
        }
    };
    let mut code = Vec::new();
    let read = async {
        match output {
            Some(output) => output.take(MOST_CODE + 1).read_to_end(&mut code).await.map(drop),
            None => Ok(()),
        }
    };
    let mut reason = Capture::new(REASON);
    let listen = async {
        match errors {
            Some(mut errors) => reason.read(&mut errors).await,
            None => Ok(()),
        }
    };
    let ((), read, heard) = tokio::join!(feed, read, listen);
    read.and(heard)?;
    if code.len() as u64 > MOST_CODE {
        return Err(io::Error::other(format!("there are more than {MOST_CODE} bytes of code")));
    }
    Ok(Ended { status: running.wait().await?, code, reason: reason.text() })
}

/// How it ended tells what it had too little of: it says nothing any more then, or what the allocator says.
fn read(ended: Ended, time: Duration, memory: u64) -> Result<Vec<u8>, CompileError> {
    let Ended { status, code, reason } = ended;
    match status.code() {
        Some(0) => Ok(code),
        _ if out_of_memory(&reason) => Err(CompileError::TooHungry(memory)),
        Some(1) => Err(CompileError::Invalid(reason)),
        _ if out_of_time(status) => Err(CompileError::TooSlow(time)),
        _ => Err(CompileError::Broken(format!("{status}: {}", acp_runtime_agent::plain::line(&reason, 200)))),
    }
}

fn out_of_memory(reason: &str) -> bool {
    // Those of Rust's allocator, and of the system where memory is mapped and where a thread gets its stack.
    let words = ["memory allocation of ", "Cannot allocate memory", "Resource temporarily unavailable"];
    words.iter().any(|words| reason.contains(words))
}

#[cfg(unix)]
fn out_of_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn out_of_time(_status: ExitStatus) -> bool {
    false
}

/// Plays a role of this binary that [`process`](crate::process) knows nothing about.
pub fn play(role: &OsStr, arguments: &[OsString]) -> ExitCode {
    let is = |word: &str| arguments.iter().any(|argument| argument == word);
    let manner = CompileManner { slots: is(SLOTS), ahead: is(AHEAD) };
    let made = if role == COMPILE { make(manner) } else { Err(format!("there is no role `{}`", role.display())) };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // Whoever started us reads why.
            let _ = io::stderr().write_all(reason.as_bytes());
            ExitCode::FAILURE
        }
    }
}

/// From the component at our input to the code at our output.
fn make(manner: CompileManner) -> Result<(), String> {
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component).map_err(|error| error.to_string())?;
    let code = compile(&component, manner).map_err(|error| match error {
        CompileError::Invalid(reason) => reason,
        other => other.to_string(),
    })?;
    io::stdout().lock().write_all(&code).map_err(|error| error.to_string())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn how_it_ended_says_why_there_is_no_code() {
        let told = |raw: i32, reason: &str| {
            let ended = Ended { status: ExitStatus::from_raw(raw), code: b"code".to_vec(), reason: reason.to_owned() };
            match read(ended, Duration::from_secs(3), 64 << 20) {
                Ok(code) => String::from_utf8(code).unwrap(),
                Err(error) => error.to_string(),
            }
        };
        let memory = "compiling it took more memory than 64 MiB (`limits.plugin.compile_memory`)";
        for (raw, reason, expected) in [
            (0, "", "code"),
            (1 << 8, "unexpected end", "the component cannot be compiled: unexpected end"),
            (6, "memory allocation of 100 bytes failed", memory),
            (24, "", "compiling it took longer than 3s (`limits.plugin.compile_seconds`)"),
            (9, "", "the component was not compiled: signal: 9 (SIGKILL): "),
            (
                126 << 8,
                "could not be executed",
                "the component was not compiled: exit status: 126: could not be executed",
            ),
        ] {
            assert_eq!(told(raw, reason), expected, "{raw}");
        }
    }
}
