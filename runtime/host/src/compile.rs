//! Compiling components: the port for whoever does it where it can be ended, and the work itself.
//!
//! A component decides how long compiling it takes and how much memory that needs. An application does it in a process
//! of its own program, which it can kill, by [`Compiler`]; without one it is done in this process, where it can be given
//! up and not be ended. Knows nothing about processes. Tested in `tests/it/compiling.rs`.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::crew;
use crate::engine::{Allocation, precompile};
use crate::limits::show_bytes;

/// Compiles components.
///
/// What it gives is run as it is. So it must be what [`compile`] gave in a process of this very program, by a way that
/// nobody else can write to.
pub trait Compiler: Send + Sync {
    /// Compiles one, within its limits. A dropped future ends the work.
    fn compile(&self, work: CompileWork) -> BoxFuture<'static, Result<Vec<u8>, CompileError>>;
}

/// What is to be compiled, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileWork {
    /// The component.
    pub component: Vec<u8>,
    /// What the code is for, and how much it may hold others up.
    pub manner: CompileManner,
    /// How long it may take. Whoever asks gives up after that; it is told so that nothing goes on for longer.
    pub time: Duration,
    /// Bytes of memory that it may take.
    pub memory: u64,
}

/// How code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileManner {
    /// For an engine that takes its memory from reserved slots.
    pub slots: bool,
    /// Whether nobody waits for it yet, so that all else goes before it.
    pub ahead: bool,
}

/// Why a component was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It cannot be.
    #[error("the component cannot be compiled: {0}")]
    Invalid(String),
    /// It is too large to try.
    #[error("the component has {size} bytes, more than the {most} that are compiled (`limits.plugin.component`)")]
    TooLarge {
        /// What it has.
        size: u64,
        /// What it may have.
        most: u64,
    },
    /// It took too long.
    #[error("compiling it took longer than {0:?} (`limits.plugin.compile_seconds`)")]
    TooSlow(Duration),
    /// It took too much memory.
    #[error("compiling it took more memory than {} (`limits.plugin.compile_memory`)", show_bytes(*.0))]
    TooHungry(u64),
    /// Whoever compiles is broken; the text says how.
    #[error("the component was not compiled: {0}")]
    Broken(String),
}

impl CompileManner {
    pub(crate) fn allocation(self) -> Allocation {
        if self.slots { Allocation::Pool } else { Allocation::OnDemand }
    }
}

/// Compiles a component. Takes as long as that takes, on all processors, or where it is `ahead` on few and at low priority:
/// this is for a process that does nothing else.
pub fn compile(component: &[u8], manner: CompileManner) -> Result<Vec<u8>, CompileError> {
    if manner.ahead {
        crew::yield_to_others();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(crew::few());
        // Where there are some already, they are as few.
        let _ = threads.build_global();
    }
    compile_here(component, manner)
}

/// Compiles a component on this thread and those of its pool.
pub(crate) fn compile_here(component: &[u8], manner: CompileManner) -> Result<Vec<u8>, CompileError> {
    precompile(component, manner.allocation()).map_err(|error| CompileError::Invalid(crate::engine::told(&error)))
}
