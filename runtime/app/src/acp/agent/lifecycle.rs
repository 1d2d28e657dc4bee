//! From the opening of a session to its end: new, load, resume, fork, list, close, delete.
//!
//! What can be refused is refused before anything is told of a session and before one that is open is touched. While
//! one is opened, closed or deleted, all else that is asked of it waits. Tested in `tests/lifecycle.rs`.

use std::sync::Arc;

use acp_runtime_agent::server::ServerEntry;
use acp_runtime_agent::session::{Fork, SessionHandle, SessionRequest};
use acp_runtime_agent::store::{ListQuery, PointOfNoReturn, SessionSetup, StoreError};
use acp_runtime_agent::transcript::SessionId;
use agent_client_protocol::v1::schema;
use agent_client_protocol::{Client, ConnectionTo};
use serde_json::Value;

use super::{Answer, State, json, read};
use crate::acp::error::RequestError;
use crate::acp::live::{Door, EditorFace, Held, LiveSession, Unloaded};
use crate::acp::offers::Offers;
use crate::acp::wire;

/// Sessions on one page of `session/list`.
const PAGE: usize = 50;

/// A kept session, as the client wants to open it.
struct Kept {
    id: SessionId,
    setup: SessionSetup,
    servers: Vec<ServerEntry>,
    /// Whether the client is told all that was.
    is_told: bool,
}

/// What can be chosen in a session and what holds, for clients with and without options.
type Choices = (schema::SessionModeState, Vec<schema::SessionConfigOption>);

impl State {
    pub(super) fn new_session(
        self: Arc<Self>,
        mut params: Value,
        offers: Offers,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        let servers = wire::take_server_entries(&mut params);
        let params: schema::NewSessionRequest = read(params)?;
        let setup = wire::setup(&params.cwd, &params.additional_directories, params.system_prompt)?;
        let face = self.face(offers, connection);
        let work = Box::pin(async move {
            self.login.check()?;
            let request = SessionRequest { setup, servers, face: face.clone() };
            let handle = self.factory.create(request.clone()).await?;
            Ok((new_answer(&handle, offers), Arc::new(LiveSession::new(handle, face, request))))
        });
        // It waits for nothing.
        Ok(Answer::Opening(work, PointOfNoReturn::passed(), None))
    }

    /// The client is told all that was, and then answered.
    pub(super) fn load_session(
        self: Arc<Self>,
        mut params: Value,
        offers: Offers,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        let servers = wire::take_server_entries(&mut params);
        let params: schema::LoadSessionRequest = read(params)?;
        let id = SessionId::new(&params.session_id.0);
        let setup = wire::setup(&params.cwd, &params.additional_directories, params.system_prompt)?;
        let kept = Kept { id, setup, servers, is_told: true };
        Ok(self.open_kept(kept, offers, connection, |(modes, options)| {
            json(schema::LoadSessionResponse::new().modes(modes).config_options(options))
        }))
    }

    /// The client knows what was, and is told nothing of it.
    pub(super) fn resume_session(
        self: Arc<Self>,
        mut params: Value,
        offers: Offers,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        let servers = wire::take_server_entries(&mut params);
        let params: schema::ResumeSessionRequest = read(params)?;
        let id = SessionId::new(&params.session_id.0);
        let setup = wire::setup(&params.cwd, &params.additional_directories, params.system_prompt)?;
        let kept = Kept { id, setup, servers, is_told: false };
        Ok(self.open_kept(kept, offers, connection, |(modes, options)| {
            json(schema::ResumeSessionResponse::new().modes(modes).config_options(options))
        }))
    }

    /// Opens a kept session, in the place of what the client has open under its id: a turn that runs there ends first,
    /// since two of one session would write one history. Where that fails or is taken back the client has open what it
    /// had. The answer says what can be chosen in it.
    fn open_kept(
        self: Arc<Self>,
        kept: Kept,
        offers: Offers,
        connection: ConnectionTo<Client>,
        answer: fn(Choices) -> Value,
    ) -> Answer {
        let Kept { id, setup, servers, is_told } = kept;
        let face = self.face(offers, connection.clone());
        let (door, before) = self.sessions.reopen(&id);
        let (held, point) = (door.clone(), PointOfNoReturn::default());
        let no_return = point.clone();
        let work = Box::pin(async move {
            let before = match before {
                Some(before) => Some(self.end_for_another(before, &setup, &no_return).await?),
                None => None,
            };
            let request = SessionRequest { setup, servers, face: face.clone() };
            let (handle, events) = match self.factory.load(id, request.clone(), None, no_return).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    if let Some(before) = before {
                        self.put_away(held, before, connection).await;
                    }
                    return Err(error.into());
                }
            };
            // The session has a claim of its own.
            drop(before);
            let session = Arc::new(LiveSession::new(handle, face, request));
            if is_told {
                session.replay(events).await;
            }
            Ok((answer(choices(&session.handle, offers)), session))
        });
        Answer::Opening(work, point, Some(door))
    }

    /// The other fields of a fork are those of a resume, and its answer is that of a new session.
    pub(super) fn fork_session(
        self: Arc<Self>,
        mut params: Value,
        offers: Offers,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        let point = wire::fork_point(&params)?;
        let servers = wire::take_server_entries(&mut params);
        let params: schema::ResumeSessionRequest = read(params)?;
        let source = SessionId::new(&params.session_id.0);
        let setup = wire::setup(&params.cwd, &params.additional_directories, params.system_prompt)?;
        let choices = self.sessions.get(&source).map(|live| live.handle.choices());
        let fork = Fork { source, point, choices };
        let face = self.face(offers, connection);
        let no_return = PointOfNoReturn::default();
        let point = no_return.clone();
        let work = Box::pin(async move {
            self.login.check()?;
            let request = SessionRequest { setup, servers, face: face.clone() };
            let handle = self.factory.fork(fork, request.clone(), no_return).await?;
            Ok((new_answer(&handle, offers), Arc::new(LiveSession::new(handle, face, request))))
        });
        Ok(Answer::Opening(work, point, None))
    }

    pub(super) fn list_sessions(self: Arc<Self>, params: Value) -> Result<Answer, RequestError> {
        let params: schema::ListSessionsRequest = read(params)?;
        let cwd = params.cwd.map(|cwd| wire::folder("cwd", &cwd)).transpose()?;
        let query = ListQuery { cwd, cursor: params.cursor, limit: PAGE };
        let work = Box::pin(async move {
            let page = self.factory.store().list(query).await?;
            let sessions = page.sessions.into_iter().map(wire::session_info).collect();
            Ok(json(schema::ListSessionsResponse::new(sessions).next_cursor(page.next)))
        });
        Ok(Answer::Later(work, PointOfNoReturn::default()))
    }

    pub(super) fn close_session(&self, params: Value) -> Result<Answer, RequestError> {
        let params: schema::CloseSessionRequest = read(params)?;
        let id = SessionId::new(&params.session_id.0);
        let (door, live) = self.sessions.reopen(&id);
        let ending = end(live.ok_or(RequestError::UnknownSession(id))?.keep(), door);
        let work = Box::pin(async move {
            ending.await;
            Ok(json(schema::CloseSessionResponse::new()))
        });
        Ok(Answer::Later(work, PointOfNoReturn::passed()))
    }

    /// A session that nobody knows is as good as deleted. One that is open goes on where it cannot be deleted, so it ends
    /// only when that is done.
    pub(super) fn delete_session(self: Arc<Self>, params: Value) -> Result<Answer, RequestError> {
        let params: schema::DeleteSessionRequest = read(params)?;
        let id = SessionId::new(&params.session_id.0);
        let (door, live) = self.sessions.reopen(&id);
        let no_return = PointOfNoReturn::default();
        let point = no_return.clone();
        let work = Box::pin(async move {
            self.factory.store().delete(&id, no_return).await?;
            match live {
                Some(live) => end(live.keep(), door).await,
                None => drop(door),
            }
            Ok(json(schema::DeleteSessionResponse::new()))
        });
        Ok(Answer::Later(work, point))
    }

    /// Ends what the client has open under an id that is to be opened again, and says how it was opened, unless it is
    /// clear already that it cannot be opened again: then it stays as it is.
    async fn end_for_another(
        &self,
        before: Held,
        setup: &SessionSetup,
        point: &PointOfNoReturn,
    ) -> Result<Unloaded, RequestError> {
        self.factory.check(setup)?;
        let unloaded = match before.to_unload(&*self.factory.store()).await {
            // It can be read all the same.
            Err(StoreError::Unwritable { .. }) => before.to_unload_unclaimed(),
            unloaded => unloaded?,
        };
        if !point.pass() {
            return Err(RequestError::Cancelled);
        }
        let door = before.door();
        end(before.keep(), door).await;
        Ok(unloaded)
    }

    pub(super) fn face(&self, offers: Offers, connection: ConnectionTo<Client>) -> Arc<EditorFace> {
        let (draws_panels, flow) = (self.draws_panels.clone(), self.flow.clone());
        Arc::new(EditorFace::new(connection, offers, draws_panels, flow, &self.options))
    }
}

fn choices(session: &SessionHandle, offers: Offers) -> Choices {
    (wire::modes(session.mode()), wire::options(session.options(), offers))
}

fn new_answer(session: &SessionHandle, offers: Offers) -> Value {
    let (modes, options) = choices(session, offers);
    json(schema::NewSessionResponse::new(session.id().to_string()).modes(modes).config_options(options))
}

/// Closes a session to the end, even if nobody waits for that any longer. What is asked of it waits at the door until
/// then.
fn end(session: Arc<LiveSession>, door: Arc<Door>) -> impl Future<Output = ()> {
    let ending = tokio::spawn(async move {
        session.close().await;
        drop(door);
    });
    async move {
        if let Err(error) = ending.await {
            tracing::error!(%error, "a session was not closed");
        }
    }
}
