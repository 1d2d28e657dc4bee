//! `read_file`: a file's text, with line numbers.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::output::Capped;
use super::{Files, spec, unless_cancelled};

/// How many lines are given without a `limit`.
const USUAL_LIMIT: u32 = 2000;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "read_file",
        "Read file",
        ToolKind::Read,
        "Reads a text file. Each line comes as its number, a tab and its text; number and tab are not part of the \
         file. Long files come in parts: give `start_line` to go on.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file: absolute, or relative to the session's first folder.
    path: String,
    /// The first line, counted from 1. By default the beginning.
    #[serde(default)]
    start_line: u32,
    /// The last line, included. By default the end.
    #[serde(default)]
    end_line: u32,
    /// At most so many lines; 2000 by default.
    #[serde(default)]
    limit: u32,
}

/// The tool.
pub(super) struct ReadFile(pub(super) Files);

impl Tool for ReadFile {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
        Ok(vec![Effect::Read(path.scope())])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        let (title, mut locations) = self.0.titled("Read", &arguments.path);
        let title = match (arguments.start_line, arguments.end_line) {
            (0, 0) => title,
            (start, 0) => format!("{title} from line {start}"),
            (start, end) => format!("{title} (lines {}-{end})", start.max(1)),
        };
        if let Some(location) = locations.first_mut() {
            location.line = Some(arguments.start_line).filter(|line| *line > 0);
        }
        Presentation { title, locations }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let arguments: Arguments = arguments.read()?;
            let path = self.0.roots.resolve(&arguments.path)?;
            let text = unless_cancelled(&cancel, self.0.workspace.read(permit, &path)).await?;
            let start = Some(arguments.start_line).filter(|line| *line > 0);
            let locations = vec![self.0.location(&path, start)];
            Ok(ToolOutcome { locations, ..ToolOutcome::text(numbered(&text, &arguments)?) })
        }
        .boxed()
    }
}

fn numbered(text: &str, arguments: &Arguments) -> Result<String, ToolError> {
    let total = text.lines().count();
    let number = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let start = number(arguments.start_line.max(1));
    let end = if arguments.end_line == 0 { total } else { number(arguments.end_line).min(total) };
    let limit = if arguments.limit == 0 { number(USUAL_LIMIT) } else { number(arguments.limit) };
    if total == 0 {
        return Ok("(the file is empty)".to_owned());
    }
    if start > total {
        let message = format!("`start_line` is {start}, but `{}` has {total} lines", arguments.path);
        return Err(ToolError::to_model("invalid-args", message));
    }
    if end < start {
        let message = format!("`end_line` {end} is before `start_line` {start}");
        return Err(ToolError::to_model("invalid-args", message));
    }
    let mut output = Capped::default();
    let wanted = (1..=end).zip(text.lines()).skip(start - 1).take(limit);
    for (number, line) in wanted {
        if !output.push(&format!("{number:>6}\t{line}")) {
            break;
        }
    }
    let last = start + output.lines - 1;
    let note = (last < end).then(|| {
        format!("lines {start}-{last} of {total}: go on with start_line={}, or look for words with grep", last + 1)
    });
    Ok(output.finish(note))
}
