//! Who compiles: threads that the end of the process does not wait for.
//!
//! Compiling takes as long as it takes and cannot be stopped, so it is no task of an executor. A process may end in the
//! middle of it: what is kept of it is renamed into its place when it is whole. Knows nothing about what is compiled.
//! Tested beside the code, and by how fast the program ends.

use std::sync::{Arc, mpsc};
use std::thread::{Builder, available_parallelism};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::oneshot;

/// How they are called where threads are listed.
const NAME: &str = "plugin-compile";

/// Threads to compile on. Clones are the same threads.
#[derive(Clone)]
pub(crate) enum Crew {
    /// One of its own for each piece of work, which may use all processors: somebody waits for it.
    Awaited,
    /// A few of low priority, for what is made ready beforehand: a session that runs meanwhile is not held up.
    Ahead(Arc<ThreadPool>),
}

impl Crew {
    /// Threads for what nobody waits for yet. They end with the crew, and with what they were given.
    pub(crate) fn ahead() -> Self {
        let pool = ThreadPoolBuilder::new()
            .num_threads(few())
            .thread_name(|_| NAME.to_owned())
            .start_handler(|_| yield_to_others())
            // Whoever waits is told that nothing comes.
            .panic_handler(|_| {})
            .build();
        pool.map_or(Self::Awaited, |pool| Self::Ahead(Arc::new(pool)))
    }

    /// Whether nobody waits for its work yet.
    pub(crate) fn is_ahead(&self) -> bool {
        matches!(self, Self::Ahead(_))
    }

    /// Does `work`, whoever waits for it. Nothing comes where it panics or where there is no thread.
    pub(crate) fn does<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
        let (reply, done) = oneshot::channel();
        let work = move || {
            // Nobody may wait any more.
            let _ = reply.send(work());
        };
        match self {
            // What cannot be started drops the reply.
            Self::Awaited => drop(Builder::new().name(NAME.to_owned()).spawn(work)),
            Self::Ahead(pool) => pool.spawn(work),
        }
        done
    }
}

/// Waits for `work` as long as `most` by the clock on the wall, and no longer; none where it is not over by then.
pub(crate) async fn within<T>(most: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (expired, expires) = oneshot::channel::<()>();
    let (over, running) = mpsc::channel::<()>();
    let watch = move || {
        if running.recv_timeout(most) == Err(mpsc::RecvTimeoutError::Timeout) {
            // Whoever has waited may be gone.
            let _ = expired.send(());
        }
    };
    // Without a thread to watch, it takes as long as it takes.
    if Builder::new().name(NAME.to_owned()).spawn(watch).is_err() {
        return Some(work.await);
    }
    let done = tokio::select! {
        biased;
        done = work => Some(done),
        Ok(()) = expires => None,
    };
    drop(over);
    done
}

/// As many threads as leave the machine to others.
pub(crate) fn few() -> usize {
    let processors = available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(1, 4)
}

/// From now on this thread, and those that it starts, have a low priority: a thread's is its own there.
#[cfg(target_os = "linux")]
pub(crate) fn yield_to_others() {
    const NICE: i32 = 10;
    // Refused, it is as fast as the others.
    let _ = rustix::process::setpriority_process(None, NICE);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn yield_to_others() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_and_a_panic_is_no_answer() {
        for crew in [Crew::Awaited, Crew::ahead()] {
            assert_eq!(crew.does(|| 7).await, Ok(7));
            assert!(crew.does(|| -> u8 { std::panic::resume_unwind(Box::new("broken")) }).await.is_err());
            assert_eq!(crew.does(|| 8).await, Ok(8), "the next work is done all the same");
            let late = crew.does(|| 9);
            drop(crew);
            assert_eq!(late.await, Ok(9), "what was given is done");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_longer_than_they_want() {
        assert_eq!(within(Duration::from_secs(60), async { 7 }).await, Some(7));
        let begin = std::time::Instant::now();
        assert_eq!(within(Duration::from_millis(20), std::future::pending::<()>()).await, None);
        assert!(begin.elapsed() >= Duration::from_millis(20), "by the clock on the wall");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_those_ahead_yield_to_others() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let usual = priority();
        assert_eq!(Crew::Awaited.does(priority).await, Ok(usual));
        assert!(Crew::ahead().does(priority).await.unwrap() > usual);
        assert_eq!(priority(), usual);
    }
}
