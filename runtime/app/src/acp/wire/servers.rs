//! MCP servers: those that a client names, and how they are.
//!
//! The protocol's own types drop what they cannot read; here it is kept with its reason, so that the person learns why a
//! server is not there.

use std::collections::BTreeMap;

use acp_runtime_agent::plain;
use acp_runtime_agent::server::{Reach, ServerEntry, ServerState};
use agent_client_protocol::v1::schema;
use serde_json::{Map, Value, json};

use super::session::date;
use super::size::line;
use super::tool::TITLE;

/// Servers whose state is told.
const MOST: usize = 64;

/// Takes the servers out of the parameters of a request that opens a session, and leaves an empty list.
pub(in crate::acp) fn take_server_entries(params: &mut Value) -> Vec<ServerEntry> {
    let entries = params.get_mut("mcpServers").and_then(Value::as_array_mut).map(std::mem::take);
    entries.unwrap_or_default().iter().zip(1..).map(|(entry, number)| server_entry(entry, number)).collect()
}

fn server_entry(entry: &Value, number: usize) -> ServerEntry {
    let name = entry.get("name").and_then(Value::as_str).map(|name| plain::line(name, TITLE));
    let reach = if name.as_ref().is_some_and(|name| !name.is_empty()) { reach(entry) } else { Err("name") };
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("server {number}"));
    let reach = reach.unwrap_or_else(|field| {
        Reach::unusable(
            format!("`{field}` is missing or malformed"),
            "correct the server's entry in the editor's settings",
        )
    });
    ServerEntry { name, reach }
}

/// The error is the field that is wrong. An entry without a type is a program.
fn reach(entry: &Value) -> Result<Reach, &'static str> {
    match entry.get("type") {
        None | Some(Value::Null) => program(entry),
        Some(Value::String(kind)) => match kind.as_str() {
            "stdio" => program(entry),
            "http" => http(entry),
            other => Ok(Reach::unsupported(other)),
        },
        Some(_) => Err("type"),
    }
}

fn program(entry: &Value) -> Result<Reach, &'static str> {
    let program = text(entry, "command").ok_or("command")?;
    let arguments = match entry.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(args) => args.as_array().and_then(|args| texts(args)).ok_or("args")?,
    };
    Ok(Reach::Program { program, arguments, environment: pairs(entry, "env")? })
}

fn http(entry: &Value) -> Result<Reach, &'static str> {
    Ok(Reach::Http { url: text(entry, "url").ok_or("url")?, headers: pairs(entry, "headers")? })
}

fn text(entry: &Value, field: &str) -> Option<String> {
    entry.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn texts(values: &[Value]) -> Option<Vec<String>> {
    values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

/// `[{"name": …, "value": …}]`, as the protocol has it, or the object that some clients send.
fn pairs(entry: &Value, field: &'static str) -> Result<BTreeMap<String, String>, &'static str> {
    let owned = |name: &str, value: &Value| Some((name.to_owned(), value.as_str()?.to_owned()));
    let pairs: Option<BTreeMap<_, _>> = match entry.get(field) {
        None | Some(Value::Null) => Some(BTreeMap::new()),
        Some(Value::Array(pairs)) => {
            pairs.iter().map(|pair| owned(pair.get("name")?.as_str()?, pair.get("value")?)).collect()
        }
        Some(Value::Object(pairs)) => pairs.iter().map(|(name, value)| owned(name, value)).collect(),
        Some(_) => None,
    };
    pairs.ok_or(field)
}

/// How the servers are, as `_meta.aar.mcp` of an update that changes nothing else.
pub(super) fn server_states(servers: &[ServerState]) -> schema::SessionInfoUpdate {
    let state = |server: &ServerState| {
        let mut state = json!({
            "name": line(&server.name, TITLE / 4),
            "status": server.status.as_str(),
            "tools": server.tools,
        });
        let problem = server.problem.as_ref().map(|problem| ("problem", line(problem, TITLE)));
        let next_try = server.next_try.and_then(date).map(|at| ("nextTry", at));
        for (key, text) in problem.into_iter().chain(next_try) {
            state[key] = text.into();
        }
        state
    };
    let states: Vec<Value> = servers.iter().take(MOST).map(state).collect();
    let mut meta = Map::new();
    meta.insert("aar".to_owned(), json!({ "mcp": states }));
    schema::SessionInfoUpdate::new().meta(meta)
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::server::ServerStatus;
    use expect_test::expect;

    use std::fmt::Write as _;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn entries_are_read_or_kept_with_their_reason() {
        let mut table = String::new();
        for entry in [
            json!({ "name": "a", "command": "/bin/a", "args": ["-x"], "env": [{ "name": "K", "value": "v" }] }),
            json!({ "name": "a", "command": "a" }),
            json!({ "type": "stdio", "name": "a", "command": "a", "args": null, "env": { "K": "v" } }),
            json!({ "type": "http", "name": "h", "url": "https://h", "headers": [{ "name": "K", "value": "v" }] }),
            json!({ "type": "http", "name": "h" }),
            json!({ "type": "sse", "name": "s", "url": "https://s" }),
            json!({ "type": "acp", "name": "s", "serverId": "1" }),
            json!({ "type": 5, "name": "s" }),
            json!({ "name": "a", "command": "" }),
            json!({ "name": "a", "command": "a", "args": "x" }),
            json!({ "name": "a", "command": "a", "args": [1] }),
            json!({ "name": "a", "command": "a", "env": [{ "name": "K" }] }),
            json!({ "name": "\u{7}\n", "command": "a" }),
            json!({ "command": "a" }),
            json!("a"),
        ] {
            let [ServerEntry { name, reach }] =
                take_server_entries(&mut json!({ "mcpServers": [entry] })).try_into().unwrap();
            let reach = match reach {
                Reach::Program { program, arguments, environment } => {
                    format!("{program} {arguments:?} {environment:?}")
                }
                Reach::Http { url, headers } => format!("{url} {headers:?}"),
                Reach::Unusable { problem, hint } => format!("{problem} ({hint})"),
            };
            let _ = writeln!(table, "{entry}\n    {name}: {reach}");
        }
        expect![[r#"
            {"name":"a","command":"/bin/a","args":["-x"],"env":[{"name":"K","value":"v"}]}
                a: /bin/a ["-x"] {"K": "v"}
            {"name":"a","command":"a"}
                a: a [] {}
            {"type":"stdio","name":"a","command":"a","args":null,"env":{"K":"v"}}
                a: a [] {"K": "v"}
            {"type":"http","name":"h","url":"https://h","headers":[{"name":"K","value":"v"}]}
                h: https://h {"K": "v"}
            {"type":"http","name":"h"}
                h: `url` is missing or malformed (correct the server's entry in the editor's settings)
            {"type":"sse","name":"s","url":"https://s"}
                s: servers of the type `sse` are not supported (use the server's address for streamable HTTP, with the type `http`)
            {"type":"acp","name":"s","serverId":"1"}
                s: servers of the type `acp` are not supported (use the type `stdio` or `http`)
            {"type":5,"name":"s"}
                s: `type` is missing or malformed (correct the server's entry in the editor's settings)
            {"name":"a","command":""}
                a: `command` is missing or malformed (correct the server's entry in the editor's settings)
            {"name":"a","command":"a","args":"x"}
                a: `args` is missing or malformed (correct the server's entry in the editor's settings)
            {"name":"a","command":"a","args":[1]}
                a: `args` is missing or malformed (correct the server's entry in the editor's settings)
            {"name":"a","command":"a","env":[{"name":"K"}]}
                a: `env` is missing or malformed (correct the server's entry in the editor's settings)
            {"name":"\u0007\n","command":"a"}
                server 1: `name` is missing or malformed (correct the server's entry in the editor's settings)
            {"command":"a"}
                server 1: `name` is missing or malformed (correct the server's entry in the editor's settings)
            "a"
                server 1: `name` is missing or malformed (correct the server's entry in the editor's settings)
        "#]].assert_eq(&table);
        assert_eq!(take_server_entries(&mut json!({})), []);
        assert_eq!(take_server_entries(&mut json!({ "mcpServers": {} })), []);
    }

    #[test]
    fn states_fit_a_line() {
        let state = |number: usize| ServerState {
            name: format!("{number} {}", "n".repeat(500)),
            status: ServerStatus::Failed,
            tools: 0,
            problem: Some("p".repeat(5000)),
            next_try: Some(SystemTime::UNIX_EPOCH),
        };
        let told = server_states(&(0..100).map(state).collect::<Vec<_>>());
        assert!(serde_json::to_string(&told).unwrap().len() < 47 * 1024);
        let (name, status) = ("a".to_owned(), ServerStatus::Connected);
        let ready = ServerState { name, status, tools: 2, problem: None, next_try: None };
        let told = serde_json::to_string(&server_states(std::slice::from_ref(&ready))).unwrap();
        assert_eq!(told, r#"{"_meta":{"aar":{"mcp":[{"name":"a","status":"connected","tools":2}]}}}"#);
        let next_try = Some(SystemTime::UNIX_EPOCH);
        let told = server_states(&[ServerState { status: ServerStatus::Failed, next_try, ..ready }]);
        let told = serde_json::to_value(told).unwrap();
        assert_eq!(told["_meta"]["aar"]["mcp"][0]["nextTry"], "1970-01-01T00:00:00.000Z");
    }
}
