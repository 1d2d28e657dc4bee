//! What a prompt links to, read for the model: through the gate and the session's files, as everything else.

use tokio_util::sync::CancellationToken;

use super::TurnContext;
use crate::capability::{Effect, WorkspacePath};
use crate::context::{Linked, Luggage};
use crate::event::{EventSink as _, Notice, SessionEvent, Severity};
use crate::gate::Origin;
use crate::plain;
use crate::tool::ToolError;
use crate::transcript::Part;
use crate::workspace::{EntryKind, WorkspaceError};

impl TurnContext {
    /// The parts of a prompt as the model is shown them: linked files with their texts, and of what is too long the
    /// beginning, with a note. The person is told of that.
    pub async fn attach(&self, parts: Vec<Part>, cancel: &CancellationToken) -> Vec<Part> {
        let mut luggage = Luggage::new(self.project.budget.prompt);
        let mut attached = Vec::with_capacity(parts.len());
        for part in parts {
            attached.push(match part {
                Part::Resource { uri, text } => {
                    let text = luggage.take(&uri, text);
                    Part::Resource { uri, text }
                }
                Part::ResourceLink { name, uri, text: None } => {
                    let text = tokio::select! {
                        biased;
                        () = cancel.cancelled() => None,
                        text = self.linked(&uri) => text,
                    };
                    let text = text.map(|read| match read {
                        Ok(text) => luggage.take(&uri, text),
                        Err(error) => format!("[not read: {error}]"),
                    });
                    Part::ResourceLink { name, uri, text }
                }
                part @ (Part::Text { .. }
                | Part::Image { .. }
                | Part::ResourceLink { .. }
                | Part::Thought { .. }
                | Part::ToolCall(_)
                | Part::ToolResult { .. }) => part,
            });
        }
        if !luggage.cut.is_empty() {
            let names: Vec<String> = luggage.cut.iter().map(|name| plain::name(name)).collect();
            let title = format!("The model is shown only the beginning of: {}", names.join(", "));
            let why = format!("What one prompt brings along may have {} bytes", self.project.budget.prompt);
            self.outbox.emit(SessionEvent::Notice(Notice::new(Severity::Warning, title).described(why)));
        }
        attached
    }

    /// What a link leads to, or why that was not read; none where it leads nowhere on this machine.
    async fn linked(&self, uri: &str) -> Option<Result<String, ToolError>> {
        let linked = Linked::of(uri)?;
        Some(match self.project.roots.resolve(&linked.path) {
            Ok(path) => self.read_linked(&path, &linked).await,
            Err(error) => Err(error.into()),
        })
    }

    async fn read_linked(&self, path: &WorkspacePath, linked: &Linked) -> Result<String, ToolError> {
        let workspace = &self.project.workspace;
        let permit = self.gate.authorize(Origin::Prompt, vec![Effect::Read(path.scope())]).await?;
        let read = match linked.lines {
            Some(range) => workspace.read_lines(&permit, path, range).await.map(|excerpt| excerpt.text),
            None => workspace.read(&permit, path).await,
        };
        match read {
            Err(WorkspaceError::WrongKind { expected: "file", .. }) => {
                let entries = workspace.list(&permit, path).await?;
                let lines = entries.iter().map(|entry| {
                    let slash = if entry.kind == EntryKind::Directory { "/" } else { "" };
                    format!("{}{slash}\n", plain::name(&entry.name))
                });
                Ok(lines.collect())
            }
            read => Ok(read?),
        }
    }
}
