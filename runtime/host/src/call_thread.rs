//! The thread that a call runs on: one of the executor's until the guest works with files, and from then on one of its
//! own, which may be kept waiting.
//!
//! A file operation takes as long as the disk takes, and the executor's threads serve all sessions. To hand over each one
//! costs two changes of threads, which is more than most of them take; so the whole call moves, once. It takes none of the
//! few threads on which others wait for the disk: a guest that holds files and sleeps, or waits for a person, would keep it
//! from them. Knows nothing about files. Tested beside the code, and by the guests that work with files.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use acp_runtime_agent::outbox::of_this_turn;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

const EXECUTOR: u8 = 0;
const WANTED: u8 = 1;
const OWN: u8 = 2;

/// What the threads are called.
const NAME: &str = "plugin-call";

/// What a call knows of its thread. Clones are of the same call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallThread(Arc<AtomicU8>);

impl CallThread {
    /// Whether the call is, or is to be, on a thread that may be kept waiting.
    pub(crate) fn leaves_executor(&self) -> bool {
        self.0.load(Ordering::Acquire) != EXECUTOR
    }

    /// Waits until the call is on a thread that may be kept waiting, and moves it there.
    pub(crate) fn may_block(&self) -> impl Future<Output = ()> + use<> {
        std::future::poll_fn({
            let place = self.0.clone();
            move |_| match place.compare_exchange(EXECUTOR, WANTED, Ordering::AcqRel, Ordering::Acquire) {
                Err(OWN) => Poll::Ready(()),
                // `run` sees it, and polls again from there.
                Ok(_) | Err(_) => Poll::Pending,
            }
        })
    }

    /// Runs the call to its end. Fails where there is no thread for it.
    pub(crate) async fn run<T: Send + 'static>(&self, call: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        let mut call: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(call);
        let here = |context: &mut Context<'_>| match call.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if self.leaves_executor() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        };
        if let Some(done) = std::future::poll_fn(here).await {
            return Ok(done);
        }
        let (place, runtime) = (self.0.clone(), Handle::current());
        // Whoever waits may stop waiting, whatever the thread waits for.
        let ended = CancellationToken::new();
        let _ends = ended.clone().drop_guard();
        let call = of_this_turn(async move { ended.run_until_cancelled(call).await }).in_current_span();
        let (tell, told) = oneshot::channel();
        std::thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            place.store(OWN, Ordering::Release);
            // Whoever waits has the panic; nobody may.
            let _ = tell.send(catch_unwind(AssertUnwindSafe(|| runtime.block_on(call))));
        })?;
        match told.await {
            Ok(Ok(Some(done))) => Ok(done),
            Ok(Err(panic)) => resume_unwind(panic),
            // The thread sends, whatever happens, and `ended` is ours.
            Ok(Ok(None)) | Err(_) => Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_call_moves_when_it_wants_to_and_only_then() {
        let id = || std::thread::current().id();
        let (thread, before) = (CallThread::default(), id());
        assert_eq!(thread.run(async move { id() }).await.unwrap(), before, "what has no files stays");
        let moved = thread.clone();
        let call = async move {
            moved.may_block().await;
            moved.may_block().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            id()
        };
        assert_ne!(thread.run(call).await.unwrap(), before);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_stops_waiting_does_not_wait_for_the_thread() {
        let (thread, (release, held)) = (CallThread::default(), std::sync::mpsc::channel::<()>());
        let (dropped, is_dropped) = tokio::sync::oneshot::channel::<()>();
        let moved = thread.clone();
        let call = thread.run(async move {
            let _dropped = dropped;
            moved.may_block().await;
            // A disk that does not answer.
            let _ = held.recv();
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
        drop(release);
        assert!(is_dropped.await.is_err(), "when the disk answers, the call is gone");
    }

    #[tokio::test]
    async fn a_panic_stays_one() {
        let thread = CallThread::default();
        let moved = thread.clone();
        let call = tokio::spawn(async move {
            let call = async move {
                moved.may_block().await;
                std::panic::resume_unwind(Box::new("broken"));
            };
            thread.run::<()>(call).await
        });
        assert!(call.await.is_err_and(|error| error.is_panic()));
    }
}
