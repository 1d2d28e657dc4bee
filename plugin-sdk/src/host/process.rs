//! Programs of this machine: those that the manifest names below `exec`, run without a shell.
//!
//! ```no_run
//! let branch = acp_plugin::process::Command::new("git").args(["branch", "--show-current"]).run()?.success()?;
//! # Ok::<(), acp_plugin::Error>(())
//! ```

use std::time::Duration;

use super::imports;
use crate::bindings::imports::host::process as wire;
use crate::{Error, Result};

/// A program to run. It has nothing to read, and of the environment what its right names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    folder: Option<String>,
    timeout: Option<Duration>,
}

impl Command {
    /// The program of that name, in the session's first folder.
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), folder: None, timeout: None }
    }

    /// One more argument, as it is.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments, as they are.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The folder that it runs in, as the plugin sees it: `/workspace/src`, or relative to the first root.
    #[must_use]
    pub fn current_dir(self, folder: impl Into<String>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Less time than the host gives, in whole milliseconds.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Runs it to its end. An exit code other than 0 is no error; see [`Output::success`].
    pub fn run(self) -> Result<Output> {
        let program = self.program.clone();
        let command = wire::Command {
            program: self.program,
            arguments: self.arguments,
            cwd: self.folder,
            timeout_ms: self.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            extra: Vec::new(),
        };
        let wire::Output { code, signal, stdout, stderr, extra: _ } = imports::process::run(&command)?;
        Ok(Output { program, code, signal, stdout, stderr })
    }
}

/// What came of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    program: String,
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// All that it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// All that it wrote to its standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Its standard output as text, where it ended with exit code 0; else an error with the first line of what it said.
    pub fn success(self) -> Result<String> {
        if self.code == Some(0) {
            return Ok(String::from_utf8_lossy(&self.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&self.stderr);
        let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it did not say why");
        let ended = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        };
        Err(Error::internal(format_args!("`{}` ended with {ended}: {said}", self.program)))
    }
}
