//! `acp-runtime session`: the sessions that were kept.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::SystemTime;

use acp_runtime_agent::store::{ListQuery, SessionRecord, SessionStore};
use acp_runtime_agent::transcript::SessionId;
use jiff::{Timestamp, Unit};
use serde_json::json;

use super::arguments::SessionCommand;
use super::failure::Failure;
use super::headless::print_json;
use super::run::absolute;
use super::transcript::{Transcript, plain};

/// Sessions that are asked for at once.
const PAGE: usize = 100;

pub(super) async fn command(store: Arc<dyn SessionStore>, command: SessionCommand) -> Result<(), Failure> {
    match command {
        SessionCommand::List { cwd, json } => list(&*store, cwd.map(absolute).transpose()?, json).await,
        SessionCommand::Show { id, json } => show(&*store, id, json).await,
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

fn as_json(record: &SessionRecord) -> serde_json::Value {
    json!({
        "id": record.id,
        "title": record.title,
        "cwd": record.setup.cwd,
        "additional": record.setup.additional,
        "updated": time(record.updated),
    })
}

fn as_text(record: &SessionRecord) -> String {
    let title = record.title.as_deref().unwrap_or("(no title)");
    format!("{}  {}  {}  {}", record.id, time(record.updated), plain(&record.setup.cwd, true), plain(title, true))
}

fn time(time: SystemTime) -> String {
    let stamp = Timestamp::try_from(time).and_then(|stamp| stamp.round(Unit::Second));
    stamp.map_or_else(|_| "-".to_owned(), |stamp| stamp.to_string())
}

async fn show(store: &dyn SessionStore, id: Option<String>, json: bool) -> Result<(), Failure> {
    let id = match id {
        Some(id) => SessionId::new(id),
        None => newest(store).await?,
    };
    let Some((_, events)) = store.load(&id).await? else {
        return Err(Failure::usage(format!("unknown session `{id}`")).hint("see `acp-runtime session list`"));
    };
    let terminal = io::stdout().is_terminal();
    let mut transcript = Transcript::whole(io::stdout(), io::stdout(), terminal);
    for event in &events {
        if json { print_json(&mut io::stdout(), event)? } else { transcript.show(event)? }
    }
    Ok(transcript.finish()?)
}

async fn newest(store: &dyn SessionStore) -> Result<SessionId, Failure> {
    let page = store.list(ListQuery { cwd: None, cursor: None, limit: 1 }).await?;
    let newest = page.sessions.into_iter().next().map(|record| record.id);
    newest.ok_or_else(|| Failure::new("there are no sessions yet").hint("make one with `acp-runtime run PROMPT`"))
}
