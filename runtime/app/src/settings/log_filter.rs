//! What the log hears: a level for all of the program, and others for single rooms of it.
//!
//! This is the one place that knows which module a room is, and which libraries are worth hearing.

use std::fmt::{self, Display};
use std::str::FromStr;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Each room, and what it is called in the log's lines.
const ROOMS: [(&str, &[&str]); 22] = [
    ("acp", &["acp_runtime::acp", "agent_client_protocol", CONNECTION[0], CONNECTION[1]]),
    ("agent", &["acp_runtime_agent"]),
    ("audit", &["acp_runtime::audit", "audit"]),
    ("authoring", &["acp_runtime::authoring"]),
    ("cli", &["acp_runtime::cli"]),
    ("compose", &["acp_runtime::compose"]),
    ("host", &["acp_runtime_host"]),
    ("mcp", &["acp_runtime::mcp", "mcp"]),
    ("models", &["acp_runtime::models"]),
    ("plugin", &["plugin"]),
    ("process", &["acp_runtime::process"]),
    ("programs", &["acp_runtime::programs"]),
    ("registry", &["acp_runtime::registry"]),
    ("request", &["request"]),
    ("runtime", &["acp_runtime"]),
    ("secrets", &["acp_runtime::secrets"]),
    ("settings", &["acp_runtime::settings"]),
    ("store", &["acp_runtime::store"]),
    ("terminal", &["acp_runtime::terminal"]),
    ("tools", &["acp_runtime::tools"]),
    ("transport", &["acp_runtime::transport"]),
    ("workspace", &["acp_runtime::workspace"]),
];

/// Libraries that can be named. Those of [`TALKATIVE`] are heard in no other way, those of [`VERBOSE`] only warn.
const LIBRARIES: [&str; 9] = [
    TALKATIVE[0],
    TALKATIVE[1],
    TALKATIVE[2],
    TALKATIVE[3],
    TALKATIVE[4],
    TALKATIVE[5],
    VERBOSE[0],
    VERBOSE[1],
    "rustls",
];

/// They write down what is sent and received when something goes wrong, keys included.
const TALKATIVE: [&str; 6] = ["genai", "reqwest", "hyper", "hyper_util", "h2", "rmcp"];

/// They have thousands of lines for each plugin that is compiled.
const VERBOSE: [&str; 2] = ["cranelift", "wasmtime"];

/// They warn of each mistake of the client, which is told of it and has a line of its own; and of late answers, which
/// every cancel leads to.
const CONNECTION: [&str; 2] =
    ["agent_client_protocol::jsonrpc::incoming_actor", "agent_client_protocol::jsonrpc::outgoing_actor"];

/// What to log: a level, and `room=level` pairs between commas. The default is `warn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    written: String,
    directives: String,
}

impl LogFilter {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The filter as `tracing` reads it, with what nobody wants to hear left out.
    pub fn directives(&self) -> &str {
        &self.directives
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self { written: "warn".to_owned(), directives: directives(&[(None, "warn")]) }
    }
}

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pairs = text.split(',').map(|pair| match pair.rsplit_once('=') {
            Some((name, named)) => Ok((Some(targets(name.trim())?), level(named)?)),
            None => Ok((None, level(pair)?)),
        });
        let pairs = pairs.collect::<Result<Vec<_>, String>>()?;
        Ok(Self { written: text.to_owned(), directives: directives(&pairs) })
    }
}

impl Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn level(text: &str) -> Result<&'static str, String> {
    let text = text.trim();
    LEVELS.into_iter().find(|level| level.eq_ignore_ascii_case(text)).ok_or_else(|| {
        let levels = LEVELS.join("`, `");
        format!("`{text}` is not a log level: expected `{levels}`, or `room=level` pairs between commas")
    })
}

/// What a name stands for. A module of this program can be named by its path as well.
fn targets(name: &str) -> Result<Vec<&str>, String> {
    if let Some((_, targets)) = ROOMS.iter().find(|(room, _)| *room == name) {
        return Ok(targets.to_vec());
    }
    let (own, libraries) = (["acp_runtime", "acp_runtime_agent", "acp_runtime_host"], LIBRARIES);
    let program = name.split("::").next().unwrap_or_default();
    if own.contains(&program) || libraries.contains(&program) {
        return Ok(vec![name]);
    }
    let rooms = ROOMS.map(|(room, _)| room).join("`, `");
    let libraries = libraries.join("`, `");
    Err(format!("`{name}` is not a room of the log: expected `{rooms}`, or one of the libraries `{libraries}`"))
}

fn directives(pairs: &[(Option<Vec<&str>>, &str)]) -> String {
    let general = pairs.iter().rev().find(|(targets, _)| targets.is_none()).map(|(_, level)| *level);
    let quiet: Vec<String> = match general {
        Some("warn" | "info") => CONNECTION.iter().map(|target| format!("{target}=error")).collect(),
        Some("debug" | "trace") => VERBOSE.iter().map(|library| format!("{library}=warn")).collect(),
        _ => Vec::new(),
    };
    let silenced = TALKATIVE.iter().map(|library| format!("{library}=off")).chain(quiet);
    let asked = pairs.iter().flat_map(|(targets, level)| match targets {
        Some(targets) => targets.iter().map(|target| format!("{target}={level}")).collect(),
        None => vec![(*level).to_owned()],
    });
    silenced.chain(asked).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> String {
        text.parse::<LogFilter>().unwrap().directives().to_owned()
    }

    /// What is asked for, behind what is silenced.
    fn asked(text: &str) -> String {
        let all = filter(text);
        let silenced = directives(&[]);
        let quiet = CONNECTION.map(|target| format!(",{target}=error")).concat();
        all.strip_prefix(&silenced).unwrap().strip_prefix(&quiet).unwrap_or(&all[silenced.len()..])[1..].to_owned()
    }

    #[test]
    fn a_room_is_its_modules() {
        for (text, directives) in [
            ("warn", "warn"),
            ("WARN", "warn"),
            (" info , host = debug ", "info,acp_runtime_host=debug"),
            ("warn,host=debug,mcp=trace", "warn,acp_runtime_host=debug,acp_runtime::mcp=trace,mcp=trace"),
            ("audit=info", "acp_runtime::audit=info,audit=info"),
            ("request=off,info", "request=off,info"),
            ("acp_runtime::acp::live=trace", "acp_runtime::acp::live=trace"),
            ("error,rmcp=debug", "error,rmcp=debug"),
        ] {
            assert_eq!(asked(text), directives, "{text}");
            assert_eq!(text.parse::<LogFilter>().unwrap().to_string(), text);
        }
        assert_eq!(LogFilter::default(), "warn".parse().unwrap());
    }

    #[test]
    fn what_is_neither_room_nor_level_is_refused() {
        let rooms = "expected `acp`, `agent`, `audit`, `authoring`, `cli`, `compose`, `host`, `mcp`, `models`, `plugin`, \
                     `process`, `programs`, `registry`, `request`, `runtime`, `secrets`, `settings`, `store`, `terminal`, `tools`, \
                     `transport`, `workspace`, or one of the libraries `genai`, `reqwest`, `hyper`, `hyper_util`, `h2`, \
                     `rmcp`, `cranelift`, `wasmtime`, `rustls`";
        let levels = "expected `off`, `error`, `warn`, `info`, `debug`, `trace`, or `room=level` pairs between commas";
        for (text, error) in [
            ("", format!("`` is not a log level: {levels}")),
            ("loud", format!("`loud` is not a log level: {levels}")),
            ("warn,", format!("`` is not a log level: {levels}")),
            ("host", format!("`host` is not a log level: {levels}")),
            ("host=loud", format!("`loud` is not a log level: {levels}")),
            ("warn,hots=debug", format!("`hots` is not a room of the log: {rooms}")),
            ("=debug", format!("`` is not a room of the log: {rooms}")),
            ("host[span]=debug", format!("`host[span]` is not a room of the log: {rooms}")),
            ("serde=debug", format!("`serde` is not a room of the log: {rooms}")),
        ] {
            assert_eq!(text.parse::<LogFilter>().unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn what_nobody_wants_to_hear_is_silent_until_it_is_named() {
        for general in ["off", "error", "warn", "trace", "acp_runtime=debug"] {
            let filter = filter(general);
            let silent = TALKATIVE.iter().all(|target| filter.contains(&format!("{target}=off,")));
            assert!(silent && filter.ends_with(general), "{general}: {filter}");
            let quiet = CONNECTION.iter().all(|target| filter.contains(&format!("{target}=error,")));
            assert_eq!(quiet, general == "warn", "{general}: {filter}");
            let short = VERBOSE.iter().all(|target| filter.contains(&format!("{target}=warn,")));
            assert_eq!(short, general == "trace", "{general}: {filter}");
        }
    }

    /// Some have nothing to say.
    #[test]
    fn every_module_of_the_program_is_a_room_that_is_documented() {
        let modules =
            include_str!("../lib.rs").lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        for module in modules.filter(|module| !["address", "redaction", "secret"].contains(module)) {
            assert!(ROOMS.iter().any(|(room, _)| *room == module), "`{module}` is no room of the log");
        }
        let documentation = include_str!("../../../../docs/configuration.md");
        let help = include_str!("../cli/arguments.rs").split("Rooms of the log:").nth(1).unwrap();
        let listed: Vec<&str> = help.split("\n\n").next().unwrap().split_whitespace().collect();
        assert_eq!(listed, ROOMS.map(|(room, _)| room), "in the help");
        for (room, _) in ROOMS {
            assert!(documentation.contains(&format!("| `{room}` |")), "`{room}` is not in the documentation");
        }
    }
}
