//! Long outputs of tools, whole, in files beside the database: one folder for each session.
//!
//! Clients open them by their `file://` address. They are a convenience: one that cannot be written is only missing, and
//! what goes over the bounds is cut or makes older ones go. Knows nothing about where the texts come from.

#![expect(clippy::disallowed_methods, reason = "this room owns the folder of outputs")]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acp_runtime_agent::store::KeptOutput;
use acp_runtime_agent::transcript::{SessionId, ToolCallId};
use url::Url;

use acp_runtime_host::regular_file;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of one output.
    pub(super) output: usize,
    /// Bytes of all outputs of a session.
    pub(super) session: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { output: 8 << 20, session: 64 << 20 }
    }
}

/// The folder of all outputs.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    folder: PathBuf,
    bounds: Bounds,
}

impl Outputs {
    /// The outputs of the sessions in the file `database` have their folder beside it. It is made when something is kept.
    pub(super) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push("-outputs");
        Self { folder: folder.into(), bounds: Bounds::default() }
    }

    /// Keeps the output of a call. Older ones of the session go where they would be too much together.
    pub(super) fn keep(&self, session: &SessionId, call: &ToolCallId, text: &str) -> io::Result<KeptOutput> {
        let folder = self.folder_of(session)?;
        regular_file::private_folder(&folder)?;
        let (kept, note) = bounded(text, self.bounds.output);
        make_room(&folder, self.bounds.session.saturating_sub((kept.len() + note.len()) as u64))?;
        let name = format!("{}.txt", safe(call.as_str())?);
        let path = folder.join(&name);
        let mut file = regular_file::open_own(
            &path,
            regular_file::private(fs::OpenOptions::new().write(true).create(true).truncate(true)),
        )?;
        file.write_all(kept.as_bytes())?;
        file.write_all(note.as_bytes())?;
        let unnamed = || io::Error::other("the folder has no absolute path");
        let uri = Url::from_file_path(std::path::absolute(&path)?).map_err(|()| unnamed())?;
        Ok(KeptOutput { uri: uri.into(), name, size: (kept.len() + note.len()) as u64 })
    }

    /// Gives the output of `from` at the address `uri` an address in `to` as well, where it lives as long as that. None
    /// for any other address, and for an output that is gone.
    pub(super) fn share(&self, from: &SessionId, to: &SessionId, uri: &str) -> io::Result<Option<String>> {
        let old = std::path::absolute(self.folder_of(from)?)?;
        let Some(path) = uri.parse().ok().and_then(|uri: Url| uri.to_file_path().ok()) else { return Ok(None) };
        let Some(name) = path.file_name().filter(|_| path.parent() == Some(&*old)) else { return Ok(None) };
        let new = self.folder_of(to)?;
        regular_file::private_folder(&new)?;
        let shared = std::path::absolute(new.join(name))?;
        regular_file::require_own(&path)?;
        // Outputs are never written again, so a second name is as good as a copy.
        match fs::hard_link(&path, &shared).or_else(|_| fs::copy(&path, &shared).map(|_| ())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            linked => linked?,
        }
        Ok(Url::from_file_path(shared).ok().map(String::from))
    }

    /// Forgets the outputs of a session.
    pub(super) fn forget(&self, session: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.folder.join(safe(session)?)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The sessions that have outputs, and got none for `age`.
    pub(super) fn sessions(&self, age: Duration) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut sessions = Vec::new();
        for entry in entries {
            let entry = entry?;
            let changed = entry.metadata()?.modified()?;
            if SystemTime::now().duration_since(changed).is_ok_and(|since| since >= age) {
                sessions.extend(entry.file_name().into_string().ok());
            }
        }
        Ok(sessions)
    }

    fn folder_of(&self, session: &SessionId) -> io::Result<PathBuf> {
        Ok(self.folder.join(safe(session.as_str())?))
    }
}

/// Outputs of a session that is just being kept. Dropped before it is, they are forgotten.
pub(super) struct Provisional {
    outputs: Outputs,
    session: SessionId,
    is_kept: bool,
}

impl Provisional {
    pub(super) fn new(outputs: Outputs, session: SessionId) -> Self {
        Self { outputs, session, is_kept: false }
    }

    /// The session is kept.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Provisional {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = self.outputs.forget(self.session.as_str())
        {
            tracing::debug!("outputs of a session that is not kept stay for an hour: {error}");
        }
    }
}

/// An id that is safe as a file's name: ids come from this program, but a database can be edited.
fn safe(id: &str) -> io::Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.is_empty() || id.len() > 100 || !id.chars().all(plain) {
        return Err(io::Error::other("the id is no file name"));
    }
    Ok(id)
}

/// As much of `text` as may be kept, and a note of what is missing.
fn bounded(text: &str, most: usize) -> (&str, String) {
    if text.len() <= most {
        return (text, String::new());
    }
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let kept = text.get(..end).unwrap_or_default();
    (kept, format!("\n[cut: {} of {} bytes kept]\n", kept.len(), text.len()))
}

/// Removes the oldest files of a folder until the others have at most `most` bytes.
fn make_room(folder: &Path, most: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let path = entry.path();
        // Within one tick of the clock by name: `call-9` is older than `call-10`.
        files.push((metadata.modified()?, path.as_os_str().len(), path, metadata.len()));
    }
    files.sort_unstable();
    let mut all: u64 = files.iter().map(|(.., size)| size).sum();
    for (_, _, path, size) in files {
        if all <= most {
            break;
        }
        fs::remove_file(path)?;
        all -= size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_an_output_is_not_waited_for() {
        let (_place, outputs) = outputs(Bounds::default());
        let (session, other, call) = (SessionId::new("s"), SessionId::new("t"), ToolCallId::new("call-1"));
        let kept = outputs.keep(&session, &call, "x").unwrap();
        let path = kept.uri.parse::<Url>().unwrap().to_file_path().unwrap();
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let refused = [outputs.keep(&session, &call, "x").err(), outputs.share(&session, &other, &kept.uri).err()];
        for refused in refused {
            assert_eq!(refused.unwrap().to_string(), "it is a named pipe, not a file");
        }
    }

    fn outputs(bounds: Bounds) -> (TempDir, Outputs) {
        let place = tempfile::tempdir().unwrap();
        let database = place.path().join("with space/db");
        (place, Outputs { bounds, ..Outputs::beside(&database) })
    }

    fn keep(outputs: &Outputs, session: &str, call: &str, text: &str) -> KeptOutput {
        outputs.keep(&SessionId::new(session), &ToolCallId::new(call), text).unwrap()
    }

    fn read(kept: &KeptOutput) -> Option<String> {
        fs::read_to_string(kept.uri.parse::<Url>().unwrap().to_file_path().unwrap()).ok()
    }

    #[test]
    fn an_output_is_found_at_its_address_until_its_session_goes() {
        let (_place, outputs) = outputs(Bounds::default());
        let (one, two) = (keep(&outputs, "s", "call-1", "whole"), keep(&outputs, "t", "call-1", "other"));
        assert!(one.uri.starts_with("file:///") && one.uri.contains("with%20space/db-outputs/s/call-1.txt"), "{one:?}");
        assert_eq!((one.name.as_str(), one.size), ("call-1.txt", 5));
        assert_eq!((read(&one).as_deref(), read(&two).as_deref()), (Some("whole"), Some("other")));
        outputs.forget("s").unwrap();
        outputs.forget("s").unwrap();
        assert_eq!((read(&one).as_deref(), read(&two).as_deref()), (None, Some("other")));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_them() {
        use std::os::unix::fs::PermissionsExt as _;
        let (place, outputs) = outputs(Bounds::default());
        keep(&outputs, "s", "call-1", "x");
        let mode = |path: &str| {
            fs::metadata(place.path().join("with space/db-outputs").join(path)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("s"), mode("s/call-1.txt")), (0o700, 0o600));
    }

    #[test]
    fn bounds_hold() {
        let (_place, outputs) = outputs(Bounds { output: 10, session: 100 });
        let cut = keep(&outputs, "s", "call-1", "0123456789ü");
        assert_eq!(read(&cut).unwrap(), "0123456789\n[cut: 10 of 12 bytes kept]\n");
        let kept: Vec<KeptOutput> = (2..20).map(|n| keep(&outputs, "s", &format!("call-{n}"), "0123456789")).collect();
        let left: Vec<bool> = std::iter::once(&cut).chain(&kept).map(|kept| read(kept).is_some()).collect();
        assert_eq!(left.iter().filter(|left| **left).count(), 10, "{left:?}");
        assert!(left.ends_with(&[true; 10]), "the oldest go first: {left:?}");
    }

    #[test]
    fn the_sessions_with_outputs_are_known_by_their_age() {
        let (_place, outputs) = outputs(Bounds::default());
        assert_eq!(outputs.sessions(Duration::ZERO).unwrap(), Vec::<String>::new());
        keep(&outputs, "s", "call-1", "x");
        assert_eq!(outputs.sessions(Duration::ZERO).unwrap(), ["s"]);
        assert_eq!(outputs.sessions(Duration::from_hours(1)).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn an_id_never_leads_elsewhere() {
        let (_place, outputs) = outputs(Bounds::default());
        for id in ["", "..", "a/b", "a\\b", "a\0", "ü"] {
            assert!(outputs.keep(&SessionId::new(id), &ToolCallId::new("c"), "x").is_err(), "{id:?}");
            assert!(outputs.keep(&SessionId::new("s"), &ToolCallId::new(id), "x").is_err(), "{id:?}");
            assert!(outputs.forget(id).is_err(), "{id:?}");
        }
    }
}
