//! `edit_file`: one piece of a file replaced by another.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::{Presentation, ToolError};
use acp_runtime_agent::transcript::{ToolContent, ToolOutcome, change};
use schemars::JsonSchema;
use serde::Deserialize;

use super::near_miss::near_miss;
use super::on_files::{FileCall, FileTool, Files};
use super::spec;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "edit_file",
        "Edit file",
        ToolKind::Edit,
        "Replaces `old_string` in a file by `new_string`. `old_string` must be in the file exactly once, character by \
         character, indentation included and without the line numbers of read_file; give lines around it until it is \
         unique, or set `replace_all`.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file: absolute, or relative to the session's first folder.
    path: String,
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

struct Edit {
    text: String,
    /// Where `old_string` stood, counted from 1.
    lines: Vec<usize>,
}

fn edited(text: &str, arguments: &Arguments) -> Result<Edit, ToolError> {
    let refuse = |message: String| Err(ToolError::to_model("invalid-args", message));
    if arguments.old_string.is_empty() {
        return refuse("`old_string` is empty: to write a whole file use write_file".to_owned());
    }
    if arguments.old_string == arguments.new_string {
        return refuse("`old_string` and `new_string` are the same: nothing would change".to_owned());
    }
    let (old, new) = if has_dos_endings(text) {
        (with_dos_endings(&arguments.old_string), with_dos_endings(&arguments.new_string))
    } else {
        (arguments.old_string.clone(), arguments.new_string.clone())
    };
    let lines = lines_of(text, &old);
    let path = plain::name(&arguments.path);
    match lines.len() {
        0 => Err(ToolError::to_model(
            "not-found",
            format!("`old_string` is not in `{path}`: {}", near_miss(text, &arguments.old_string)),
        )),
        1 => Ok(Edit { text: text.replacen(&old, &new, 1), lines }),
        _ if arguments.replace_all => Ok(Edit { text: text.replace(&old, &new), lines }),
        count => refuse(format!(
            "`old_string` is in `{path}` {count} times, at {}: give lines around it until it is unique, or set \
             `replace_all`",
            enumerated(&lines)
        )),
    }
}

/// Whether every line ends in CR LF, so that an edit must keep to that.
fn has_dos_endings(text: &str) -> bool {
    let all = text.matches('\n').count();
    all > 0 && all == text.matches("\r\n").count()
}

fn with_dos_endings(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
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
