//! One call: an instance, its deadline and its end.
//!
//! By default a call has an instance of its own, which is gone afterwards. With `lifecycle = "session"` an instance is
//! kept warm between the calls of a session. In both cases a trap, a deadline or a cancellation ends the instance for
//! good: wasmtime never enters it again. Knows nothing about tools or panels. Tested by the hostile guests.

mod failure;
mod warm;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Store, UpdateDeadline};

pub(crate) use self::failure::CallError;
use self::warm::Kept;
pub(crate) use self::warm::WarmSeat;
use crate::bindings::{self, Exports, Guest, GuestError};
use crate::compile::CompileManner;
use crate::engine::{Allocation, HostEngine, told};
use crate::limits::Slots;
use crate::package::Digest;
use crate::scope::Mount;
use crate::state::{Call, PluginState};

/// The engine, and all that guests may import.
pub(crate) struct Sandbox {
    engine: HostEngine,
    linker: Linker<PluginState>,
}

/// A component that is ready to be instantiated.
pub(crate) struct Compiled {
    sandbox: Arc<Sandbox>,
    digest: Digest,
    component: InstancePre<PluginState>,
    exports: Exports,
}

/// What is done with an instance.
pub(crate) trait Work<T>:
    for<'a> FnOnce(&'a mut Guest, &'a Exports) -> BoxFuture<'a, Result<T, GuestError>> + Send + 'static
{
}

impl<T, F> Work<T> for F where
    F: for<'a> FnOnce(&'a mut Guest, &'a Exports) -> BoxFuture<'a, Result<T, GuestError>> + Send + 'static
{
}

impl Sandbox {
    /// Starts the engine, with room for instances of that size. Compiled code is kept in `cache`, where there is one.
    pub(crate) fn new(cache: Option<PathBuf>, widest: &Slots) -> Result<Self, CallError> {
        let engine = HostEngine::new(cache, widest).map_err(|error| CallError::Unusable(error.to_string()))?;
        let mut linker = Linker::new(engine.engine());
        bindings::link(&mut linker).map_err(|error| CallError::Unusable(format!("{error:#}")))?;
        Ok(Self { engine, linker })
    }

    /// The component that was compiled before, where that is kept. Not for async threads.
    pub(crate) fn kept(self: &Arc<Self>, digest: Digest) -> Option<Result<Compiled, CallError>> {
        self.engine.kept(digest).map(|component| self.link(&component, digest))
    }

    /// The component that was compiled just now. Not for async threads.
    pub(crate) fn take(self: &Arc<Self>, code: &[u8], digest: Digest) -> Result<Compiled, CallError> {
        let component = self
            .engine
            .take(code, digest)
            .map_err(|error| CallError::Unusable(format!("what was compiled cannot be used: {}", told(&error))))?;
        self.link(&component, digest)
    }

    /// How code for its instances is made.
    pub(crate) fn manner(&self, ahead: bool) -> CompileManner {
        CompileManner { slots: self.engine.allocation() == Allocation::Pool, ahead }
    }

    fn link(self: &Arc<Self>, component: &Component, digest: Digest) -> Result<Compiled, CallError> {
        let component = self.linker.instantiate_pre(component).map_err(|error| {
            CallError::Unusable(format!(
                "the component wants what this version does not offer: {} (acp-runtime {} offers `aar:host` 0.1.0 and \
                 WASI 0.2)",
                told(&error),
                env!("CARGO_PKG_VERSION"),
            ))
        })?;
        let exports = Exports::of(&component);
        if exports.is_empty() {
            return Err(CallError::Unusable(
                "the component exports none of `aar:tool/tool@0.1.0`, `aar:panel/panel@0.1.0`, \
                 `aar:command/command@0.1.0` and `aar:hooks/hooks@0.1.0`"
                    .to_owned(),
            ));
        }
        Ok(Compiled { sandbox: self.clone(), digest, component, exports })
    }
}

impl Compiled {
    /// Of the file that it was compiled from.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// Does `work` in an instance of its own, until it is done, trapped, out of time or cancelled.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        call: Call,
        mounts: Vec<Mount>,
        work: impl Work<T>,
    ) -> Result<T, CallError> {
        self.run_once(call, mounts, None, work).await.map(|(value, _)| value)
    }

    /// Does `work` in the instance that `seat` keeps warm, or in a new one that it keeps then. Where another call sits
    /// there, the work has an instance of its own.
    pub(crate) async fn run_warm<T: Send + 'static>(
        self: &Arc<Self>,
        call: Call,
        mounts: Vec<Mount>,
        seat: &WarmSeat,
        work: impl Work<T>,
    ) -> Result<T, CallError> {
        let Some(mut occupied) = seat.try_occupy() else {
            return self.run(call, mounts, work).await;
        };
        // A right that was taken back since ends the instance that still has the folder.
        let may_stay = |kept: &mut Kept| kept.mounts == mounts && kept.granted_folders() == call.granted_folders();
        let kept = occupied.take().and_then(|mut kept| may_stay(&mut kept).then_some(kept));
        let idle = call.limits.time.idle;
        let (value, kept) = self.run_once(call, mounts, kept, work).await?;
        if !self.sandbox.engine.is_crowded() {
            seat.keep(occupied, kept, idle);
        }
        Ok(value)
    }

    async fn run_once<T: Send + 'static>(
        self: &Arc<Self>,
        call: Call,
        mounts: Vec<Mount>,
        kept: Option<Kept>,
        work: impl Work<T>,
    ) -> Result<(T, Kept), CallError> {
        let (deadline, cancel, limits) = (call.deadline.clone(), call.cancel.clone(), call.limits.clone());
        let (compiled, thread) = (self.clone(), call.thread.clone());
        // As long as the guest computes, and not only as long as somebody waits for it: on a thread of its own it is at the
        // next tick that it ends.
        let running = self.sandbox.engine.clock().run();
        let working = thread.run(async move {
            let _running = running;
            let mut kept = match kept {
                Some(kept) => kept.enter(call).await,
                None => compiled.begin(call, mounts).await?,
            };
            kept.guest.store().set_epoch_deadline(1);
            match work(&mut kept.guest, &compiled.exports).await {
                Ok(value) => {
                    kept.leave();
                    Ok((value, kept))
                }
                Err(error) => Err(failure::of(error, kept.guest.state())),
            }
        });
        let cancelled = async {
            cancel.cancelled().await;
            tokio::time::sleep(limits.time.grace).await;
        };
        tokio::select! {
            biased;
            done = working => match done {
                _ if cancel.is_cancelled() => Err(CallError::Cancelled),
                Ok(done) => done,
                Err(error) => Err(CallError::Unusable(format!("there is no thread for a call with files: {error}"))),
            },
            () = cancelled => Err(CallError::Cancelled),
            () = deadline.expired() => Err(CallError::TimedOut(format!("it took longer than {:?}", deadline.whole()))),
        }
    }

    async fn begin(&self, call: Call, mounts: Vec<Mount>) -> Result<Kept, CallError> {
        let slot = self.sandbox.engine.slot().await;
        let (crossing, handles) = (call.crossing, call.handles);
        let state = PluginState::new(call, &mounts)
            .map_err(|error| CallError::Unusable(format!("a folder cannot be opened for the plugin: {error}")))?;
        let mut store = Store::new(self.sandbox.engine.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(crossing);
        store.set_max_component_handles(handles);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            let call = &mut store.data_mut().call;
            Ok(match call.ticks.checked_sub(1) {
                Some(left) => {
                    call.ticks = left;
                    UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))
                }
                None => UpdateDeadline::Interrupt,
            })
        });
        match self.component.instantiate_async(&mut store).await {
            Ok(instance) => Ok(Kept::new(Guest::new(store, instance), mounts, slot)),
            Err(error) => Err(failure::of(GuestError::Stopped(error), store.data_mut())),
        }
    }
}
