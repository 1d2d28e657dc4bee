//! A session as one document, for people or for programs.
#![expect(clippy::disallowed_methods, reason = "`session export` writes the file that it is given")]

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use acp_runtime_agent::event::{self, SessionEvent};
use acp_runtime_agent::store::SessionRecord;
use acp_runtime_host::whole_file;
use serde_json::{Value, json};

use super::markdown;
use crate::cli::arguments::ExportFormat;
use crate::cli::failure::Failure;

/// Writes the session to `output`, or else to stdout. The file's name says the format where none is given. A file that is
/// there is replaced only with `force`.
pub(super) fn write(
    record: &SessionRecord,
    events: &[SessionEvent],
    format: Option<ExportFormat>,
    output: Option<&Path>,
    force: bool,
) -> Result<(), Failure> {
    let named = output.and_then(Path::extension).is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let format = format.unwrap_or(if named { ExportFormat::Json } else { ExportFormat::Markdown });
    let text = match format {
        ExportFormat::Json => format!("{:#}\n", as_json(record, events)?),
        ExportFormat::Markdown => markdown::document(record, events),
    };
    match output {
        None => Ok(io::stdout().write_all(text.as_bytes())?),
        Some(path) => {
            let failed = |error: io::Error| match error.kind() {
                ErrorKind::AlreadyExists => Failure::new(format!("`{}` is there, and stays as it is", path.display()))
                    .hint("name another file, or pass `--force` to replace it"),
                _ => Failure::unwritable(path, &error),
            };
            put(path, text.as_bytes(), force).map_err(failed)?;
            Ok(writeln!(io::stdout(), "{}", path.display())?)
        }
    }
}

/// What was said in a session is its owner's alone. A link is followed to the file that is meant.
fn put(path: &Path, bytes: &[u8], force: bool) -> io::Result<()> {
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(io::Error::other("it is a folder, not a file")),
        Ok(there) if there.is_file() && force => whole_file::put(&path.canonicalize()?, bytes),
        Ok(there) if there.is_file() => Err(ErrorKind::AlreadyExists.into()),
        // A terminal, a pipe: nothing of it is replaced.
        Ok(_) => std::fs::write(path, bytes),
        Err(_) => whole_file::put_new(path, bytes),
    }
}

fn as_json(record: &SessionRecord, events: &[SessionEvent]) -> Result<Value, Failure> {
    let mut session = super::as_json(record);
    session["systemPrompt"] = serde_json::to_value(&record.setup.system_prompt)?;
    Ok(json!({ "format": event::FORMAT, "session": session, "events": events }))
}
