//! Starts other programs, and speaks on stderr.
#![expect(clippy::disallowed_methods, reason = "chores consist of starting other programs")]

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::Result;

/// A program that is not started yet.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}

/// Runs it to its end, with our own stdout and stderr. Anything but success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("{} could not be started: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed with {status}", shown(command)).into()) }
}

/// The same, and answers what it wrote to stdout.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{} could not be started: {error}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} failed with {}", shown(command), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Writes a line to stderr; a closed stderr is no reason to stop.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}
