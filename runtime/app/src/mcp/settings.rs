//! What a person writes about a server: `[mcp.NAME]` in the settings, or an entry of a file in the common JSON form.
//!
//! Plain data. `${NAME}` in its values stands for a variable of the environment, looked up when a session begins.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use acp_runtime_agent::server::Reach;
use schemars::JsonSchema;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::variables::{Environment, filled};
use crate::secret::Secret;

/// One server: `[mcp.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Written", into = "Written")]
pub struct ServerSettings {
    place: Place,
    patience: Patience,
    enabled: bool,
}

/// How long to wait for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until it has told of its tools.
    pub start: Duration,
    /// Until a call has ended, or has told of its progress.
    pub call: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { start: Duration::from_secs(20), call: Duration::from_secs(120) }
    }
}

/// Where a server is, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Program {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, Secret>,
    },
    Http {
        url: Secret,
        headers: BTreeMap<String, Secret>,
    },
    /// A kind that others know.
    Unsupported(String),
}

/// An MCP server: a program (`command`), or an address (`url`).
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ServerSettings")]
struct Written {
    /// The program that is the server, and speaks on its standard input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    /// Its variables, beside a minimal environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, Secret>,
    /// Where the server is, for one that is reached over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Secret>,
    /// HTTP headers to send.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, Secret>,
    /// How many seconds a call may take without a word of its progress. 120 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 120))]
    timeout: Option<NonZeroU32>,
    /// How many seconds the server may take to start. 20 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 20))]
    start_timeout: Option<NonZeroU32>,
    /// Whether sessions have it. True by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    enabled: Option<bool>,
}

impl TryFrom<Written> for ServerSettings {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { command, args, env, url, headers, timeout, start_timeout, enabled } = written;
        let place = match (command, url) {
            (Some(_), Some(_)) => return Err("a server has a `command` or a `url`, and not both"),
            (None, None) => return Err("a server needs a `command`, or a `url`"),
            (Some(command), None) if command.is_empty() => return Err("`command` is empty"),
            (Some(_), None) if !headers.is_empty() => return Err("`headers` belong to a server with a `url`"),
            (None, Some(_)) if !args.is_empty() || !env.is_empty() => {
                return Err("`args` and `env` belong to a server with a `command`");
            }
            (Some(command), None) => Place::Program { command, args, env },
            (None, Some(url)) => Place::Http { url, headers },
        };
        let seconds = |written: Option<NonZeroU32>, usual: Duration| {
            written.map_or(usual, |seconds| Duration::from_secs(seconds.get().into()))
        };
        let usual = Patience::default();
        let patience = Patience { start: seconds(start_timeout, usual.start), call: seconds(timeout, usual.call) };
        Ok(Self { place, patience, enabled: enabled.unwrap_or(true) })
    }
}

impl From<ServerSettings> for Written {
    fn from(settings: ServerSettings) -> Self {
        let ServerSettings { place, patience, enabled } = settings;
        let usual = Patience::default();
        let seconds = |time: Duration, usual: Duration| {
            let seconds = u32::try_from(time.as_secs()).ok().and_then(NonZeroU32::new);
            seconds.filter(|_| time != usual)
        };
        let written = Self {
            timeout: seconds(patience.call, usual.call),
            start_timeout: seconds(patience.start, usual.start),
            enabled: (!enabled).then_some(false),
            ..Self::default()
        };
        match place {
            Place::Program { command, args, env } => Self { command: Some(command), args, env, ..written },
            Place::Http { url, headers } => Self { url: Some(url), headers, ..written },
            Place::Unsupported(_) => written,
        }
    }
}

impl ServerSettings {
    /// How to reach it, with all variables of `environment` filled in.
    pub(super) fn reach(&self, environment: Environment) -> Reach {
        let reach = match &self.place {
            Place::Unsupported(kind) => Ok(Reach::unsupported(kind)),
            Place::Program { command, args, env } => program(command, args, env, environment),
            Place::Http { url, headers } => http(url, headers, environment),
        };
        reach.unwrap_or_else(|variable| {
            Reach::unusable(
                format!("the variable `{variable}` is not set"),
                format!("set it, or write `${{{variable}:-}}` where it may be empty"),
            )
        })
    }

    /// Where it is, as it is written down.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Whether sessions have it.
    pub(super) fn enabled(&self) -> bool {
        self.enabled
    }

    /// How long to wait for it.
    pub(super) fn patience(&self) -> Patience {
        self.patience
    }
}

type Filled<T> = Result<T, String>;

fn program(command: &str, args: &[String], env: &BTreeMap<String, Secret>, environment: Environment) -> Filled<Reach> {
    let fill = |text: &str| filled(text, environment);
    Ok(Reach::Program {
        program: fill(command)?,
        arguments: args.iter().map(|text| fill(text)).collect::<Filled<_>>()?,
        environment: secrets(env, environment)?,
    })
}

fn http(url: &Secret, headers: &BTreeMap<String, Secret>, environment: Environment) -> Filled<Reach> {
    Ok(Reach::Http { url: filled(url.expose(), environment)?, headers: secrets(headers, environment)? })
}

fn secrets(values: &BTreeMap<String, Secret>, environment: Environment) -> Filled<BTreeMap<String, String>> {
    values.iter().map(|(name, value)| Ok((name.clone(), filled(value.expose(), environment)?))).collect()
}

/// Reads the form that many clients share: `{"mcpServers": {"NAME": {"command": …}}}`. What other clients have in an
/// entry beside that is left alone. The error says which entry is wrong.
pub fn from_json(text: &str) -> Result<BTreeMap<String, ServerSettings>, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let Some(entries) = file.get("mcpServers").and_then(Value::as_object) else {
        return Err("it has no object `mcpServers`".to_owned());
    };
    if let Some(twice) = twice(text) {
        return Err(format!("the server `{twice}` is there twice"));
    }
    let read = |(name, entry): (&String, &Value)| {
        let settings = entry_of(entry).map_err(|problem| format!("the server `{name}`: {problem}"))?;
        Ok((name.clone(), settings))
    };
    entries.iter().map(read).collect()
}

/// A server that a file has twice: of a JSON object only the last member of a name would be seen.
fn twice(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct File {
        #[serde(rename = "mcpServers")]
        servers: Names,
    }
    struct Names(Vec<String>);
    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
            reader.deserialize_map(NamesVisitor)
        }
    }
    struct NamesVisitor;
    impl<'de> Visitor<'de> for NamesVisitor {
        type Value = Names;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
            let mut names = Vec::new();
            while let Some((name, IgnoredAny)) = map.next_entry()? {
                names.push(name);
            }
            Ok(Names(names))
        }
    }
    let File { servers: Names(mut names) } = serde_json::from_str(text).ok()?;
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
}

/// An entry of the file, as far as it means something here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    r#type: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, Secret>,
    url: Option<Secret>,
    headers: BTreeMap<String, Secret>,
    disabled: bool,
}

fn entry_of(entry: &Value) -> Result<ServerSettings, String> {
    let Entry { r#type, command, args, env, url, headers, disabled } =
        Entry::deserialize(entry).map_err(|error| error.to_string())?;
    let written = Written { enabled: Some(!disabled), ..Written::default() };
    let written = match r#type.as_deref() {
        Some("stdio") => Written { command, args, env, ..written },
        Some("http" | "streamable-http" | "streamableHttp") => Written { url, headers, ..written },
        None => Written { command, args, env, url, headers, ..written },
        Some(kind) => {
            return Ok(ServerSettings {
                place: Place::Unsupported(kind.to_owned()),
                patience: Patience::default(),
                enabled: !disabled,
            });
        }
    };
    written.try_into().map_err(str::to_owned)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use std::fmt::Write as _;

    use super::*;

    fn environment(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "t0ken".to_owned())
    }

    fn reached(settings: &ServerSettings) -> String {
        let off = if settings.enabled() { "" } else { "off: " };
        let reached = match settings.reach(environment) {
            Reach::Program { program, arguments, environment } => format!("{program} {arguments:?} {environment:?}"),
            Reach::Http { url, headers } => format!("{url} {headers:?}"),
            Reach::Unusable { problem, hint } => format!("{problem} ({hint})"),
        };
        format!("{off}{reached}")
    }

    fn toml(text: &str) -> Result<ServerSettings, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn settings_become_a_way_to_reach_a_server() {
        let mut table = String::new();
        for text in [
            "command = 'npx'\nargs = ['-y', '${TOKEN}']\nenv = { KEY = 'a ${TOKEN} b' }",
            "url = 'https://host/mcp'\nheaders = { Authorization = 'Bearer ${env:TOKEN}' }",
            "url = '${GONE}/mcp'",
            "url = '${GONE:-http://here}/mcp'",
            "command = 'x'\nenabled = false",
            "",
            "command = ''",
            "command = 'x'\nurl = 'http://x'",
            "command = 'x'\nheaders = { A = 'b' }",
            "url = 'http://x'\nargs = ['x']",
            "command = 'x'\ntimeout = 0",
            "command = 'x'\ncomand = 'y'",
        ] {
            let outcome = toml(text).as_ref().map_or_else(|error| format!("error: {error}"), reached);
            let _ = writeln!(table, "{}\n    {outcome}", text.replace('\n', "; "));
        }
        expect![[r#"
            command = 'npx'; args = ['-y', '${TOKEN}']; env = { KEY = 'a ${TOKEN} b' }
                npx ["-y", "t0ken"] {"KEY": "a t0ken b"}
            url = 'https://host/mcp'; headers = { Authorization = 'Bearer ${env:TOKEN}' }
                https://host/mcp {"Authorization": "Bearer t0ken"}
            url = '${GONE}/mcp'
                the variable `GONE` is not set (set it, or write `${GONE:-}` where it may be empty)
            url = '${GONE:-http://here}/mcp'
                http://here/mcp {}
            command = 'x'; enabled = false
                off: x [] {}

                error: a server needs a `command`, or a `url`
            command = ''
                error: `command` is empty
            command = 'x'; url = 'http://x'
                error: a server has a `command` or a `url`, and not both
            command = 'x'; headers = { A = 'b' }
                error: `headers` belong to a server with a `url`
            url = 'http://x'; args = ['x']
                error: `args` and `env` belong to a server with a `command`
            command = 'x'; timeout = 0
                error: invalid value: integer `0`, expected a nonzero u32
            command = 'x'; comand = 'y'
                error: unknown field `comand`, expected one of `command`, `args`, `env`, `url`, `headers`, `timeout`, `start_timeout`, `enabled`
        "#]].assert_eq(&table);
    }

    #[test]
    fn times_are_read_in_seconds() {
        let patience = toml("command = 'x'\ntimeout = 5\nstart_timeout = 7").unwrap().patience();
        assert_eq!(patience, Patience { start: Duration::from_secs(7), call: Duration::from_secs(5) });
        assert_eq!(toml("command = 'x'").unwrap().patience(), Patience::default());
    }

    #[test]
    fn what_is_shown_can_be_read_again_but_for_its_secrets() {
        for text in [
            "command = \"npx\"\nargs = [\"-y\"]\ntimeout = 5\nstart_timeout = 7\nenabled = false\n",
            "command = \"npx\"\n\n[env]\nKEY = \"****\"\n",
            "url = \"****\"\n\n[headers]\nX-Key = \"****\"\n",
        ] {
            let shown = toml::to_string(&toml(text).unwrap()).unwrap();
            assert_eq!(shown, text);
        }
    }

    #[test]
    fn the_common_json_form_is_read() {
        let mut table = String::new();
        for text in [
            r#"{"mcpServers": {"a": {"command": "x", "args": ["y"], "autoApprove": []}, "b": {"url": "http://b"}}}"#,
            r#"{"mcpServers": {"a": {"type": "http", "url": "http://a", "headers": {"K": "v"}}}}"#,
            r#"{"mcpServers": {"a": {"type": "sse", "url": "http://a"}, "b": {"type": "carrier-pigeon"}}}"#,
            r#"{"mcpServers": {"a": {"command": "x", "disabled": true}}}"#,
            r#"{"mcpServers": {}}"#,
            r#"{"mcpServers": {"a": {"command": 1}}}"#,
            r#"{"mcpServers": {"a": {}}}"#,
            r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}"#,
            r#"{"servers": {}}"#,
            "[]",
            "mcp",
        ] {
            let outcome = from_json(text).map(|servers| {
                servers.iter().map(|(name, settings)| format!("{name}: {}", reached(settings))).collect::<Vec<_>>()
            });
            let outcome = match outcome {
                Ok(servers) if servers.is_empty() => "none".to_owned(),
                Ok(servers) => servers.join("\n    "),
                Err(error) => format!("error: {error}"),
            };
            let _ = writeln!(table, "{text}\n    {outcome}");
        }
        expect![[r#"
            {"mcpServers": {"a": {"command": "x", "args": ["y"], "autoApprove": []}, "b": {"url": "http://b"}}}
                a: x ["y"] {}
                b: http://b {}
            {"mcpServers": {"a": {"type": "http", "url": "http://a", "headers": {"K": "v"}}}}
                a: http://a {"K": "v"}
            {"mcpServers": {"a": {"type": "sse", "url": "http://a"}, "b": {"type": "carrier-pigeon"}}}
                a: servers of the type `sse` are not supported (use the server's address for streamable HTTP, with the type `http`)
                b: servers of the type `carrier-pigeon` are not supported (use the type `stdio` or `http`)
            {"mcpServers": {"a": {"command": "x", "disabled": true}}}
                a: off: x [] {}
            {"mcpServers": {}}
                none
            {"mcpServers": {"a": {"command": 1}}}
                error: the server `a`: invalid type: integer `1`, expected a string
            {"mcpServers": {"a": {}}}
                error: the server `a`: a server needs a `command`, or a `url`
            {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}
                error: the server `a` is there twice
            {"servers": {}}
                error: it has no object `mcpServers`
            []
                error: it has no object `mcpServers`
            mcp
                error: it is no JSON: expected value at line 1 column 1
        "#]].assert_eq(&table);
    }
}
