//! Where the log goes: stderr or a file, never stdout.
#![expect(clippy::disallowed_methods, reason = "the log file is opened here")]

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use tracing_subscriber::EnvFilter;

use super::failure::Failure;
use crate::settings::LogSettings;

/// Starts the log of the process.
pub(super) fn start(settings: &LogSettings) -> Result<(), Failure> {
    let level = settings.level.as_str();
    let filter = EnvFilter::try_new(level)
        .map_err(|error| Failure::usage(format!("`{level}` is not a log level: {error}")).hint("such as `info`"))?;
    // A line that cannot be written is lost: telling of it on stderr would panic when it is stderr that is full.
    let log = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let started = match &settings.file {
        None => log.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr).try_init(),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
                Failure::usage(format!("the log file `{}` cannot be written: {error}", path.display()))
                    .hint("name another one with `--log-file` or `log.file`")
            })?;
            log.with_ansi(false).with_writer(Arc::new(file)).try_init()
        }
    };
    started.map_err(|error| Failure::new(format!("the log cannot be started: {error}")))
}
