//! `acp-runtime trust`: which projects' own plugins and steering files are loaded, and which publishers are believed.

mod publishers;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, Unit};
use serde_json::json;

use super::arguments::TrustCommand;
use super::confirm::{can_ask, confirmed};
use super::failure::Failure;
use super::run::absolute;
use super::transcript::harmless;
use crate::audit::Trust;
use crate::compose::Runtime;
use crate::settings::{PROJECT_PLUGINS, PROJECT_STEERING, ProjectContent};
use crate::store::ProjectTrust;
use crate::workspace::OpenRoot;

pub(super) async fn command(runtime: &Runtime, command: TrustCommand) -> Result<(), Failure> {
    match command {
        TrustCommand::Add { what: Some(publisher), .. } => publishers::add(&runtime.publishers(), publisher),
        TrustCommand::Add { what: None, folder, yes } => add(runtime, folder, yes).await,
        TrustCommand::List { json } => {
            list(runtime, json).await?;
            publishers::list(&runtime.publishers(), json)
        }
        TrustCommand::Remove { what: Some(publisher), .. } => publishers::remove(&runtime.publishers(), publisher),
        TrustCommand::Remove { what: None, folder } => remove(runtime, folder).await,
    }
}

async fn add(runtime: &Runtime, folder: Option<PathBuf>, yes: bool) -> Result<(), Failure> {
    let root = project(runtime, folder)?;
    let content =
        ProjectContent::read(&root).map_err(|error| Failure::new(error.to_string()).hint(ProjectContent::HINT))?;
    let shown = harmless(&root.path.display().to_string()).into_owned();
    let content = content.ok_or_else(|| {
        Failure::usage(format!("`{shown}` has neither plugins nor steering files of its own"))
            .hint(format!("they would be in `{PROJECT_PLUGINS}` and `{PROJECT_STEERING}`"))
    })?;
    let what = content.summary();
    writeln!(io::stderr(), "`{shown}` brings along {what}:\n\n{}", content.described())?;
    if !yes {
        if !can_ask() {
            let told = Failure::usage("nothing was trusted: nobody can be asked whether that is meant");
            return Err(told.hint("look at what they are, then pass `--yes`"));
        }
        if !confirmed("Trust all of this, as it is now?")? {
            return Err(Failure::new("nothing was trusted: it was not confirmed"));
        }
    }
    runtime.memory().set_trust(&content.folder, content.digest, true).await?;
    runtime.audit().trust(&content.folder, Some(content.digest), Trust::Trusted);
    writeln!(io::stdout(), "trusted {what} of {shown}")?;
    writeln!(io::stderr(), "hint: sessions that begin from now on have them")?;
    Ok(())
}

async fn list(runtime: &Runtime, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    for said in runtime.memory().all_trust().await? {
        let now = now(runtime, &said);
        let ProjectTrust { folder, content, trusted, since } = said;
        let since = Timestamp::try_from(since).ok().and_then(|at| at.round(Unit::Second).ok());
        let since = since.map_or_else(|| "-".to_owned(), |at| at.to_string());
        if json {
            let entry = json!({
                "folder": folder, "content": content, "trusted": trusted, "since": since, "now": now,
            });
            writeln!(out, "{entry}")?;
        } else {
            let verdict = if trusted { "trusted" } else { "refused" };
            writeln!(out, "{verdict}  {since}  {}  ({now})", harmless(&folder))?;
        }
    }
    Ok(())
}

/// How what was answered about stands to what is there: one word, or two.
fn now(runtime: &Runtime, said: &ProjectTrust) -> &'static str {
    let Ok(root) = runtime.project(Path::new(&said.folder)) else { return "gone" };
    match ProjectContent::read(&root) {
        Ok(Some(content)) if content.digest == said.content => "unchanged",
        Ok(Some(_)) => "changed since",
        Ok(None) => "gone",
        Err(_) => "unreadable",
    }
}

async fn remove(runtime: &Runtime, folder: Option<PathBuf>) -> Result<(), Failure> {
    let given = absolute(folder.unwrap_or_else(|| ".".into()))?;
    // A project that is gone is forgotten by the name that it is listed under.
    let folder = match runtime.project(Path::new(&given)) {
        Ok(root) => ProjectContent::folder_of(&root),
        Err(_) => given,
    };
    if !runtime.memory().forget_trust(&folder).await? {
        return Err(
            Failure::usage(format!("nothing was said of `{}`", harmless(&folder))).hint("see `acp-runtime trust list`")
        );
    }
    runtime.audit().trust(&folder, None, Trust::Forgotten);
    writeln!(io::stdout(), "forgotten: {}", harmless(&folder))?;
    Ok(())
}

fn project(runtime: &Runtime, folder: Option<PathBuf>) -> Result<OpenRoot, Failure> {
    let path = absolute(folder.unwrap_or_else(|| ".".into()))?;
    runtime.project(Path::new(&path)).map_err(|error| {
        Failure::usage(format!("`{}` is no project: {error}", harmless(&path))).hint("name an existing folder")
    })
}
