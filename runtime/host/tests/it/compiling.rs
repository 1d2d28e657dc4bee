//! Whoever compiles for the host: what they are told, and what becomes of those who take too long or give no code.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use acp_runtime_host::compile::{CompileError, CompileManner, CompileWork, Compiler, compile};
use acp_runtime_host::limits::Limits;
use acp_runtime_host::plugin_host::PluginHost;
use futures::future::{BoxFuture, FutureExt};
use serde_json::json;

use crate::support::{Runtime, told};

/// Compiles as it is told to, and keeps what it was to do.
#[derive(Default)]
struct Foreman {
    works: Mutex<Vec<CompileWork>>,
    answer: Mutex<Option<Result<Vec<u8>, CompileError>>>,
    /// It never answers; how many are still at it.
    hangs: AtomicBool,
    busy: Arc<AtomicUsize>,
}

struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Compiler for Foreman {
    fn compile(&self, work: CompileWork) -> BoxFuture<'static, Result<Vec<u8>, CompileError>> {
        self.works.lock().unwrap().push(work.clone());
        self.busy.fetch_add(1, Ordering::SeqCst);
        let busy = Busy(self.busy.clone());
        let (hangs, answer) = (self.hangs.load(Ordering::SeqCst), self.answer.lock().unwrap().clone());
        async move {
            let _busy = busy;
            if hangs {
                std::future::pending::<()>().await;
            }
            answer.unwrap_or_else(|| compile(&work.component, CompileManner { ahead: false, ..work.manner }))
        }
        .boxed()
    }
}

fn runtime(cache: Option<&Path>, limits: Limits, foreman: &Arc<Foreman>) -> Runtime {
    let mut runtime = Runtime::new();
    let ports = crate::support::ports(&runtime.map, &runtime.secrets);
    runtime.host = PluginHost::new(cache.map(Path::to_owned), limits, ports).compiled_by(foreman.clone());
    runtime
}

async fn call(runtime: &Runtime) -> Result<String, String> {
    runtime.run("echo", "", json!({ "a": 1 })).await.map_err(|error| told(&error).1.to_owned())
}

#[tokio::test]
async fn a_component_is_compiled_once_and_with_its_limits() {
    let (folder, foreman) = (tempfile::TempDir::new().unwrap(), Arc::<Foreman>::default());
    let cache = folder.path().join("compiled");
    let mut limits = Limits::default();
    limits.space.compile = 300 << 20;
    limits.time.compile = Duration::from_secs(100);
    for host in 0..2 {
        let runtime = runtime(Some(&cache), limits.clone(), &foreman);
        assert_eq!(call(&runtime).await.unwrap(), r#"{"a":1}"#);
        let works = foreman.works.lock().unwrap();
        assert_eq!(works.len(), 1, "host {host} finds what the first has kept");
        assert_eq!((works[0].memory, works[0].time), (300 << 20, Duration::from_secs(100)));
        assert!(!works[0].manner.ahead, "somebody waits for it");
    }
    let runtime = runtime(None, limits, &foreman);
    runtime.host.warm(&[runtime.plugin("echo", "")]).await;
    assert!(foreman.works.lock().unwrap().pop().unwrap().manner.ahead);
}

/// Nobody waits for longer than it may take, nothing goes on behind that, and nothing of it is kept.
#[tokio::test]
async fn a37_who_does_not_come_to_an_end_is_ended() {
    let (folder, foreman) = (tempfile::TempDir::new().unwrap(), Arc::<Foreman>::default());
    let cache = folder.path().join("compiled");
    let mut limits = Limits::default();
    limits.time.compile = Duration::from_millis(50);
    foreman.hangs.store(true, Ordering::SeqCst);
    let runtime = runtime(Some(&cache), limits, &foreman);
    let why = "compiling it took longer than 50ms (`limits.plugin.compile_seconds`)";
    assert_eq!(call(&runtime).await.unwrap_err(), why);
    assert_eq!(foreman.busy.load(Ordering::SeqCst), 0);
    assert!(!cache.exists());
}

#[tokio::test]
async fn what_is_no_code_is_an_error_of_the_call() {
    let foreman = Arc::<Foreman>::default();
    let runtime = runtime(None, Limits::default(), &foreman);
    for (answer, told) in [
        (Err(CompileError::TooHungry(64 << 20)), "compiling it took more memory than 64 MiB"),
        (Err(CompileError::Broken("it is broken".to_owned())), "the component was not compiled: it is broken"),
        (Err(CompileError::Invalid("it is empty".to_owned())), "the component cannot be compiled: it is empty"),
        (Ok(b"not code".to_vec()), "what was compiled cannot be used: "),
        (Ok(Vec::new()), "what was compiled cannot be used: "),
    ] {
        *foreman.answer.lock().unwrap() = Some(answer);
        let problem = call(&runtime).await.unwrap_err();
        assert!(problem.starts_with(told), "{problem}");
    }
    *foreman.answer.lock().unwrap() = None;
    assert_eq!(call(&runtime).await.unwrap(), r#"{"a":1}"#);
}
