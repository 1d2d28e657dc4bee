//! `/fork`: the session as it stands, or as it stood at one of its messages, kept once more under an id of its own.
//!
//! Where it begins is decided by the same rooms as for `session/fork`. The new session is not opened.

use std::fmt::Write as _;
use std::sync::Arc;

use acp_runtime_agent::command::TextCommand;
use acp_runtime_agent::context::History;
use acp_runtime_agent::event::{CommandInfo, SessionEvent};
use acp_runtime_agent::options::{Bounds, Options};
use acp_runtime_agent::outbox::Outbox;
use acp_runtime_agent::plain;
use acp_runtime_agent::session::{ForkPoint, ForkSide, OpenError, branch};
use acp_runtime_agent::store::{PointOfNoReturn, SessionStore as _, StoreError};
use acp_runtime_agent::tool::ToolError;
use acp_runtime_agent::transcript::{MessageId, Part, SessionId};

use super::sessions::new_record;
use crate::store::SqliteStore;

/// Prompts that are listed.
const LISTED: usize = 20;
/// Characters of each that are shown.
const SHOWN: usize = 80;

pub(super) struct ForkCommand {
    info: CommandInfo,
    session: SessionId,
    store: SqliteStore,
    options: Arc<Options>,
    /// What a session is held to in which nothing was chosen.
    configured: Bounds,
    outbox: Outbox,
}

impl ForkCommand {
    /// For a session in which nothing was chosen where it is held to what is `configured`.
    pub(super) fn new(
        session: &SessionId,
        store: &SqliteStore,
        options: &Arc<Options>,
        configured: &Bounds,
        outbox: &Outbox,
    ) -> Self {
        let info = CommandInfo {
            name: "fork".to_owned(),
            description: "Keeps the session as it is, or was at a message, once more, to go on from there".to_owned(),
            hint: Some("[list | [before] MESSAGE]".to_owned()),
        };
        let (session, store, options) = (session.clone(), store.clone(), options.clone());
        Self { info, session, store, options, configured: configured.clone(), outbox: outbox.clone() }
    }

    /// The last prompts by their ids.
    async fn list(&self) -> Result<String, ToolError> {
        self.outbox.flush().await.map_err(|error| unkept(&error))?;
        let (_, events) = branch(&self.store, &self.session, None)
            .await
            .map_err(|error| ToolError::to_model("internal", error.to_string()))?;
        let prompts: Vec<(&MessageId, String)> = events
            .iter()
            .filter_map(|event| match event {
                SessionEvent::UserMessage { id, parts, local: false } => Some((id, first_line(parts))),
                _ => None,
            })
            .collect();
        if prompts.is_empty() {
            return Ok("Nothing was said to the model yet.".to_owned());
        }
        let mut text = "The prompts, the last ones:\n\n".to_owned();
        for (id, line) in prompts.iter().skip(prompts.len().saturating_sub(LISTED)) {
            let _ = writeln!(text, "- `{id}` – {line}");
        }
        Ok(text)
    }
}

fn first_line(parts: &[Part]) -> String {
    let text = parts.iter().find_map(|part| match part {
        Part::Text { text } => text.lines().map(str::trim).find(|line| !line.is_empty()),
        _ => None,
    });
    text.map_or_else(|| "(no text)".to_owned(), |text| plain::line(text, SHOWN))
}

fn unkept(error: &StoreError) -> ToolError {
    ToolError::to_model("internal", error.to_string())
}

impl TextCommand for ForkCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let at = |message: &str, side| ForkPoint { message: MessageId::new(message), side };
        let (point, until) = match words.as_slice() {
            ["list"] => return self.list().await,
            // This command is itself what the turn began with, and is no part of what is forked.
            [] => (self.outbox.turn().map(|message| ForkPoint { message, side: ForkSide::Before }), String::new()),
            [message] => (Some(at(message, ForkSide::After)), format!(" until `{message}`")),
            ["before", message] => (Some(at(message, ForkSide::Before)), format!(" before `{message}`")),
            _ => {
                let usage = "type `/fork`, `/fork MESSAGE`, `/fork before MESSAGE`, or `/fork list` for the messages";
                return Err(ToolError::invalid("`/fork` takes one message").hint(usage));
            }
        };
        // What was said until now must be kept before it can be forked.
        self.outbox.flush().await.map_err(|error| unkept(&error))?;
        let (source, mut events) = match branch(&self.store, &self.session, point).await {
            Ok(branch) => branch,
            Err(OpenError::NoMessage { message, .. }) => {
                let unknown = ToolError::not_found(format!("there is no message `{message}`"), &[]);
                return Err(unknown.hint("type `/fork list` for those that there are"));
            }
            Err(error) => return Err(ToolError::to_model("internal", error.to_string())),
        };
        if events.is_empty() {
            return Err(ToolError::not_found("nothing was said there yet: there is nothing to go on from", &[]));
        }
        let held = History::of(&events).bounds().unwrap_or(&self.configured).clone();
        events.extend(SessionEvent::bounds_changed(&held, self.options.bounds()));
        let record = new_record(source.setup);
        let id = record.id.clone();
        // A turn that is cancelled drops this.
        let no_return = PointOfNoReturn::default();
        let _cancelled = no_return.turns_back_when_dropped();
        let kept = self.store.fork(&self.session, record, events.into(), no_return).await;
        let claim = kept.map_err(|error| unkept(&error))?;
        claim.give_back().await;
        Ok(format!(
            "Session `{id}` has all that was said here{until}, and goes on from there; this one stays as it is. An editor \
             has it in its list of sessions. On the command line `acp-runtime session show {id}` shows it."
        ))
    }
}
