//! The prompt of `acp-runtime run`, and what is piped into it: context, which the model is shown beside the prompt.

use std::io::{self, IsTerminal as _, Read as _};
use std::time::Duration;

use acp_runtime_agent::command::has_form;
use acp_runtime_agent::transcript::Part;

use crate::cli::failure::Failure;
use crate::cli::headless::Screen;

/// Bytes from stdin.
const MOST: u64 = 16 << 20;
/// How long nobody is told that stdin is waited for.
const QUIET: Duration = Duration::from_secs(2);
/// The address of what came from stdin, as the model and the session's readers see it.
const ADDRESS: &str = "stdin:";

/// What is sent: the argument, or stdin in its place, or both where something is piped in. A slash command takes
/// nothing from stdin.
pub(super) async fn prompt(argument: String, screen: &Screen) -> Result<Vec<Part>, Failure> {
    let empty = || Failure::usage("the prompt is empty").hint("write it as the last argument, or `-` to read stdin");
    if argument == "-" {
        let text = all(screen).await?;
        return if text.trim().is_empty() { Err(empty()) } else { Ok(vec![Part::Text { text }]) };
    }
    if argument.trim().is_empty() {
        return Err(empty());
    }
    let is_command = has_form(&argument);
    let mut parts = vec![Part::Text { text: argument }];
    if !is_command && !io::stdin().is_terminal() {
        let text = all(screen).await?;
        if !text.trim().is_empty() {
            parts.push(Part::Resource { uri: ADDRESS.to_owned(), text });
        }
    }
    Ok(parts)
}

/// All of stdin. Where that takes long, somebody may not know that it is waited for.
async fn all(screen: &Screen) -> Result<String, Failure> {
    let mut reading = tokio::task::spawn_blocking(read);
    let read = tokio::select! {
        read = &mut reading => read,
        () = tokio::time::sleep(QUIET) => {
            screen.remark("waiting for the end of stdin, which the model is shown: `</dev/null` gives it nothing");
            reading.await
        }
    };
    read.map_err(|error| Failure::new(format!("stdin cannot be read: {error}")))?
}

fn read() -> Result<String, Failure> {
    let mut text = String::new();
    match io::stdin().take(MOST + 1).read_to_string(&mut text) {
        Ok(size) if size as u64 > MOST => {
            Err(Failure::usage(format!("what came from stdin has more than {MOST} bytes")))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::usage(format!("stdin cannot be read: {error}")).hint("it must be text in UTF-8")),
    }
}
