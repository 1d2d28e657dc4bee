//! What a session's project brings along, once the person has trusted it: its plugins and its steering files.
//!
//! Asked about once for each content, as soon as a session begins in such a project; until there is a yes, and wherever
//! nobody can be asked, nothing of it is loaded. What is answered holds from the next session on. `/trust` shows what
//! there is and takes an answer, too.

use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, PathGlob, PathScope, PluginId, RootId};
use acp_runtime_agent::command::TextCommand;
use acp_runtime_agent::event::{CommandInfo, EventSink as _, Notice, SessionEvent, Severity};
use acp_runtime_agent::gate::{Approval, Approver, Ask};
use acp_runtime_agent::outbox::Outbox;
use acp_runtime_agent::plain;
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::tool::ToolError;
use acp_runtime_agent::transcript::ToolContent;
use acp_runtime_agent::workspace::WorkspaceError;
use tokio::task::JoinHandle;

use super::{Contents, KnownPlugin, Runtime, Shelf};
use crate::audit::{AuditLog, Trust};
use crate::settings::{PROJECT_PLUGINS, PROJECT_STEERING, ProjectContent};
use crate::store::SqliteStore;
use crate::workspace::{OpenRoot, RootError};

/// When an answer counts.
const FROM_THEN: &str = "That holds from the next session in this project on, and in this one once it is opened again.";

/// What the project of a session brings along.
#[derive(Default)]
pub(super) enum Brought {
    /// Nothing.
    #[default]
    Nothing,
    /// Something that cannot be read.
    Unreadable(WorkspaceError),
    /// Something that the person has not trusted as it is.
    Untrusted {
        content: ProjectContent,
        /// They have said no to it.
        refused: bool,
        /// They have trusted what was there before.
        changed: bool,
    },
    /// Something that they have trusted.
    Trusted(ProjectContent),
}

impl Brought {
    /// What the project in `root` brings along. Of a store that cannot be read nothing is known, so nothing is trusted.
    pub(super) async fn by(root: OpenRoot, store: &SqliteStore) -> Self {
        // Whole files are read. Most projects have none.
        let content = match tokio::task::spawn_blocking(move || ProjectContent::read(&root)).await {
            Ok(Ok(Some(content))) => content,
            Ok(Ok(None)) | Err(_) => return Self::Nothing,
            Ok(Err(error)) => return Self::Unreadable(error),
        };
        let said = store.trust(&content.folder).await.unwrap_or_else(|error| {
            tracing::warn!("whether the project's own files are trusted is not known: {error}");
            None
        });
        match said {
            Some(said) if said.content == content.digest && said.trusted => Self::Trusted(content),
            Some(said) if said.content == content.digest => Self::Untrusted { content, refused: true, changed: false },
            said => Self::Untrusted { content, refused: false, changed: said.is_some_and(|said| said.trusted) },
        }
    }

    /// The plugins that may be loaded, but for disabled ones and those whose ids are taken by what is `there`.
    pub(super) fn plugins(&self, shelf: &Shelf, there: &Contents, disabled: &[PluginId]) -> Vec<KnownPlugin> {
        let Self::Trusted(content) = self else { return Vec::new() };
        let mut loaded: Vec<KnownPlugin> = Vec::new();
        for file in &content.plugins {
            let known = match shelf.of_project(file) {
                Ok(known) => known,
                Err(error) => {
                    tracing::warn!("{error} ({})", error.hint());
                    continue;
                }
            };
            let id = known.plugin.id();
            if let Some(why) = shelf.refusal(id, None, known.origin) {
                tracing::warn!("plugin `{id}` of the project is not loaded: {why}");
                continue;
            }
            if let Some(other) = there.plugins.iter().chain(&loaded).find(|other| other.plugin.id() == id) {
                let (origin, source) = (other.origin.as_str(), &other.source);
                let at = known.source;
                tracing::warn!("plugin `{id}`: the {origin} one at `{source}` goes before the project's, at `{at}`");
            } else if !disabled.contains(id) {
                loaded.push(known);
            }
        }
        loaded
    }

    /// The steering files that the model is told, each a path and a text.
    pub(super) fn steering(&self) -> Vec<(String, String)> {
        let Self::Trusted(content) = self else { return Vec::new() };
        content.steering.iter().map(|file| (file.name.clone(), file.text.clone())).collect()
    }

    /// What the person should know of it when a session begins. A no is not told again.
    pub(super) fn notice(&self) -> Option<Notice> {
        match self {
            Self::Nothing | Self::Trusted(_) | Self::Untrusted { refused: true, .. } => None,
            Self::Unreadable(error) => Some(
                Notice::new(Severity::Warning, "The project's own plugins and steering files are not loaded")
                    .described(format!("{error}; {}", ProjectContent::HINT)),
            ),
            Self::Untrusted { content, changed, refused: false } => {
                let why = if *changed { "changed since you trusted it" } else { "not trusted" };
                let title = format!("Not loaded from this project: {} ({why})", content.summary());
                let what =
                    "`/trust` shows what it is and takes your answer; on the command line, use `acp-runtime trust`";
                Some(Notice::new(Severity::Info, title).described(what))
            }
        }
    }

    /// The question about it; none where there is nothing to be asked, or was.
    pub(super) fn question(
        &self,
        approver: Arc<dyn Approver>,
        outbox: &Outbox,
        store: &SqliteStore,
        audit: &AuditLog,
    ) -> Option<Question> {
        let Self::Untrusted { content, refused: false, changed } = self else { return None };
        let (content, outbox) = (content.clone(), outbox.clone());
        let (store, audit) = (store.clone(), audit.clone());
        Some(Question { content, changed: *changed, approver, outbox, store, audit })
    }
}

/// The question whether the project's own files are trusted as they are.
pub(super) struct Question {
    content: ProjectContent,
    changed: bool,
    approver: Arc<dyn Approver>,
    outbox: Outbox,
    store: SqliteStore,
    audit: AuditLog,
}

impl Question {
    async fn put(self) {
        let Self { content, changed, approver, outbox, store, audit } = self;
        let why = if changed { "changed since you trusted it" } else { "not seen before" };
        let title = format!("Trust what this project brings along, as it is now? {} ({why})", content.summary());
        let folder = |path| Effect::Read(PathScope { root: RootId(0), glob: PathGlob::subtree(path) });
        let ask = Ask {
            call: None,
            subject: "this project".to_owned(),
            title,
            effects: [PROJECT_PLUGINS, PROJECT_STEERING].map(folder).to_vec(),
            content: vec![ToolContent::Text { text: content.described() }],
            raw: None,
            may_remember: false,
        };
        let trusted = match approver.ask(ask).await {
            Approval::AllowOnce | Approval::AllowAlways => true,
            Approval::RejectOnce | Approval::RejectAlways => false,
            // It is asked again in the next session.
            Approval::Cancelled | Approval::Late(_) | Approval::NoChannel | Approval::Malformed => return,
        };
        let kept = store.set_trust(&content.folder, content.digest, trusted).await;
        if kept.is_ok() {
            audit.trust(&content.folder, Some(content.digest), said(trusted));
        }
        let notice = match kept {
            Ok(()) if trusted => {
                Notice::new(Severity::Info, "What this project brings along is trusted").described(FROM_THEN)
            }
            Ok(()) => return,
            Err(error) => Notice::new(Severity::Warning, "The answer is not kept").described(error.to_string()),
        };
        outbox.emit(SessionEvent::Notice(notice));
    }
}

/// A question that is withdrawn when the session that asks it ends.
struct Pending(JoinHandle<()>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// `/trust`: the project's own plugins and steering files, and whether they are trusted.
pub(super) struct TrustCommand {
    info: CommandInfo,
    root: OpenRoot,
    store: SqliteStore,
    audit: AuditLog,
    /// Held for as long as there is a session.
    _pending: Option<Pending>,
}

impl TrustCommand {
    /// For the project in `root`; puts the question, if there is one, beside the session.
    pub(super) fn new(root: OpenRoot, store: SqliteStore, audit: AuditLog, question: Option<Question>) -> Self {
        let info = CommandInfo {
            name: "trust".to_owned(),
            description: "Shows the project's own plugins and steering files, and trusts them or not".to_owned(),
            hint: Some("[yes|no|forget]".to_owned()),
        };
        let pending = question.map(|question| Pending(tokio::spawn(question.put())));
        Self { info, root, store, audit, _pending: pending }
    }
}

impl TextCommand for TrustCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let brought = Brought::by(self.root.clone(), &self.store).await;
        let unkept = |error: StoreError| ToolError::to_model("internal", error.to_string());
        let (content, standing) = match (&brought, arguments.trim()) {
            (_, "forget") => {
                let folder = ProjectContent::folder_of(&self.root);
                let forgotten = self.store.forget_trust(&folder).await.map_err(unkept)?;
                if forgotten {
                    self.audit.trust(&folder, None, Trust::Forgotten);
                }
                let done = if forgotten { "What you said of this project is forgotten." } else { "Nothing was said." };
                return Ok(done.to_owned());
            }
            (Brought::Nothing, _) => {
                return Ok(format!(
                    "The project has no plugins in `{PROJECT_PLUGINS}` and nothing in `{PROJECT_STEERING}`."
                ));
            }
            (Brought::Unreadable(error), _) => {
                return Err(ToolError::to_model("unusable", error.to_string()).hint(ProjectContent::HINT));
            }
            (Brought::Trusted(content), "") => (content, "You have trusted this, as it is."),
            (Brought::Untrusted { content, refused: true, .. }, "") => (content, "You have not trusted this."),
            (Brought::Untrusted { content, changed: true, .. }, "") => {
                (content, "This has changed since you trusted it, so it is not loaded.")
            }
            (Brought::Untrusted { content, .. }, "") => (content, "This is not trusted, so it is not loaded."),
            (Brought::Trusted(content) | Brought::Untrusted { content, .. }, answer @ ("yes" | "no")) => {
                let trusted = answer == "yes";
                self.store.set_trust(&content.folder, content.digest, trusted).await.map_err(unkept)?;
                self.audit.trust(&content.folder, Some(content.digest), said(trusted));
                let what = content.summary();
                let verdict = if trusted { "Trusted" } else { "Not trusted" };
                return Ok(format!("{verdict}, as it is now: what this project brings along, {what}. {FROM_THEN}"));
            }
            (Brought::Trusted(_) | Brought::Untrusted { .. }, other) => {
                return Err(ToolError::invalid(format!("`/trust` has no `{}`", plain::line(other, 80)))
                    .hint("type `/trust`, `/trust yes`, `/trust no` or `/trust forget`"));
            }
        };
        let described = content.described();
        Ok(format!(
            "This project brings along {}:\n\n{described}\n{standing} Answer with `/trust yes` or `/trust no`.",
            content.summary()
        ))
    }
}

fn said(trusted: bool) -> Trust {
    if trusted { Trust::Trusted } else { Trust::Refused }
}

impl Runtime {
    /// The plugins of the project in `folder`, as far as its owner has trusted them.
    pub async fn plugins_of_project(&self, folder: &str) -> Vec<KnownPlugin> {
        self.brought(folder).await.plugins(&self.shelf, &self.shelf.contents(), &[])
    }

    /// The folder of a project.
    pub fn project(&self, folder: &Path) -> Result<OpenRoot, RootError> {
        self.folders.open(folder)
    }

    /// What the project in `folder` brings along; nothing where it is no folder, which is told elsewhere.
    pub(super) async fn brought(&self, folder: &str) -> Brought {
        match self.folders.open(Path::new(folder)) {
            Ok(root) => Brought::by(root, &self.store).await,
            Err(_) => Brought::Nothing,
        }
    }
}
