//! Runs programs for plugins: found where nobody but the user can have put them, started with next to nothing.
//!
//! A program gets the variables that it was granted and those that say how to write texts, no input, and a working
//! folder that is held open. On Linux with Landlock it reads the session's folders and the system, writes at most in the
//! session's folders and a temporary one of its own, makes no connections and signals nobody outside. It is killed with all that it
//! started when its call ends. Knows nothing about plugins, rights or git. Tested over the real binary in
//! `tests/it/plugin_programs.rs`.

mod found;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, Roots};
use acp_runtime_agent::gate::Permit;
use acp_runtime_host::exec::{ProgramEnd, ProgramError, ProgramOutput, ProgramRun, Programs};
use futures::future::{BoxFuture, FutureExt as _};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;

use crate::process::{Bounds, Launcher, Output, Program, Running, StartError};
use crate::redaction::Redaction;
use found::FoundPrograms;

/// How long output is read on that somebody keeps open after the program has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Bytes that are read at once.
const CHUNK: usize = 16 * 1024;
/// Variables that every program gets, where they are set: how texts and times are written.
const TEXT_VARIABLES: [&str; 5] = ["LANG", "LC_ALL", "LC_CTYPE", "LANGUAGE", "TZ"];

/// What the programs of all plugins have in common. Cheap to clone.
#[derive(Clone)]
pub struct PluginPrograms(Arc<Shared>);

struct Shared {
    launcher: Launcher,
    /// The value of a variable of our own environment.
    variable: fn(&str) -> Option<String>,
    confinement: Confinement,
    /// How many run at once.
    slots: Semaphore,
    redaction: Redaction,
    found: FoundPrograms,
}

/// What plugins' programs are kept to, where the system can do that.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// Files and folders that they may read beside the session's and the system's.
    pub readable: Vec<PathBuf>,
    /// Whether they may make connections.
    pub network: bool,
    /// How many run at once; further ones wait.
    pub at_once: usize,
}

impl PluginPrograms {
    /// Nothing is started or looked for yet. `variable` reads our own environment.
    pub fn new(
        launcher: Launcher,
        variable: fn(&str) -> Option<String>,
        confinement: Confinement,
        redaction: Redaction,
    ) -> Self {
        let slots = Semaphore::new(confinement.at_once);
        let found = FoundPrograms::new(variable("PATH"));
        Self(Arc::new(Shared { launcher, variable, confinement, slots, redaction, found }))
    }

    /// The programs of a session with these folders.
    pub fn session(&self, roots: &Roots) -> Arc<dyn Programs> {
        let roots = roots.iter().map(|root| root.canonical.clone()).collect();
        Arc::new(SessionPrograms { shared: self.0.clone(), roots })
    }
}

struct SessionPrograms {
    shared: Arc<Shared>,
    /// The session's folders, without links.
    roots: Vec<PathBuf>,
}

impl Programs for SessionPrograms {
    fn run<'a>(&'a self, permit: &'a Permit, run: ProgramRun) -> BoxFuture<'a, Result<ProgramOutput, ProgramError>> {
        async move {
            let effect = Effect::Run(run.line.clone());
            if !permit.covers(&effect) {
                return Err(ProgramError::NoPermit(effect.to_string()));
            }
            let name = &run.line.program;
            let file = self.shared.found.find(name, &self.roots)?;
            let system = |error: String| ProgramError::System(name.clone(), error);
            let _slot = self.shared.slots.acquire().await.map_err(|error| system(error.to_string()))?;
            // Gone with all that is in it when the program is.
            let scratch = run.changes.then(scratch).transpose().map_err(|error| system(error.to_string()))?;
            let program = self.program(&run, &file, scratch.as_ref().map(TempDir::path));
            let running = self.shared.launcher.start(program).await.map_err(|error| match error {
                StartError::NotFound(_) | StartError::NotExecutable(_) => ProgramError::NotFound(name.clone()),
                StartError::NoFolder(_) | StartError::System { .. } => system(error.to_string()),
            })?;
            let finished = finish(running, &run).await;
            if let Err(error) = tokio::task::spawn_blocking(move || drop(scratch)).await {
                tracing::debug!("a program's temporary folder may be left: {error}");
            }
            let mut output = finished?;
            output.stdout = self.shared.redaction.without_known(output.stdout);
            output.stderr = self.shared.redaction.without_known(output.stderr);
            Ok(output)
        }
        .boxed()
    }
}

impl SessionPrograms {
    fn program(&self, run: &ProgramRun, file: &Path, scratch: Option<&Path>) -> Program {
        let variable = self.shared.variable;
        let named = TEXT_VARIABLES.into_iter().chain(run.inherit.iter().map(String::as_str));
        let mut environment: BTreeMap<String, String> =
            named.filter_map(|name| Some((name.to_owned(), variable(name)?))).collect();
        environment.extend([
            ("PATH".to_owned(), self.shared.found.search(&self.roots)),
            ("TERM".to_owned(), "dumb".to_owned()),
        ]);
        environment.extend(run.variables.clone());
        let mut writable = Vec::new();
        if let Some(scratch) = scratch {
            environment.insert("TMPDIR".to_owned(), scratch.display().to_string());
            writable.extend(self.roots.iter().cloned().chain([scratch.to_owned()]));
        }
        // A program's own files lie beside it, and what it is started by has one name or another.
        let beside = [Some(file.to_owned()), file.canonicalize().ok()].into_iter().flatten();
        let beside = beside.filter_map(|file| file.parent().map(Path::to_owned));
        let more = &self.shared.confinement.readable;
        let readable = self.roots.iter().cloned().chain(beside).chain(more.iter().cloned()).collect();
        Program {
            arguments: run.arguments.clone(),
            environment,
            bare: true,
            bounds: Bounds {
                writable: Some(writable),
                readable: Some(readable),
                offline: !self.shared.confinement.network,
                resources: None,
            },
            ..Program::new(file.display().to_string(), held(run))
        }
    }
}

/// A temporary folder that is one program's alone.
fn scratch() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("acp-runtime-").tempdir()
}

/// The folder by its handle: whatever stands at its path by now.
#[cfg(target_os = "linux")]
fn held(run: &ProgramRun) -> PathBuf {
    use std::os::fd::{AsFd as _, AsRawFd as _};
    PathBuf::from(format!("/proc/self/fd/{}", run.folder.as_fd().as_raw_fd()))
}

/// The folder as the system names it.
#[cfg(not(target_os = "linux"))]
fn held(run: &ProgramRun) -> PathBuf {
    run.path.clone()
}

/// Reads what it writes until its end. One that takes too long or writes too much is killed.
async fn finish(mut running: Running, run: &ProgramRun) -> Result<ProgramOutput, ProgramError> {
    let name = || run.line.program.clone();
    let system = |error: io::Error| ProgramError::System(name(), error.to_string());
    let (output, errors) = (running.output.take(), running.errors.take());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = {
        let reading =
            async { tokio::try_join!(take(output, &mut stdout, run.output), take(errors, &mut stderr, run.output)) };
        let mut reading = std::pin::pin!(reading);
        let work = async {
            tokio::select! {
                read = &mut reading => {
                    read?;
                    running.wait().await.map_err(Fault::System)
                }
                status = running.wait() => {
                    // Somebody who has left its group may hold the output open for ever.
                    if let Ok(read) = tokio::time::timeout(LAST_WORDS, &mut reading).await {
                        read?;
                    }
                    status.map_err(Fault::System)
                }
            }
        };
        tokio::time::timeout(run.time, work).await.unwrap_or(Err(Fault::Late))
    };
    let fault = match status {
        Ok(status) => return Ok(ProgramOutput { end: end(status), stdout, stderr }),
        Err(fault) => fault,
    };
    if let Err(error) = running.stop(Duration::ZERO).await {
        tracing::warn!("a program that was killed cannot be waited for: {error}");
    }
    Err(match fault {
        Fault::Late => ProgramError::TimedOut(name(), run.time),
        Fault::TooMuch => ProgramError::TooMuch(name(), run.output),
        Fault::System(error) => system(error),
    })
}

/// Why a program is not waited for any longer.
enum Fault {
    Late,
    TooMuch,
    System(io::Error),
}

/// Takes an output to its end, unless that is longer than `most`.
async fn take(output: Option<Output>, into: &mut Vec<u8>, most: usize) -> Result<(), Fault> {
    let Some(mut output) = output else { return Ok(()) };
    let mut chunk = vec![0; CHUNK];
    loop {
        let size = output.read(&mut chunk).await.map_err(Fault::System)?;
        if size == 0 {
            return Ok(());
        }
        if into.len() + size > most {
            return Err(Fault::TooMuch);
        }
        into.extend_from_slice(chunk.get(..size).unwrap_or_default());
    }
}

#[cfg(unix)]
fn end(status: ExitStatus) -> ProgramEnd {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramEnd::Exited(code),
        (None, signal) => ProgramEnd::Killed(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn end(status: ExitStatus) -> ProgramEnd {
    status.code().map_or(ProgramEnd::Killed(0), ProgramEnd::Exited)
}
