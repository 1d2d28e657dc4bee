//! Programs that are only played, and git where a test has one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use acp_runtime_agent::gate::Permit;
use acp_runtime_host::exec::{ProgramEnd, ProgramError, ProgramOutput, ProgramRun, Programs};
use futures::future::{BoxFuture, FutureExt};

/// Keeps what it is to run, and answers with its arguments.
#[derive(Default)]
pub struct Scripted {
    pub runs: Mutex<Vec<ProgramRun>>,
    running: AtomicUsize,
    /// The most that ran at the same time.
    pub most: AtomicUsize,
    /// What is done in the place of git.
    pub git: OnceLock<fn(&ProgramRun) -> ProgramOutput>,
}

impl Programs for Scripted {
    fn run<'a>(&'a self, _permit: &'a Permit, run: ProgramRun) -> BoxFuture<'a, Result<ProgramOutput, ProgramError>> {
        async move {
            self.most.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            if let Some(git) = self.git.get().filter(|_| run.line.program == "git") {
                return Ok(git(&run));
            }
            let stdout = run.arguments.join(" ").into_bytes();
            self.runs.lock().unwrap().push(run);
            Ok(ProgramOutput { end: ProgramEnd::Exited(0), stdout, stderr: Vec::new() })
        }
        .boxed()
    }
}
