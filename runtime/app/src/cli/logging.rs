//! Where the log goes: stderr or a file, never stdout, and never with a secret in it.

mod file;

use std::io::{self, IsTerminal as _, Write};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use self::file::LogFile;
use super::failure::Failure;
use crate::redaction::Redaction;
use crate::settings::{LogSettings, variable};

/// Who has started this program, where they say so.
const LAUNCHED_BY: &str = "ACP_RUNTIME_LAUNCHED_BY";

/// Starts the log of the process. What `redaction` knows, also what it learns later, is masked in every line.
pub(super) fn start(settings: &LogSettings, redaction: Redaction) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(settings.level.directives())
        .map_err(|error| Failure::new(format!("the log cannot be started: {error}")))?;
    // A line that cannot be written is lost: telling of it on stderr would panic when it is stderr that is full.
    let log = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let started = match &settings.file {
        None => {
            let log = log.with_ansi(io::stderr().is_terminal());
            log.with_writer(Cleaned { redaction, sink: Mutex::new(io::stderr()) }).try_init()
        }
        Some(path) => {
            let file = LogFile::open(path.clone()).map_err(|error| {
                Failure::usage(format!("the log file `{}` cannot be written: {error}", path.display()))
                    .hint("name another one with `--log-file` or `log.file`")
            })?;
            log.with_ansi(false).with_writer(Cleaned { redaction, sink: Mutex::new(file) }).try_init()
        }
    };
    started.map_err(|error| Failure::new(format!("the log cannot be started: {error}")))?;
    let launched_by = variable(LAUNCHED_BY).unwrap_or_default();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), pid = std::process::id(), launched_by, "started");
    Ok(())
}

/// Where whole lines go after they were cleaned.
struct Cleaned<W> {
    redaction: Redaction,
    sink: Mutex<W>,
}

impl<'a, W: Write + 'a> MakeWriter<'a> for Cleaned<W> {
    type Writer = Line<'a, W>;

    fn make_writer(&'a self) -> Line<'a, W> {
        Line(self)
    }
}

/// Takes one line at once, as `tracing` writes it.
struct Line<'a, W>(&'a Cleaned<W>);

impl<W: Write> Write for Line<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let clean = self.0.redaction.clean(&text);
        let mut sink = self.0.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        sink.write_all(clean.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner).flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LogFilter;

    #[test]
    fn a_line_is_cleaned_before_it_is_written() {
        let log = Cleaned { redaction: Redaction::default(), sink: Mutex::new(Vec::new()) };
        let mut line = log.make_writer();
        log.redaction.learn(&crate::secret::Secret::new("a secret of ours"));
        line.write_all(b"it is a secret of ours, sk-abcdefghijklmnop0123\n").unwrap();
        let written = String::from_utf8(log.sink.into_inner().unwrap()).unwrap();
        assert_eq!(written, "it is ****, ****\n");
    }

    /// As `tracing` understands it: what is named last holds.
    #[test]
    fn a_library_that_is_named_is_heard() {
        let named =
            EnvFilter::try_new("warn,genai=debug".parse::<LogFilter>().unwrap().directives()).unwrap().to_string();
        assert!(named.contains("genai=debug") && !named.contains("genai=off"), "{named}");
        assert!(named.contains("hyper=off"), "{named}");
    }
}
