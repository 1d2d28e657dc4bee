//! Tool calls: kinds, states, places and content.

use acp_runtime_agent::event::{ToolCallStatus, ToolCallUpdate};
use acp_runtime_agent::model::ToolKind;
use acp_runtime_agent::transcript::{Location, ToolCall, ToolCallId, ToolContent};
use agent_client_protocol::v1::schema;
use serde_json::Value;

use super::screen::{self, Screens};
use super::size::{cut, escaped_len, line, trimmed};

/// Characters of a title.
pub(super) const TITLE: usize = 400;
/// Characters of an address.
const LONGEST_URI: usize = 2000;
/// Bytes of all that one update shows.
const CONTENT: usize = 24 * 1024;
/// Bytes of raw input or output.
const RAW: usize = 8 * 1024;
/// Lines of a file that are shown around a change that is too large to be shown with the whole file.
const CONTEXT: usize = 3;

/// The announcement of a call.
pub(super) fn started(call: &ToolCall, title: &str, kind: ToolKind, locations: &[Location]) -> schema::ToolCall {
    schema::ToolCall::new(call.id.to_string(), line(title, TITLE))
        .name(line(&call.name, TITLE))
        .kind(tool_kind(kind))
        .status(schema::ToolCallStatus::Pending)
        .locations(places(locations))
        .raw_input(trimmed(&call.arguments, RAW))
}

/// The announcement of a call that the model is just writing.
pub(super) fn drafted(call: &ToolCallId, name: &str, title: &str, kind: ToolKind) -> schema::ToolCall {
    schema::ToolCall::new(call.to_string(), line(title, TITLE))
        .name(line(name, TITLE))
        .kind(tool_kind(kind))
        .status(schema::ToolCallStatus::Pending)
}

/// As much of its arguments as has come.
pub(super) fn written(call: &ToolCallId, arguments: &Value) -> schema::ToolCallUpdate {
    let fields = schema::ToolCallUpdateFields::new().raw_input(trimmed(arguments, RAW));
    schema::ToolCallUpdate::new(call.to_string(), fields)
}

/// What is new about a call. With `screens` its commands are shown where they run; they are told as text without.
pub(super) fn updated(update: &ToolCallUpdate, screens: Option<&mut Screens>) -> schema::ToolCallUpdate {
    let command = |terminal: Option<&str>, output: &str, budget: usize| match &screens {
        Some(screens) => screens.content(&update.id, terminal, output, budget),
        None => screen::text(output, budget),
    };
    let fields = schema::ToolCallUpdateFields::new()
        .status(update.status.map(status))
        .title(update.title.as_ref().map(|title| line(title, TITLE)))
        .raw_input(update.arguments.as_deref().map(|arguments| trimmed(arguments, RAW)))
        .content(update.content.as_ref().map(|content| contents(content, CONTENT, command)))
        .locations(update.locations.as_ref().map(|locations| places(locations)))
        .raw_output(update.structured.as_ref().map(|value| trimmed(value, RAW)));
    schema::ToolCallUpdate::new(update.id.to_string(), fields).meta(screens.and_then(|screens| screens.end(update)))
}

/// Everything that a call shows, in `budget` bytes: each piece gets an equal share of what is left. `command` shows a
/// command that was run.
pub(super) fn contents(
    content: &[ToolContent],
    budget: usize,
    command: impl Fn(Option<&str>, &str, usize) -> Option<schema::ToolCallContent>,
) -> Vec<schema::ToolCallContent> {
    const MOST: usize = 64;
    let shown = content.len().min(MOST);
    content
        .iter()
        .take(shown)
        .filter_map(|piece| match piece {
            ToolContent::Text { text } => Some(cut(text, budget / shown).into()),
            ToolContent::Resource { uri, text, mime } => {
                Some(resource(uri, &cut(text, budget / shown), mime.as_deref()))
            }
            ToolContent::Image { data, mime } => Some(image(data, mime, budget / shown)),
            ToolContent::Link { name, uri, mime, size } => Some(link(name, uri, mime.as_deref(), *size)),
            ToolContent::Terminal { terminal, output, exit: _ } => command(terminal.as_deref(), output, budget / shown),
            ToolContent::Diff { path, old, new } => Some(diff(path, old.as_deref(), new, budget / shown)),
        })
        .collect()
}

fn resource(uri: &str, text: &str, mime: Option<&str>) -> schema::ToolCallContent {
    let contents =
        schema::TextResourceContents::new(text, line(uri, TITLE)).mime_type(mime.map(|mime| line(mime, TITLE)));
    let block = schema::ContentBlock::Resource(schema::EmbeddedResource::new(
        schema::EmbeddedResourceResource::TextResourceContents(contents),
    ));
    block.into()
}

/// An image where it fits, else a note: clients do not take lines of any length.
fn image(data: &str, mime: &str, budget: usize) -> schema::ToolCallContent {
    if data.len() + mime.len() <= budget {
        return schema::ContentBlock::Image(schema::ImageContent::new(data, mime)).into();
    }
    format!("[{}, about {} bytes, too large to show]", line(mime, TITLE), data.len() / 4 * 3).into()
}

fn link(name: &str, uri: &str, mime: Option<&str>, size: Option<u64>) -> schema::ToolCallContent {
    let link = schema::ResourceLink::new(line(name, TITLE), line(uri, LONGEST_URI))
        .mime_type(mime.map(|mime| line(mime, TITLE)))
        .size(size.and_then(|size| i64::try_from(size).ok()));
    schema::ContentBlock::ResourceLink(link).into()
}

/// A change: of the whole file where that fits, else the changed lines with a few around them, else a note.
fn diff(path: &str, old: Option<&str>, new: &str, budget: usize) -> schema::ToolCallContent {
    let fits = |old: Option<&str>, new: &str| {
        escaped_len(old.unwrap_or_default()) + escaped_len(new) + escaped_len(path) <= budget
    };
    if fits(old, new) {
        return schema::Diff::new(path, new).old_text(old.map(str::to_owned)).into();
    }
    if let Some((before, after)) = old.map(|old| changed_lines(old, new))
        && fits(Some(before), after)
    {
        return schema::Diff::new(path, after).old_text(before.to_owned()).into();
    }
    let size = old.map_or(String::new(), |old| format!("{} bytes -> ", old.len()));
    cut(&format!("[cut: the change of {path} is too large to show: {size}{} bytes]", new.len()), budget).into()
}

/// Both texts without the lines that they begin and end with in common, apart from a few.
fn changed_lines<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let same = |pairs: &mut dyn Iterator<Item = (&'a str, &'a str)>| -> usize {
        let lengths: Vec<usize> = pairs.take_while(|(left, right)| left == right).map(|(left, _)| left.len()).collect();
        lengths.iter().take(lengths.len().saturating_sub(CONTEXT)).sum()
    };
    let head = same(&mut old.split_inclusive('\n').zip(new.split_inclusive('\n')));
    let (old, new) = (old.get(head..).unwrap_or(old), new.get(head..).unwrap_or(new));
    let most = old.len().min(new.len());
    let tail = same(&mut old.split_inclusive('\n').rev().zip(new.split_inclusive('\n').rev())).min(most);
    (old.get(..old.len() - tail).unwrap_or(old), new.get(..new.len() - tail).unwrap_or(new))
}

pub(super) fn places(locations: &[Location]) -> Vec<schema::ToolCallLocation> {
    const MOST: usize = 10;
    locations
        .iter()
        // A path that long cannot be opened anyway.
        .filter(|location| escaped_len(&location.path) <= TITLE)
        .take(MOST)
        .map(|location| schema::ToolCallLocation::new(&location.path).line(location.line))
        .collect()
}

pub(super) fn tool_kind(kind: ToolKind) -> schema::ToolKind {
    match kind {
        ToolKind::Read => schema::ToolKind::Read,
        ToolKind::Edit => schema::ToolKind::Edit,
        ToolKind::Delete => schema::ToolKind::Delete,
        ToolKind::Move => schema::ToolKind::Move,
        ToolKind::Search => schema::ToolKind::Search,
        ToolKind::Execute => schema::ToolKind::Execute,
        ToolKind::Think => schema::ToolKind::Think,
        ToolKind::Fetch => schema::ToolKind::Fetch,
        ToolKind::Other => schema::ToolKind::Other,
    }
}

fn status(status: ToolCallStatus) -> schema::ToolCallStatus {
    match status {
        ToolCallStatus::Pending => schema::ToolCallStatus::Pending,
        ToolCallStatus::InProgress => schema::ToolCallStatus::InProgress,
        ToolCallStatus::Completed => schema::ToolCallStatus::Completed,
        ToolCallStatus::Failed => schema::ToolCallStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: Option<&str>, new: &str, budget: usize) -> schema::ToolCallContent {
        diff("/p/a", old, new, budget)
    }

    #[test]
    fn a_change_shows_as_much_as_fits() {
        let lines = |range: std::ops::Range<u32>| range.map(|n| format!("line {n}\n")).collect::<String>();
        let old = lines(0..1000);
        let new = old.replace("line 500\n", "LINE\n");
        assert_eq!(
            shown(Some(&old), &new, 100_000),
            schema::Diff::new("/p/a", new.as_str()).old_text(old.clone()).into()
        );
        let around = |middle: &str| format!("{}{middle}{}", lines(497..500), lines(501..504));
        assert_eq!(
            shown(Some(&old), &new, 1000),
            schema::Diff::new("/p/a", around("LINE\n")).old_text(around("line 500\n")).into()
        );
        let note = "[cut: the change of /p/a is too large to show: 8890 bytes -> 4 bytes]";
        assert_eq!(shown(Some(&old), "all\n", 1000), note.to_owned().into());
        let note = "[cut: the change of /p/a is too large to show: 8890 bytes]";
        assert_eq!(shown(None, &old, 1000), note.to_owned().into());
    }

    #[test]
    fn unchanged_ends_never_overlap() {
        for (old, new) in
            [("a\n", "a\na\n"), ("a\na\n", "a\n"), ("", "a\n"), ("x\n".repeat(9).as_str(), "x\n".repeat(8).as_str())]
        {
            let (before, after) = changed_lines(old, new);
            assert!(old.contains(before) && new.contains(after), "{old:?} {new:?}");
        }
    }
}
