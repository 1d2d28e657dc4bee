//! From the opening of a session to its end: new, load, list, close.
//!
//! What can be refused is refused before anything is told of a session. Tested in `tests.rs`.

use std::sync::Arc;

use acp_runtime_agent::session::{SessionHandle, SessionRequest};
use acp_runtime_agent::store::ListQuery;
use acp_runtime_agent::transcript::SessionId;
use agent_client_protocol::v1::schema;
use agent_client_protocol::{Client, ConnectionTo};
use serde_json::Value;

use super::{Answer, State, json, read};
use crate::acp::error::RequestError;
use crate::acp::live::{EditorFace, LiveSession};
use crate::acp::offers::Offers;
use crate::acp::wire;

/// Sessions on one page of `session/list`.
const PAGE: usize = 50;

impl State {
    pub(super) fn new_session(
        self: Arc<Self>,
        params: Value,
        offers: Offers,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        refuse_system_prompt(&params)?;
        let params: schema::NewSessionRequest = read(params)?;
        let face = self.face(offers, connection);
        let request = session_request(&params.cwd, &params.additional_directories, &params.mcp_servers, face.clone())?;
        let work = Box::pin(async move {
            let handle = self.factory.create(request).await?;
            let (modes, options) = choices(&handle, offers);
            let id = handle.id().to_string();
            let answer = schema::NewSessionResponse::new(id).modes(modes).config_options(options);
            Ok((json(answer), Arc::new(LiveSession::new(handle, face))))
        });
        Ok(Answer::Opening(work, None))
    }

    pub(super) fn load_session(
        self: Arc<Self>,
        params: Value,
        offers: Offers,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        refuse_system_prompt(&params)?;
        let params: schema::LoadSessionRequest = read(params)?;
        let id = SessionId::new(&params.session_id.0);
        let face = self.face(offers, connection);
        let request = session_request(&params.cwd, &params.additional_directories, &params.mcp_servers, face.clone())?;
        // What the client has open under that id ends before it is opened again; what it asks for from now on waits.
        let (door, before) = self.sessions.reopen(&id);
        let work = Box::pin(async move {
            if let Some(before) = before {
                before.close().await;
            }
            let (handle, events) = self.factory.load(id, request).await?;
            let session = Arc::new(LiveSession::new(handle, face));
            session.replay(events).await;
            let (modes, options) = choices(&session.handle, offers);
            let answer = schema::LoadSessionResponse::new().modes(modes).config_options(options);
            Ok((json(answer), session))
        });
        Ok(Answer::Opening(work, Some(door)))
    }

    pub(super) fn list_sessions(self: Arc<Self>, params: Value) -> Result<Answer, RequestError> {
        let params: schema::ListSessionsRequest = read(params)?;
        let cwd = params.cwd.map(|cwd| wire::directories(&cwd, &[])).transpose()?.map(|(cwd, _)| cwd);
        let query = ListQuery { cwd, cursor: params.cursor, limit: PAGE };
        Ok(Answer::Later(Box::pin(async move {
            let page = self.factory.store().list(query).await?;
            let sessions = page.sessions.into_iter().map(wire::session_info).collect();
            Ok(json(schema::ListSessionsResponse::new(sessions).next_cursor(page.next)))
        })))
    }

    pub(super) fn close_session(&self, params: Value) -> Result<Answer, RequestError> {
        let params: schema::CloseSessionRequest = read(params)?;
        let id = SessionId::new(&params.session_id.0);
        let session = self.sessions.remove(&id).ok_or(RequestError::UnknownSession(id))?;
        // Closed to the end, even if nobody waits for that any longer.
        let closing = tokio::spawn(async move { session.close().await });
        Ok(Answer::Later(Box::pin(async move {
            if let Err(error) = closing.await {
                tracing::error!(%error, "a session was not closed");
            }
            Ok(json(schema::CloseSessionResponse::new()))
        })))
    }

    fn face(&self, offers: Offers, connection: ConnectionTo<Client>) -> Arc<EditorFace> {
        let (draws_panels, flow) = (self.draws_panels.clone(), self.flow.clone());
        Arc::new(EditorFace::new(connection, offers, draws_panels, flow, &self.options))
    }
}

/// What can be chosen in a session and what holds, for clients with and without options.
fn choices(session: &SessionHandle, offers: Offers) -> (schema::SessionModeState, Vec<schema::SessionConfigOption>) {
    (wire::modes(session.mode()), wire::options(session.options(), offers))
}

/// A system prompt was not offered to be taken; the protocol wants an error then, and not silence.
fn refuse_system_prompt(params: &Value) -> Result<(), RequestError> {
    match params.get("systemPrompt") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(RequestError::field("systemPrompt", "is not supported: see `agentCapabilities`")),
    }
}

fn session_request(
    cwd: &std::path::Path,
    additional: &[std::path::PathBuf],
    servers: &[schema::McpServer],
    face: Arc<EditorFace>,
) -> Result<SessionRequest, RequestError> {
    let (cwd, additional) = wire::directories(cwd, additional)?;
    if !servers.is_empty() {
        tracing::warn!(servers = servers.len(), "the client's MCP servers are not connected: not supported yet");
    }
    Ok(SessionRequest { cwd, additional, face })
}
