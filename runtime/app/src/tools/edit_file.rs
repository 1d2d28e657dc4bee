//! `edit_file`: one piece of a file replaced by another.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{ToolContent, ToolOutcome};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::change::change;
use super::near_miss::near_miss;
use super::{Files, spec, unless_cancelled};

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
struct Arguments {
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
pub(super) struct EditFile(pub(super) Files);

impl Tool for EditFile {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
        Ok(vec![Effect::Read(path.scope()), Effect::Write(path.scope())])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        let (title, locations) = self.0.titled("Edit", &arguments.path);
        Presentation { title, locations }
    }

    /// An edit that cannot be made fails here, before a person is asked.
    fn preview<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        async move {
            let arguments: Arguments = arguments.read()?;
            let path = self.0.roots.resolve(&arguments.path)?;
            let old = self.0.workspace.read(permit, &path).await?;
            let edit = edited(&old, &arguments)?;
            Ok(vec![change(self.0.roots.display(&path), Some(&old), &edit.text)])
        }
        .boxed()
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
            let old = unless_cancelled(&cancel, self.0.workspace.read(permit, &path)).await?;
            let edit = edited(&old, &arguments)?;
            unless_cancelled(&cancel, self.0.workspace.write(permit, &path, &edit.text)).await?;
            let places = enumerated(&edit.lines);
            let mut outcome = ToolOutcome::text(format!("Edited `{}` at {places}", self.0.roots.spell(&path)));
            outcome.content.push(change(self.0.roots.display(&path), Some(&old), &edit.text));
            let first = edit.lines.first().and_then(|line| u32::try_from(*line).ok());
            outcome.locations = vec![self.0.location(&path, first)];
            Ok(outcome)
        }
        .boxed()
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
    match lines.len() {
        0 => Err(ToolError::to_model(
            "not-found",
            format!("`old_string` is not in `{}`: {}", arguments.path, near_miss(text, &arguments.old_string)),
        )),
        1 => Ok(Edit { text: text.replacen(&old, &new, 1), lines }),
        _ if arguments.replace_all => Ok(Edit { text: text.replace(&old, &new), lines }),
        count => refuse(format!(
            "`old_string` is in `{}` {count} times, at {}: give lines around it until it is unique, or set \
             `replace_all`",
            arguments.path,
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
