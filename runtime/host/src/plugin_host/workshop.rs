//! Where components are compiled, once for all who wait for it, or taken from where they are kept.
//!
//! Holds nothing but that, since its threads may outlive all else.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::future::{BoxFuture, FutureExt, Shared};

use crate::compile::{CompileError, CompileWork, Compiler, compile_here};
use crate::crew::{Crew, within};
use crate::instance::{CallError, Compiled, Sandbox};
use crate::limits::{Limits, Slots};
use crate::package::Digest;

/// What will be compiled, or why it will not be.
pub(super) type Compiling = Shared<BoxFuture<'static, Result<Arc<Compiled>, CallError>>>;

pub(super) struct Workshop {
    cache: Option<PathBuf>,
    /// The largest instances that there may be.
    widest: Slots,
    /// Who compiles; none where this process does.
    compiler: Option<Arc<dyn Compiler>>,
    sandbox: OnceLock<Result<Arc<Sandbox>, CallError>>,
}

impl Workshop {
    pub(super) fn new(cache: Option<PathBuf>, widest: Slots) -> Self {
        Self { cache, widest, compiler: None, sandbox: OnceLock::new() }
    }

    /// The same, in which `compiler` compiles.
    pub(super) fn with(&self, compiler: Arc<dyn Compiler>) -> Self {
        let (cache, widest) = (self.cache.clone(), self.widest.clone());
        Self { cache, widest, compiler: Some(compiler), sandbox: OnceLock::new() }
    }

    /// Begins to compile what `read` gives. It goes on whoever waits for it, until the executor ends.
    pub(super) fn begin(
        self: &Arc<Self>,
        crew: &Crew,
        limits: &Arc<Limits>,
        read: impl FnOnce() -> Result<(Vec<u8>, Digest), CallError> + Send + 'static,
    ) -> Compiling {
        let work = tokio::spawn(self.clone().make(crew.clone(), limits.clone(), read));
        async { work.await.unwrap_or_else(|_| Err(uncompiled())) }.boxed().shared()
    }

    async fn make(
        self: Arc<Self>,
        crew: Crew,
        limits: Arc<Limits>,
        read: impl FnOnce() -> Result<(Vec<u8>, Digest), CallError> + Send + 'static,
    ) -> Result<Arc<Compiled>, CallError> {
        let found = self.clone();
        let found = crew.does(move || -> Result<Found, CallError> {
            let (component, digest) = read()?;
            let sandbox = found.sandbox()?;
            Ok(match sandbox.kept(digest) {
                Some(kept) => Found::Kept(Arc::new(kept?)),
                None => Found::New { sandbox, component, digest },
            })
        });
        match found.await.map_err(|_| uncompiled())?? {
            Found::Kept(compiled) => Ok(compiled),
            Found::New { sandbox, component, digest } => {
                let code = self.compile(&crew, &limits, &sandbox, component).await?;
                let linked = crew.does(move || sandbox.take(&code, digest).map(Arc::new));
                linked.await.map_err(|_| uncompiled())?
            }
        }
    }

    /// Who makes it take too long or too much is not waited for.
    async fn compile(
        &self,
        crew: &Crew,
        limits: &Limits,
        sandbox: &Sandbox,
        component: Vec<u8>,
    ) -> Result<Vec<u8>, CompileError> {
        let (size, most) = (component.len() as u64, limits.space.component);
        if size > most {
            return Err(CompileError::TooLarge { size, most });
        }
        let (manner, time, memory) = (sandbox.manner(crew.is_ahead()), limits.time.compile, limits.space.compile);
        let compiled = if let Some(compiler) = &self.compiler {
            within(time, compiler.compile(CompileWork { component, manner, time, memory })).await
        } else {
            let here = crew.does(move || compile_here(&component, manner));
            let broken = || CompileError::Broken("the log says why, or there is no thread for it".to_owned());
            within(time, async { here.await.unwrap_or_else(|_| Err(broken())) }).await
        };
        compiled.unwrap_or(Err(CompileError::TooSlow(time)))
    }

    fn sandbox(&self) -> Result<Arc<Sandbox>, CallError> {
        self.sandbox.get_or_init(|| Sandbox::new(self.cache.clone(), &self.widest).map(Arc::new)).clone()
    }
}

/// A component on its way.
enum Found {
    Kept(Arc<Compiled>),
    New { sandbox: Arc<Sandbox>, component: Vec<u8>, digest: Digest },
}

fn uncompiled() -> CallError {
    CallError::Unusable("the component was not compiled: the log says why, or there is no thread for it".to_owned())
}
