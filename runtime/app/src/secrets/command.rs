//! Keys that programs print: a password manager's, a company's own helper's.

use std::path::PathBuf;
use std::time::Duration;

use acp_runtime_agent::plain;

use crate::process::{Capture, Launcher, Output, Program, StartError};
use crate::secret::Secret;

/// How long a program may take: it may ask its person for a finger.
const LIMIT: Duration = Duration::from_secs(60);
/// Bytes of a key.
const LONGEST: usize = 16 * 1024;
/// Bytes of what it says to people that are read.
const TALK: usize = 4 * 1024;
/// Characters of its last words that are told.
const COMPLAINT: usize = 200;

/// Starts such programs, without a shell and without input. What they start ends with them, or with their time.
pub struct KeyPrograms {
    launcher: Launcher,
    folder: PathBuf,
}

impl KeyPrograms {
    /// Programs that `launcher` starts in `folder`, where their relative paths begin.
    pub fn new(launcher: Launcher, folder: PathBuf) -> Self {
        Self { launcher, folder }
    }

    /// Whether there is such a program. Starts nothing.
    pub fn find(&self, command: &[String]) -> Result<(), StartError> {
        let name = command.first().map_or("", String::as_str);
        self.launcher.find(&Program::new(name, &self.folder)).map(drop)
    }

    /// The line that `command` (a program and its arguments) prints. The error says what became of it.
    pub async fn key(&self, command: &[String]) -> Result<Secret, String> {
        let Some((name, arguments)) = command.split_first() else { return Err("no program is named".to_owned()) };
        let program = Program { arguments: arguments.to_vec(), ..Program::new(name, &self.folder) };
        let mut running = self.launcher.start(program).await.map_err(|error| format!("{error}: {}", error.hint()))?;
        let (output, errors) = (running.output.take(), running.errors.take());
        let finished = Box::pin(async { tokio::join!(running.wait(), read(output, LONGEST), read(errors, TALK)) });
        let Ok((status, output, talk)) = tokio::time::timeout(LIMIT, finished).await else {
            return Err(format!("`{name}` did not end within {} s", LIMIT.as_secs()));
        };
        let status = status.map_err(|error| format!("`{name}` cannot be waited for: {error}"))?;
        let complaint = last_words(&talk);
        if !status.success() {
            return Err(format!("`{name}` ended with {status}{complaint}"));
        }
        match output.trim() {
            "" => Err(format!("`{name}` printed nothing{complaint}")),
            key if key.chars().any(char::is_control) || key.len() > LONGEST / 2 => {
                Err(format!("`{name}` printed more than a key"))
            }
            key => Ok(Secret::new(key)),
        }
    }
}

async fn read(output: Option<Output>, most: usize) -> String {
    let mut capture = Capture::new(most);
    if let Some(mut output) = output {
        // What was read until a failure is what there is.
        let _ = capture.read(&mut output).await;
    }
    capture.text()
}

/// The last line that it said to people, as a part of a sentence.
fn last_words(talk: &str) -> String {
    match talk.lines().map(|line| plain::line(line, COMPLAINT)).rfind(|line| !line.is_empty()) {
        Some(line) => format!(" ({line})"),
        None => String::new(),
    }
}
