//! `edit_file`: pieces of a file replaced by others, all of them or none.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::{Presentation, ToolError};
use acp_runtime_agent::transcript::{ToolContent, ToolOutcome, change};
use schemars::JsonSchema;
use serde::Deserialize;

use super::line_ends::LineEnds;
use super::near_miss::near_miss;
use super::on_files::{FileCall, FileTool, Files};
use super::spec;

/// Edits of one call.
const MOST_EDITS: usize = 100;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "edit_file",
        "Edit file",
        ToolKind::Edit,
        "Replaces `old_string` in a file by `new_string`. `old_string` must be in the file exactly once, character by \
         character, indentation included and without the line numbers of read_file; give lines around it until it is \
         unique, or set `replace_all`. For several changes of one file give `edits` in their place: each is made in what \
         the one before left, and if one cannot be made none is.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file: absolute, or relative to the session's first folder.
    path: String,
    /// The text to replace.
    #[serde(default)]
    old_string: String,
    /// What stands there afterwards.
    #[serde(default)]
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
    /// Several changes, in their order; at most 100.
    #[serde(default)]
    edits: Vec<Piece>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Piece {
    /// The text to replace.
    old_string: String,
    /// What stands there afterwards.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

/// The tool.
pub(super) struct EditFile;

impl FileTool for EditFile {
    type Arguments = Arguments;

    fn spec() -> &'static Arc<ToolSpec> {
        &SPEC
    }

    fn path(arguments: &Arguments) -> &str {
        &arguments.path
    }

    fn effects(path: &WorkspacePath) -> Vec<Effect> {
        vec![Effect::Read(path.scope()), Effect::Write(path.scope())]
    }

    fn present(files: &Files, arguments: &Arguments) -> Presentation {
        files.titled("Edit", &arguments.path)
    }

    /// An edit that cannot be made fails here, before a person is asked.
    async fn preview(call: &FileCall<'_, Arguments>) -> Result<Vec<ToolContent>, ToolError> {
        let old = call.read().await?;
        let edit = edited(&old, &call.arguments)?;
        Ok(vec![change(call.displayed(), Some(&old), &edit.text)])
    }

    async fn run(call: &FileCall<'_, Arguments>) -> Result<ToolOutcome, ToolError> {
        let old = call.read().await?;
        let edit = edited(&old, &call.arguments)?;
        call.write(&edit.text).await?;
        let mut outcome = ToolOutcome::text(format!("Edited `{}` at {}", call.spelled(), enumerated(&edit.lines)));
        outcome.content.push(change(call.displayed(), Some(&old), &edit.text));
        let first = edit.lines.first().and_then(|line| u32::try_from(*line).ok());
        outcome.locations = vec![call.location(first)];
        Ok(outcome)
    }
}

impl Arguments {
    /// What is to be replaced, in order.
    fn pieces(&self) -> Result<Vec<Piece>, ToolError> {
        let Self { path: _, old_string, new_string, replace_all, edits } = self;
        let one = !old_string.is_empty() || !new_string.is_empty();
        match (one, edits.len()) {
            (true, 0) => Ok(vec![Piece {
                old_string: old_string.clone(),
                new_string: new_string.clone(),
                replace_all: *replace_all,
            }]),
            (false, 0) => Err(invalid("give `old_string` and `new_string`, or several of them in `edits`".to_owned())),
            (false, 1..=MOST_EDITS) => Ok(edits.clone()),
            (true, _) => Err(invalid("give `old_string` and `new_string`, or `edits`, but not both".to_owned())),
            (false, count) => Err(invalid(format!("{count} edits are too many for one call: at most {MOST_EDITS}"))),
        }
    }
}

struct Edit {
    text: String,
    /// Where the pieces stood, counted from 1, each in what the edit before had left.
    lines: Vec<usize>,
}

fn edited(text: &str, arguments: &Arguments) -> Result<Edit, ToolError> {
    let pieces = arguments.pieces()?;
    let path = plain::name(&arguments.path);
    let mut edit = Edit { text: text.to_owned(), lines: Vec::new() };
    for (number, piece) in (1..).zip(&pieces) {
        let done = replaced(&edit.text, piece, &path).map_err(|error| match error {
            ToolError::ToModel { kind, message, hint } if pieces.len() > 1 => {
                let nothing = "nothing was changed";
                ToolError::to_model(kind, format!("edit {number} of {} ({nothing}): {message}", pieces.len()))
                    .hints(hint)
            }
            error => error,
        })?;
        edit.text = done.text;
        edit.lines.extend(done.lines);
    }
    Ok(edit)
}

fn replaced(text: &str, piece: &Piece, path: &str) -> Result<Edit, ToolError> {
    let Piece { old_string, new_string, replace_all } = piece;
    if old_string.is_empty() {
        return Err(invalid("`old_string` is empty: to write a whole file use write_file".to_owned()));
    }
    if old_string == new_string {
        return Err(invalid("`old_string` and `new_string` are the same: nothing would change".to_owned()));
    }
    let ends = LineEnds::of(text);
    let (old, new) = (ends.put_into(old_string), ends.put_into(new_string));
    let lines = lines_of(text, &old);
    match lines.len() {
        0 => Err(ToolError::to_model(
            "not-found",
            format!("`old_string` is not in `{path}`: {}", near_miss(text, old_string)),
        )),
        1 => Ok(Edit { text: text.replacen(&*old, &new, 1), lines }),
        _ if *replace_all => Ok(Edit { text: text.replace(&*old, &new), lines }),
        count => Err(invalid(format!(
            "`old_string` is in `{path}` {count} times, at {}: give lines around it until it is unique, or set \
             `replace_all`",
            enumerated(&lines)
        ))),
    }
}

fn invalid(message: String) -> ToolError {
    ToolError::to_model("invalid-args", message)
}

/// The lines at which `piece` begins, counted from 1.
fn lines_of(text: &str, piece: &str) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    text.match_indices(piece)
        .map(|(at, _)| {
            line += text.get(counted..at).unwrap_or("").matches('\n').count();
            counted = at;
            line
        })
        .collect()
}

fn enumerated(lines: &[usize]) -> String {
    const MOST: usize = 10;
    let shown: Vec<String> = lines.iter().take(MOST).map(ToString::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let more = if lines.len() > MOST { ", …" } else { "" };
    format!("{noun} {}{more}", shown.join(", "))
}
