//! The engine's epochs: a thread of its own that raises the epoch every 10 ms while any guest runs, and sleeps
//! otherwise. It is no task of an executor, so guests that keep all executor threads busy cannot stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use wasmtime::Engine;

/// The length of an epoch, and so the exactness of CPU deadlines.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The thread, and how many guests run.
#[derive(Debug)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    stopped: AtomicBool,
}

/// Keeps the clock going while it lives.
#[derive(Debug)]
pub(crate) struct Running(Arc<Shared>);

impl Clock {
    /// Starts the thread. It ends with the clock, and never keeps the engine.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (engine, seen) = (engine.weak(), shared.clone());
        let thread = std::thread::Builder::new().name("plugin-clock".to_owned()).spawn(move || {
            while !seen.stopped.load(Ordering::Acquire) {
                if seen.running.load(Ordering::Acquire) == 0 {
                    std::thread::park();
                    continue;
                }
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => return,
                }
                std::thread::sleep(TICK);
            }
        })?;
        Ok(Self { shared, thread: thread.thread().clone() })
    }

    /// Says that a guest runs, until the answer is dropped.
    pub(crate) fn run(&self) -> Running {
        if self.shared.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Running(self.shared.clone())
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}
