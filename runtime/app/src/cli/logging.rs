//! Where the log goes: stderr or a file, never stdout.
#![expect(clippy::disallowed_methods, reason = "the log file is opened here")]

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use tracing_subscriber::EnvFilter;

use super::failure::Failure;
use crate::settings::LogSettings;

/// Libraries that write down what is sent and received when something goes wrong, keys included: they are silent unless
/// the filter names them.
const TALKATIVE: [&str; 5] = ["genai", "reqwest", "hyper", "hyper_util", "h2"];

/// Starts the log of the process.
pub(super) fn start(settings: &LogSettings) -> Result<(), Failure> {
    let level = settings.level.as_str();
    let filter = EnvFilter::try_new(silencing(level))
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

/// The filter, behind which the talkative ones are heard only by their names.
fn silencing(filter: &str) -> String {
    let silent = TALKATIVE.iter().map(|target| format!("{target}=off,"));
    silent.chain([filter.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_talkative_are_heard_by_their_names_alone() {
        let filter = |text: &str| EnvFilter::try_new(silencing(text)).unwrap().to_string();
        for general in ["off", "error", "warn", "trace", "acp_runtime=debug"] {
            let filter = filter(general);
            let silent = TALKATIVE.iter().all(|target| filter.contains(&format!("{target}=off")));
            assert!(silent && filter.contains(general), "{general}: {filter}");
        }
        let named = filter("warn,genai=debug");
        assert!(named.contains("genai=debug") && !named.contains("genai=off"), "{named}");
        assert!(named.contains("hyper=off"), "{named}");
    }
}
