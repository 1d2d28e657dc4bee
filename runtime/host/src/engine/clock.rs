//! The engine's epochs: a thread of its own that raises the epoch every 10 ms while any guest runs, and sleeps
//! otherwise. It is no task of an executor, so guests that keep all executor threads busy cannot stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use wasmtime::Engine;

/// The length of an epoch, and so the exactness of CPU deadlines.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The thread, and how many guests run.
#[derive(Debug)]
pub(crate) struct Clock {
    running: Arc<AtomicUsize>,
    thread: Thread,
}

/// Keeps the clock going while it lives.
#[derive(Debug)]
pub(crate) struct Running(Arc<AtomicUsize>);

impl Clock {
    /// Starts the thread. It ends after the engine.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let running = Arc::new(AtomicUsize::new(0));
        let (engine, counter) = (engine.weak(), running.clone());
        let thread = std::thread::Builder::new().name("plugin-clock".to_owned()).spawn(move || {
            // Only while the engine lives; woken when a first guest begins to run.
            while let Some(engine) = engine.upgrade() {
                if counter.load(Ordering::Acquire) == 0 {
                    drop(engine);
                    std::thread::park_timeout(100 * TICK);
                } else {
                    engine.increment_epoch();
                    drop(engine);
                    std::thread::sleep(TICK);
                }
            }
        })?;
        Ok(Self { running, thread: thread.thread().clone() })
    }

    /// Says that a guest runs, until the answer is dropped.
    pub(crate) fn run(&self) -> Running {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Running(self.running.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
