//! `read_file`: a file's text, with line numbers.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::tool::{Presentation, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::{Excerpt, LineRange, WorkspaceError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::on_files::{FileCall, FileTool, Files};
use super::output::Capped;
use super::spec;

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
pub(super) struct Arguments {
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
pub(super) struct ReadFile;

impl FileTool for ReadFile {
    type Arguments = Arguments;

    fn spec() -> &'static Arc<ToolSpec> {
        &SPEC
    }

    fn path(arguments: &Arguments) -> &str {
        &arguments.path
    }

    fn effects(path: &WorkspacePath) -> Vec<Effect> {
        vec![Effect::Read(path.scope())]
    }

    fn present(files: &Files, arguments: &Arguments) -> Presentation {
        let Presentation { title, mut locations, .. } = files.titled("Read", &arguments.path);
        let title = match (arguments.start_line, arguments.end_line) {
            (0, 0) => title,
            (start, 0) => format!("{title} from line {start}"),
            (start, end) => format!("{title} (lines {}-{end})", start.max(1)),
        };
        if let Some(location) = locations.first_mut() {
            location.line = arguments.first_line();
        }
        Presentation { title, locations, ..Presentation::default() }
    }

    async fn run(call: &FileCall<'_, Arguments>) -> Result<ToolOutcome, ToolError> {
        let wanted = Wanted::of(&call.arguments)?;
        let excerpt = excerpt(call, wanted).await?;
        let locations = vec![call.location(call.arguments.first_line())];
        Ok(ToolOutcome { locations, ..ToolOutcome::text(numbered(&excerpt, wanted, &call.spelled())?) })
    }
}

impl Arguments {
    /// The first line, where one was named.
    fn first_line(&self) -> Option<u32> {
        Some(self.start_line).filter(|line| *line > 0)
    }
}

/// What is wanted of the file. Only a part is asked for as one: a whole file has a known end.
async fn excerpt(call: &FileCall<'_, Arguments>, wanted: Wanted) -> Result<Excerpt, ToolError> {
    if wanted.is_part {
        return Ok(call.files.workspace.read_lines(call.permit, &call.path, wanted.range()).await?);
    }
    match call.files.workspace.read(call.permit, &call.path).await {
        Ok(text) => Ok(Excerpt::of(&text, wanted.range())),
        // Its beginning can be had all the same.
        Err(WorkspaceError::TooLarge { .. }) => {
            Ok(call.files.workspace.read_lines(call.permit, &call.path, wanted.range()).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// The lines that the model wants, counted from 1.
#[derive(Clone, Copy)]
struct Wanted {
    start: u32,
    /// The last one, where it was named.
    end: Option<u32>,
    most: u32,
    /// Whether any of it was asked for.
    is_part: bool,
}

impl Wanted {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let Arguments { start_line, end_line, limit, path: _ } = *arguments;
        let start = start_line.max(1);
        let end = Some(end_line).filter(|end| *end > 0);
        if let Some(end) = end.filter(|end| *end < start) {
            let message = format!("`end_line` {end} is before `start_line` {start}");
            return Err(ToolError::to_model("invalid-args", message));
        }
        let limit = if limit == 0 { USUAL_LIMIT } else { limit };
        let most = end.map_or(limit, |end| limit.min((end - start).saturating_add(1)));
        Ok(Self { start, end, most, is_part: start_line > 1 || end_line > 0 || arguments.limit > 0 })
    }

    fn range(self) -> LineRange {
        LineRange { first: self.start, most: self.most }
    }
}

fn numbered(excerpt: &Excerpt, wanted: Wanted, path: &str) -> Result<String, ToolError> {
    let number = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let start = number(wanted.start);
    match excerpt.total {
        Some(0) => return Ok("(the file is empty)".to_owned()),
        Some(total) if start > total => {
            let message = format!("`start_line` is {start}, but `{path}` has {}", counted(total, "line"));
            return Err(ToolError::to_model("invalid-args", message));
        }
        Some(_) | None => {}
    }
    let mut output = Capped::default();
    for (number, line) in (start..).zip(excerpt.text.lines()) {
        if !output.push(&format!("{number:>6}\t{line}")) {
            break;
        }
    }
    let last = start + output.lines - 1;
    let end = [excerpt.total, wanted.end.map(number)].into_iter().flatten().min();
    let note = (end != Some(last)).then(|| {
        let of = excerpt.total.map_or(String::new(), |total| format!(" of {total}"));
        format!("lines {start}-{last}{of}: go on with start_line={}, or look for words with grep", last + 1)
    });
    Ok(output.finish(note))
}
