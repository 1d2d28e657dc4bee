//! `aar:host/workspace`: text files of the session's roots, through the editor where it offers that.

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::gate::Exhibit;
use acp_runtime_agent::plain;
use acp_runtime_agent::transcript::change;
use acp_runtime_agent::workspace::{Entry, WorkspaceError};

use crate::scope::guest_root;
use crate::state::{Call, HostError};

/// The roots: where the guest sees each, and the folder's own name.
pub(crate) fn roots(call: &mut Call) -> Vec<(String, String)> {
    let Ok(session) = call.session() else { return Vec::new() };
    let named = session.scope.folders.names.iter().map(|root| {
        let name = root.path.file_name().map(|name| name.to_string_lossy().into_owned());
        (guest_root(root.id), name.unwrap_or_default())
    });
    named.collect()
}

/// A file's text, or `limit` lines of it from `line` (counted from 1).
pub(crate) async fn read_text(
    call: &mut Call,
    path: &str,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<String, HostError> {
    let path = resolve(call, path)?;
    let permit = call.authorize(vec![Effect::Read(path.scope())]).await?;
    let text = call.session()?.scope.workspace.read(&permit, &path).await?;
    let text = match (line, limit) {
        (None, None) => text,
        (line, limit) => {
            let skipped = line.unwrap_or(1).saturating_sub(1) as usize;
            let taken = limit.map_or(usize::MAX, |limit| limit as usize);
            text.split_inclusive('\n').skip(skipped).take(taken).collect()
        }
    };
    let most = call.crossing;
    if text.len() > most {
        let size = text.len();
        return Err(HostError::limit(format!("`{path}` has {size} bytes; at most {most} at once: read fewer lines")));
    }
    Ok(text)
}

/// Writes a whole file; makes the folders above it. What a plugin may read without a question is shown as a change, and
/// goes through the editor: the text there may not be saved yet.
pub(crate) async fn write_text(call: &mut Call, path: &str, text: &str) -> Result<(), HostError> {
    let path = resolve(call, path)?;
    call.refuse_secrets([text], "the text")?;
    let scope = call.session()?.scope.clone();
    let (read, write) = (Effect::Read(path.scope()), Effect::Write(path.scope()));
    let Some(reading) = call.unasked(vec![read.clone()]).await else {
        let permit = call.authorize(vec![write]).await?;
        return Ok(scope.workspace.write(&permit, &path, text).await?);
    };
    let before = scope.workspace.read(&reading, &path).await;
    let shown = |old| change(scope.folders.names.display(&path), old, text);
    let content = match &before {
        Ok(old) => vec![shown(Some(old))],
        Err(WorkspaceError::NotFound(_)) => vec![shown(None)],
        Err(_) => Vec::new(),
    };
    let permit = call.authorize_with(vec![read, write], Exhibit { content, ..Exhibit::default() }).await?;
    // The answer was about what was shown.
    if permit.was_asked() && scope.workspace.read(&reading, &path).await != before {
        return Err(HostError::conflict(
            "the file changed while the user was asked, and was left as it is; read it again",
        ));
    }
    Ok(scope.workspace.write(&permit, &path, text).await?)
}

/// A folder's entries.
pub(crate) async fn list_directory(call: &mut Call, path: &str) -> Result<Vec<Entry>, HostError> {
    let path = resolve(call, path)?;
    let permit = call.authorize(vec![Effect::Read(path.scope())]).await?;
    Ok(call.session()?.scope.workspace.list(&permit, &path).await?)
}

fn resolve(call: &mut Call, path: &str) -> Result<WorkspacePath, HostError> {
    let shown = plain::cut(path, 4096);
    if shown.len() < path.len() {
        return Err(HostError::invalid("the path has more than 4096 bytes"));
    }
    Ok(call.session()?.scope.folders.resolve(path)?)
}
