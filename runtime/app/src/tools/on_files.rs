//! What the tools for files have in common: each gets one path among its arguments, and does something there.
//!
//! A tool of this kind is a [`FileTool`], which is written in terms of its own arguments; [`OnFiles`] makes a [`Tool`] of
//! it.

use std::marker::PhantomData;
use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, Roots, WorkspacePath};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::ToolSpec;
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{Location, ToolContent, ToolOutcome};
use acp_runtime_agent::workspace::{Found, Hit, Missed, Workspace};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::output::Capped;
use super::{one_line, title, unless_cancelled};

/// Where a tool looks when it is not told.
pub(super) fn everywhere() -> String {
    ".".to_owned()
}

/// A tool for files: what makes it another one than the rest.
pub(super) trait FileTool: Send + Sync + 'static {
    /// What the model gives.
    type Arguments: DeserializeOwned + Send + Sync;

    /// What the model is told.
    fn spec() -> &'static Arc<ToolSpec>;

    /// The path, as the model wrote it.
    fn path(arguments: &Self::Arguments) -> &str;

    /// What a call does at its path, at most.
    fn effects(path: &WorkspacePath) -> Vec<Effect>;

    /// How a call looks to a person.
    fn present(files: &Files, arguments: &Self::Arguments) -> Presentation;

    /// What a call would change, for the person who is asked. Nothing, unless it says otherwise.
    fn preview(
        call: &FileCall<'_, Self::Arguments>,
    ) -> impl Future<Output = Result<Vec<ToolContent>, ToolError>> + Send {
        let _ = call;
        async { Ok(Vec::new()) }
    }

    /// Does it. Dropped at any moment when the call is cancelled.
    fn run(call: &FileCall<'_, Self::Arguments>) -> impl Future<Output = Result<ToolOutcome, ToolError>> + Send;
}

/// One call of a tool for files.
pub(super) struct FileCall<'a, A> {
    /// The session's files.
    pub(super) files: &'a Files,
    /// Covers the tool's effects.
    pub(super) permit: &'a Permit,
    /// What the arguments name.
    pub(super) path: WorkspacePath,
    /// The arguments.
    pub(super) arguments: A,
}

impl<A> FileCall<'_, A> {
    /// The path as people and models read it.
    pub(super) fn spelled(&self) -> String {
        self.files.roots.spell(&self.path)
    }

    /// The path as clients read it.
    pub(super) fn displayed(&self) -> String {
        self.files.roots.display(&self.path)
    }

    /// The path, and a line there.
    pub(super) fn location(&self, line: Option<u32>) -> Location {
        self.files.location(&self.path, line)
    }

    /// The file's text.
    pub(super) async fn read(&self) -> Result<String, ToolError> {
        Ok(self.files.workspace.read(self.permit, &self.path).await?)
    }

    /// Writes the file.
    pub(super) async fn write(&self, text: &str) -> Result<(), ToolError> {
        Ok(self.files.workspace.write(self.permit, &self.path, text).await?)
    }
}

/// What a session lends to its tools for files.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) workspace: Arc<dyn Workspace>,
    pub(super) roots: Roots,
}

impl Files {
    /// A tool for these files.
    pub(super) fn tool<T: FileTool>(&self) -> Arc<dyn Tool> {
        Arc::new(OnFiles::<T> { files: self.clone(), tool: PhantomData })
    }

    /// A path, and a line there.
    pub(super) fn location(&self, path: &WorkspacePath, line: Option<u32>) -> Location {
        Location { path: self.roots.display(path), line }
    }

    /// What is told of a path, and where that is.
    pub(super) fn told(&self, path: &WorkspacePath, said: String) -> ToolOutcome {
        ToolOutcome { locations: vec![self.location(path, None)], ..ToolOutcome::text(said) }
    }

    /// A title such as ``Read `src/main.rs` `` and where that is; a path that cannot be read is shown as it was written.
    pub(super) fn titled(&self, verb: &str, path: &str) -> Presentation {
        match self.roots.resolve(path) {
            Ok(path) => Presentation {
                title: title(verb, &self.roots.spell(&path)),
                locations: vec![self.location(&path, None)],
                ..Presentation::default()
            },
            Err(_) => Presentation { title: title(verb, path), ..Presentation::default() },
        }
    }

    /// The hits as lines; `none` where there are none, `cut` for how many were shown where there are more, and what was
    /// not searched.
    pub(super) fn listed(&self, found: &Found, none: &str, cut: impl FnOnce(usize) -> String) -> ToolOutcome {
        let mut output = Capped::default();
        let fitted = found.hits.iter().take_while(|hit| output.push(&self.line(hit))).count();
        if found.hits.is_empty() {
            output.push(none);
        }
        let cut = (found.cut || fitted < found.hits.len()).then(|| cut(fitted));
        ToolOutcome::text(output.finish(cut.into_iter().chain(missed(&found.missed))))
    }

    fn line(&self, hit: &Hit) -> String {
        let path = self.roots.spell(&hit.path);
        match &hit.line {
            Some((number, text)) => format!("{path}:{number}:{text}"),
            None => path,
        }
    }
}

/// What was not searched, in a sentence; nothing where everything was.
fn missed(missed: &[Missed]) -> Option<String> {
    let shown = missed.iter().map(|Missed { reason, count, first }| {
        let such = if *count == 1 { "" } else { "such as " };
        format!("{count} ({reason}: {such}`{}`)", one_line(first))
    });
    (!missed.is_empty()).then(|| format!("not searched: {}", shown.collect::<Vec<_>>().join(", ")))
}

/// A tool for the files of one session.
struct OnFiles<T> {
    files: Files,
    tool: PhantomData<T>,
}

impl<T: FileTool> OnFiles<T> {
    fn call<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: &ToolArguments,
    ) -> Result<FileCall<'a, T::Arguments>, ToolError> {
        let arguments: T::Arguments = arguments.read()?;
        let path = self.files.roots.resolve(T::path(&arguments))?;
        Ok(FileCall { files: &self.files, permit, path, arguments })
    }
}

impl<T: FileTool> Tool for OnFiles<T> {
    fn spec(&self) -> &Arc<ToolSpec> {
        T::spec()
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(T::effects(&self.files.roots.resolve(T::path(&arguments.read()?))?))
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        arguments.read().map_or_else(|_| Presentation::default(), |arguments| T::present(&self.files, &arguments))
    }

    fn preview<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        async move { T::preview(&self.call(permit, arguments)?).await }.boxed()
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let call = self.call(permit, &arguments)?;
            unless_cancelled(&cancel, T::run(&call)).await
        }
        .boxed()
    }
}
