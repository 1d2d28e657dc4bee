//! `acp-runtime session`: the sessions that were kept.

mod export;
mod markdown;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::SystemTime;

use acp_runtime_agent::store::{KeptSession, ListQuery, PointOfNoReturn, SessionRecord, SessionStore};
use acp_runtime_agent::transcript::SessionId;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use super::arguments::SessionCommand;
use super::confirm::{can_ask, confirmed};
use super::failure::Failure;
use super::headless::was_asked;
use super::run::absolute;
use super::styled::Look;
use super::transcript::{Transcript, harmless};
use crate::settings::variable;

/// Sessions that are asked for at once.
const PAGE: usize = 100;
/// Sessions that are named where one was meant.
const NAMED: usize = 10;

pub(super) async fn command(store: Arc<dyn SessionStore>, command: SessionCommand) -> Result<(), Failure> {
    match command {
        SessionCommand::List { cwd, json } => list(&*store, cwd.map(absolute).transpose()?, json).await,
        SessionCommand::Show { id, json } => show(&*store, id, json).await,
        SessionCommand::Export { id, format, output, force } => {
            let (record, events) = kept(&*store, id).await?;
            export::write(&record, &events, format, output.as_deref(), force)
        }
        SessionCommand::Delete { ids, yes, json } => delete(&*store, &ids, yes, json).await,
    }
}

async fn list(store: &dyn SessionStore, cwd: Option<String>, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    let mut query = ListQuery { cwd, cursor: None, limit: PAGE };
    loop {
        let page = store.list(query.clone()).await?;
        for record in &page.sessions {
            if json {
                writeln!(out, "{}", as_json(record))?;
            } else {
                writeln!(out, "{}", as_text(record))?;
            }
        }
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(()),
        }
    }
}

fn as_json(record: &SessionRecord) -> Value {
    json!({
        "id": record.id,
        "title": record.title,
        "cwd": record.setup.cwd,
        "additional": record.setup.additional,
        "updated": time(record.updated),
    })
}

fn as_text(record: &SessionRecord) -> String {
    let cwd = harmless(&record.setup.cwd);
    format!("{}  {}  {cwd}  {}", record.id, time(record.updated), title(record))
}

fn title(record: &SessionRecord) -> String {
    harmless(record.title.as_deref().unwrap_or("(no title)")).into_owned()
}

fn time(time: SystemTime) -> String {
    let stamp = Timestamp::try_from(time).and_then(|stamp| stamp.round(Unit::Second));
    stamp.map_or_else(|_| "-".to_owned(), |stamp| stamp.to_string())
}

async fn show(store: &dyn SessionStore, id: Option<String>, json: bool) -> Result<(), Failure> {
    let (_, events) = kept(store, id).await?;
    let look = Look::of(io::stdout().is_terminal(), variable);
    let mut transcript = Transcript::whole(io::stdout(), io::stdout(), look);
    for event in &events {
        if json { writeln!(io::stdout(), "{}", serde_json::to_string(event)?)? } else { transcript.show(event)? }
    }
    Ok(transcript.finish()?)
}

/// All sessions or none: what is not known, and a no, come before the first is gone.
async fn delete(store: &dyn SessionStore, ids: &[String], yes: bool, json: bool) -> Result<(), Failure> {
    let mut records: Vec<SessionRecord> = Vec::with_capacity(ids.len());
    for id in ids {
        let (record, _) = kept(store, Some(id.clone())).await?;
        if !records.iter().any(|known| known.id == record.id) {
            records.push(record);
        }
    }
    if !yes {
        if !can_ask() {
            let told = Failure::usage("nothing was deleted: nobody can be asked whether that is meant");
            return Err(told.hint("pass `--yes`"));
        }
        for record in &records {
            writeln!(io::stderr(), "{}", as_text(record))?;
        }
        let what = if records.len() == 1 { "this session" } else { "these sessions" };
        if !confirmed(&format!("Delete {what} for good?"))? {
            return Err(Failure::new("nothing was deleted: it was not confirmed"));
        }
    }
    let mut out = io::stdout();
    for record in &records {
        store.delete(&record.id, PointOfNoReturn::passed()).await?;
        if json {
            writeln!(out, "{}", as_json(record))?;
        } else {
            writeln!(out, "deleted {} {}", record.id, title(record))?;
        }
    }
    Ok(())
}

/// The session of that id, or the only one whose id begins so, or else the newest one.
pub(super) async fn kept(store: &dyn SessionStore, id: Option<String>) -> Result<KeptSession, Failure> {
    let id = match id {
        Some(typed) => {
            if let Some(kept) = store.load(&SessionId::new(typed.as_str())).await? {
                return Ok(kept);
            }
            meant(store, &typed).await?
        }
        None => newest(store).await?,
    };
    store.load(&id).await?.ok_or_else(|| unknown(id.as_str()))
}

fn unknown(id: &str) -> Failure {
    Failure::usage(format!("unknown session `{id}`")).hint("see `acp-runtime session list`")
}

/// The only session whose id begins with that.
async fn meant(store: &dyn SessionStore, begin: &str) -> Result<SessionId, Failure> {
    let mut found = Vec::new();
    let mut query = ListQuery { cwd: None, cursor: None, limit: PAGE };
    // Nothing is the beginning of everything.
    while !begin.is_empty() {
        let page = store.list(query.clone()).await?;
        found.extend(page.sessions.into_iter().filter(|record| record.id.as_str().starts_with(begin)));
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => break,
        }
    }
    match found.as_slice() {
        [] => Err(unknown(begin)),
        [only] => Ok(only.id.clone()),
        several => {
            let mut lines: Vec<String> = several.iter().take(NAMED).map(as_text).collect();
            if several.len() > NAMED {
                lines.push(format!("and {} more: see `acp-runtime session list`", several.len() - NAMED));
            }
            let told = Failure::usage(format!("`{begin}` is the beginning of {} sessions", several.len()));
            Err(told.hint(format!("write more of the one that is meant:\n  {}", lines.join("\n  "))))
        }
    }
}

async fn newest(store: &dyn SessionStore) -> Result<SessionId, Failure> {
    let page = store.list(ListQuery { cwd: None, cursor: None, limit: 1 }).await?;
    let newest = page.sessions.into_iter().next().map(|record| record.id);
    newest.ok_or_else(|| Failure::new("there are no sessions yet").hint("make one with `acp-runtime run PROMPT`"))
}

/// The latest session of a folder in which a model was asked; none where there is none. Editors keep also sessions in
/// which nothing was said, or only commands.
pub(super) async fn latest_asked(store: &dyn SessionStore, cwd: &str) -> Result<Option<SessionRecord>, Failure> {
    let mut query = ListQuery { cwd: Some(cwd.to_owned()), cursor: None, limit: PAGE };
    loop {
        let page = store.list(query.clone()).await?;
        for record in page.sessions {
            if let Some((record, events)) = store.load(&record.id).await?
                && events.iter().any(was_asked)
            {
                return Ok(Some(record));
            }
        }
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(None),
        }
    }
}
