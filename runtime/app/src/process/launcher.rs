//! The thread that starts programs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock, Weak, mpsc};

use tokio::sync::oneshot;

use super::program::{Input, Outputs, Program, StartError};
use super::running::{Output, Running};

/// Starts programs; cheap to clone. When the last one is dropped, all that it started is killed.
#[derive(Clone)]
pub struct Launcher(Arc<Inner>);

pub(super) struct Inner {
    executable: PathBuf,
    environment: BTreeMap<String, String>,
    /// The thread's mailbox, once there is a thread.
    orders: OnceLock<mpsc::Sender<Order>>,
}

/// Kept by programs, which do not keep their launcher alive.
pub(super) struct Registration {
    launcher: Weak<Inner>,
    leader: u32,
}

enum Order {
    Start { program: Box<Found>, threads: tokio::runtime::Handle, reply: oneshot::Sender<io::Result<Running>> },
    Over { leader: u32 },
}

/// A program whose file was found, with its whole environment.
struct Found {
    file: PathBuf,
    program: Program,
    environment: BTreeMap<String, String>,
    launcher: Weak<Inner>,
}

impl Launcher {
    /// A launcher whose programs get `environment` ([`super::BASE_VARIABLES`]), and which starts them through
    /// `executable` (see [`own_executable`]). Starts nothing yet.
    pub fn new(executable: PathBuf, environment: BTreeMap<String, String>) -> Self {
        Self(Arc::new(Inner { executable, environment, orders: OnceLock::new() }))
    }

    /// Starts a program. A dropped future starts nothing, or ends what was started.
    pub async fn start(&self, program: Program) -> Result<Running, StartError> {
        let name = program.program.clone();
        let failed = |source| StartError::System { program: name, source };
        let file = if program.itself { PathBuf::from(&program.program) } else { self.find(&program)? };
        let mut environment = if program.bare { BTreeMap::new() } else { self.0.environment.clone() };
        environment.extend(program.environment.iter().map(|(name, value)| (name.clone(), value.clone())));
        let launcher = Arc::downgrade(&self.0);
        self.begin(Found { file, program, environment, launcher }).await.map_err(failed)
    }

    /// The file that would be started. Starts nothing.
    pub fn find(&self, program: &Program) -> Result<PathBuf, StartError> {
        let search = program.environment.get("PATH").or_else(|| self.0.environment.get("PATH"));
        program.find(search.map(String::as_str))
    }

    async fn begin(&self, program: Found) -> io::Result<Running> {
        let gone = || io::Error::other("the thread that starts programs is gone");
        let (reply, started) = oneshot::channel();
        let input = program.program.input;
        let threads = tokio::runtime::Handle::current();
        self.orders()?.send(Order::Start { program: Box::new(program), threads, reply }).map_err(|_| gone())?;
        let mut running = started.await.map_err(|_| gone())??;
        // It is looked after now, and may become what it is to be.
        #[cfg(unix)]
        if let Some(stdin) = &mut running.input {
            use tokio::io::AsyncWriteExt as _;
            stdin.write_all(&[super::role::word(input)]).await?;
        }
        if input == Input::Nothing {
            running.input = None;
        }
        Ok(running)
    }

    /// The mailbox of the thread, which begins with the first order.
    fn orders(&self) -> io::Result<&mpsc::Sender<Order>> {
        if let Some(orders) = self.0.orders.get() {
            return Ok(orders);
        }
        let (orders, received) = mpsc::channel();
        let executable = self.0.executable.clone();
        std::thread::Builder::new().name("launcher".to_owned()).spawn(move || work(&executable, &received))?;
        // Of two that begin at the same moment one is kept; the other thread ends with its mailbox.
        Ok(self.0.orders.get_or_init(|| orders))
    }
}

impl Registration {
    pub(super) fn leader(&self) -> u32 {
        self.leader
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let launcher = self.launcher.upgrade();
        if let Some(orders) = launcher.as_ref().and_then(|launcher| launcher.orders.get()) {
            // A thread that is gone has ended everything.
            let _ = orders.send(Order::Over { leader: self.leader });
        }
    }
}

/// The binary that plays the roles: `program`, or else this one, even when its file was replaced meanwhile. Where its
/// file cannot be found, no program can be started, and each attempt says so.
pub fn own_executable(program: Option<&Path>) -> PathBuf {
    if let Some(program) = program {
        return program.to_owned();
    }
    let running = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() {
        return running;
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("acp-runtime"))
}

/// The thread's work, for as long as there is a launcher. The death signal of what it started follows its end.
fn work(executable: &Path, orders: &mpsc::Receiver<Order>) {
    #[cfg(unix)]
    let mut guardian = super::guardian::Guardian::default();
    for order in orders {
        match order {
            Order::Start { program, threads, reply } => {
                let _inside = threads.enter();
                let started = start(executable, *program);
                #[cfg(unix)]
                if let Some(leader) = started.as_ref().ok().and_then(Running::leader)
                    && let Err(error) = guardian.watch(leader, executable)
                {
                    tracing::warn!("no guardian looks after started programs, should this process be killed: {error}");
                }
                // Whoever gave the order may have gone, and with the answer goes what was started.
                let _ = reply.send(started);
            }
            #[cfg(unix)]
            Order::Over { leader } => guardian.forget(leader),
            #[cfg(not(unix))]
            Order::Over { .. } => {}
        }
    }
}

fn start(executable: &Path, found: Found) -> io::Result<Running> {
    let Found { file, program, environment, launcher } = found;
    let mut command = command(executable, &file, &program);
    command.args(&program.arguments).current_dir(&program.folder).env_clear().envs(environment);
    // On Unix the word to go on comes through the input, whatever follows.
    command.stdin(if cfg!(unix) || program.input == Input::Piped { Stdio::piped() } else { Stdio::null() });
    let (output, writer) = io::pipe()?;
    let errors = match program.outputs {
        Outputs::Joined => {
            command.stderr(writer.try_clone()?);
            None
        }
        Outputs::Apart => {
            let (errors, writer) = io::pipe()?;
            command.stderr(writer);
            Some(Output::new(errors)?)
        }
    };
    let output = Output::new(output)?;
    command.stdout(writer);
    let mut command = tokio::process::Command::from(command);
    let child = command.kill_on_drop(cfg!(not(unix))).spawn()?;
    let leader = child.id().ok_or_else(|| io::Error::other("it ended before it began"))?;
    Ok(Running::new(child, Registration { launcher, leader }, output, errors))
}

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn command(executable: &Path, file: &Path, program: &Program) -> Command {
    let mut command = Command::new(executable);
    command.arg(super::role::EXEC).args(super::role::words(&program.bounds, program.itself)).arg(file);
    command
}

#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn command(_executable: &Path, file: &Path, _program: &Program) -> Command {
    Command::new(file)
}
