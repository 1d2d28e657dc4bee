//! An MCP server on stdin and stdout that does what it is told, good and bad.
//!
//! `mcp-double [TRAIT…]`, where the traits change how it behaves (see [`main`] and [`Double`]). Its tools are in
//! [`TOOLS`]. What happens to it stands in `mcp.log` in its working directory, a line each.
#![expect(clippy::disallowed_methods, reason = "this program keeps a log, starts a program and shows its environment")]

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Write as _};
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::{Value, json};

/// Each tool, and whether it says that it only reads.
const TOOLS: &[(&str, bool)] = &[
    ("echo", true),        // gives back its arguments
    ("write", false),      // the same, and does not say that it only reads
    ("slow", false),       // never answers
    ("crash", false),      // ends the process
    ("progress", true),    // tells of its progress
    ("grow", true),        // adds the tool `grown`
    ("content", true),     // answers with content of every kind
    ("fail", true),        // reports an error of its own
    ("refuse", true),      // answers with an error of the protocol
    ("roots", true),       // asks for the client's folders
    ("sample", true),      // asks for what the client does not offer
    ("family", true),      // starts a process that would outlive it
    ("environment", true), // the names of its variables
];

fn main() -> ExitCode {
    let traits: BTreeSet<String> = std::env::args().skip(1).collect();
    let has = |name: &str| traits.contains(name);
    log(&format!("start {}", std::process::id()));
    if has("dies") {
        let _ = writeln!(io::stderr(), "no licence found\nthat is all");
        return ExitCode::from(7);
    }
    if has("babbles") {
        write("Usage: server --port PORT\n");
    }
    while has("hangs") || has("babbles") {
        std::thread::sleep(Duration::from_secs(60));
    }
    if has("late") {
        std::thread::sleep(Duration::from_millis(500));
    }
    let mut double = Double { grown: has("grown"), traits, asked: None };
    if double.has("garbage") {
        write("Welcome to the double!\n{\"half\": \n\u{0}\u{1b}[31m\n");
    }
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else { continue };
        if let Some(code) = double.take(&message) {
            return code;
        }
        if double.has("garbage") {
            write("done\n");
        }
    }
    log("eof");
    while double.has("stubborn") {
        std::thread::sleep(Duration::from_secs(60));
    }
    ExitCode::SUCCESS
}

struct Double {
    traits: BTreeSet<String>,
    grown: bool,
    /// The call that waits for the client's answer.
    asked: Option<Value>,
}

impl Double {
    fn has(&self, name: &str) -> bool {
        self.traits.contains(name)
    }

    /// The exit code, where the message ends the process.
    fn take(&mut self, message: &Value) -> Option<ExitCode> {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str() {
            None => self.answered(message),
            Some("initialize") if self.has("modern") => error(id, -32601, "there is no handshake"),
            Some("initialize") if self.has("picky") => error(id, -32602, "Unsupported protocol version"),
            Some("initialize") if self.has("odd-answer") => error(id, -32603, "out of order"),
            Some("initialize") => {
                let asked = params["protocolVersion"].as_str().unwrap_or_default();
                self.result(
                    id,
                    json!({
                        "protocolVersion": if self.has("ancient") { "1999-12-31" } else { asked },
                        "capabilities": { "tools": { "listChanged": true } },
                        "serverInfo": { "name": "double", "version": "1" },
                    }),
                );
            }
            Some("server/discover") => self.result(
                id,
                json!({
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": { "listChanged": true } },
                    "ttlMs": 0,
                    "cacheScope": "private",
                }),
            ),
            Some("subscriptions/listen") => {
                self.asked = Some(id.clone());
                let notifications = &params["notifications"];
                notify(
                    "notifications/subscriptions/acknowledged",
                    json!({ "notifications": notifications, "_meta": subscription(id) }),
                );
            }
            Some("tools/list") => {
                self.result(id, self.list(params));
                if self.has("fleeting") {
                    std::thread::sleep(Duration::from_millis(300));
                    return Some(ExitCode::from(5));
                }
            }
            Some("tools/call") => return self.call(id, params),
            Some("notifications/cancelled") => log("cancelled"),
            Some(_) if id.is_null() => {}
            Some(_) => error(id, -32601, "unknown"),
        }
        None
    }

    /// One tool a page where it is `paged`, and never a last one where it is `endless`.
    fn list(&self, params: &Value) -> Value {
        let mut tools: Vec<Value> = TOOLS.iter().map(|(name, reads)| tool(name, *reads)).collect();
        if self.grown {
            tools.push(tool("grown", true));
        }
        if self.has("wordy") {
            let words: Vec<String> = (0..40).map(|number| format!("word-{number}")).collect();
            let schema = json!({ "type": "object", "properties": { "word": { "enum": words } } });
            tools.push(json!({ "name": "wordy", "inputSchema": schema }));
        }
        if self.has("floods") {
            tools.push(tool("flood", true));
        }
        if self.has("odd") {
            tools.push(json!({ "name": "array", "inputSchema": { "type": "array" } }));
            tools.push(tool("two words", true));
        }
        let page = params["cursor"].as_str().and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
        if self.has("endless") {
            let tool = tool(&format!("tool-{page}"), true);
            return json!({ "tools": [tool], "nextCursor": (page + 1).to_string() });
        }
        if !self.has("paged") {
            return json!({ "tools": tools });
        }
        let next = (page + 1 < tools.len()).then(|| (page + 1).to_string());
        let mut answer = json!({ "tools": [tools[page]] });
        if let Some(next) = next {
            answer["nextCursor"] = json!(next);
        }
        answer
    }

    fn call(&mut self, id: &Value, params: &Value) -> Option<ExitCode> {
        let (name, arguments) = (params["name"].as_str().unwrap_or_default(), &params["arguments"]);
        log(&format!("call {name}"));
        if let Some(meta) = params["_meta"].as_object() {
            let names = ["traceparent", "tracestate", "baggage"];
            let traced: Vec<String> =
                names.iter().filter_map(|name| Some(format!("{name}={}", meta.get(*name)?))).collect();
            log(&format!("trace {}", traced.join(" ")));
        }
        match name {
            "slow" => {}
            "crash" => {
                let _ = writeln!(io::stderr(), "out of cheese");
                return Some(ExitCode::from(3));
            }
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for (step, message) in [(1, "Looking"), (2, "Thinking"), (3, "Writing")] {
                    let progress = json!({ "progressToken": token, "progress": step, "total": 4, "message": message });
                    notify("notifications/progress", progress);
                    std::thread::sleep(Duration::from_millis(150));
                }
                self.text(id, "done");
            }
            "grow" => {
                self.grown = true;
                let meta = self.asked.as_ref().map_or_else(|| json!({}), subscription);
                notify("notifications/tools/list_changed", json!({ "_meta": meta }));
                self.text(id, "grown");
            }
            "content" => self.result(
                id,
                json!({
                    "content": [
                        { "type": "text", "text": "a text" },
                        { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
                        { "type": "resource", "resource": { "uri": "double:a", "text": "A" } },
                        { "type": "resource_link", "uri": arguments["uri"].as_str().unwrap_or("double:b"), "name": "b" },
                    ],
                    "structuredContent": { "answer": 42 },
                }),
            ),
            "fail" => self.result(id, json!({ "content": [{ "type": "text", "text": "no luck" }], "isError": true })),
            "refuse" => error(id, -32000, "not today"),
            "roots" => self.ask(id, "roots/list", json!({})),
            "sample" => self.ask(id, "sampling/createMessage", json!({ "messages": [], "maxTokens": 1 })),
            "family" => {
                let child = Command::new("sleep").arg("1000").spawn();
                self.text(id, if child.is_ok() { "started" } else { "not started" });
            }
            "environment" => {
                let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                names.sort();
                self.text(id, &names.join(" "));
            }
            "flood" => self.text(id, &"x".repeat(9 << 20)),
            "echo" | "write" | "grown" => self.text(id, &arguments.to_string()),
            _ => error(id, -32602, "there is no such tool"),
        }
        None
    }

    /// Answers a call with what the client says.
    fn ask(&mut self, call: &Value, method: &str, params: Value) {
        self.asked = Some(call.clone());
        send(json!({ "jsonrpc": "2.0", "id": "question", "method": method, "params": params }));
    }

    fn answered(&mut self, message: &Value) {
        if message["id"] == "question"
            && let Some(call) = self.asked.take()
        {
            let said = message.get("result").unwrap_or(&message["error"]).to_string();
            self.text(&call, &said);
        }
    }

    fn text(&self, id: &Value, text: &str) {
        self.result(id, json!({ "content": [{ "type": "text", "text": text }] }));
    }

    fn result(&self, id: &Value, mut result: Value) {
        if self.has("modern") {
            result["resultType"] = json!("complete");
        }
        send(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
}

fn error(id: &Value, code: i32, message: &str) {
    send(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
}

fn notify(method: &str, params: Value) {
    send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
}

fn send(message: Value) {
    write(&format!("{message}\n"));
}

fn write(text: &str) {
    let mut out = io::stdout().lock();
    // Whoever has gone reads no answers.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn tool(name: &str, reads: bool) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}"),
        "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": reads },
    })
}

fn subscription(id: &Value) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

fn log(line: &str) {
    let file = OpenOptions::new().create(true).append(true).open("mcp.log");
    // A test that looks for the line misses it.
    let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
}
