//! A small client over the real binary: one process, requests one after another, everything else to a listener.
#![expect(clippy::disallowed_methods, reason = "reads how much memory the process holds")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::Result;
use crate::process::program;

/// A running agent.
pub(crate) struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

/// Sees what an agent says by itself.
pub(crate) trait Listener {
    /// It told something about a session.
    fn update(&mut self, update: &Value);
    /// It asks; the id of the option that the person picks, none to refuse.
    fn permission(&mut self, params: &Value) -> Option<String>;
}

/// Looks at nothing and allows nothing.
pub(crate) struct Deaf;

impl Listener for Deaf {
    fn update(&mut self, _update: &Value) {}

    fn permission(&mut self, _params: &Value) -> Option<String> {
        None
    }
}

impl Agent {
    /// Starts the binary on stdio, with its home in `home`.
    pub(crate) fn start(binary: &Path, home: &Path) -> Result<Self> {
        let mut command = program(binary);
        command.arg("--acp").env("ACP_RUNTIME_HOME", home);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or("the agent has no stdout")?);
        Ok(Self { child, input, output, last_id: 0 })
    }

    /// Says hello; the agent's answer.
    pub(crate) fn initialize(&mut self) -> Result<Value> {
        let client = json!({ "name": "xtask", "version": env!("CARGO_PKG_VERSION") });
        self.request("initialize", &json!({ "protocolVersion": 1, "clientInfo": client }), &mut Deaf)
    }

    /// Opens a session; its id.
    pub(crate) fn new_session(&mut self, cwd: &Path, more: &[&Path]) -> Result<String> {
        let params = json!({ "cwd": cwd, "mcpServers": [], "additionalDirectories": more });
        let answer = self.request("session/new", &params, &mut Deaf)?;
        answer["sessionId"].as_str().map(str::to_owned).ok_or_else(|| "the agent opened a session without an id".into())
    }

    /// Prompts to the end of the turn; the stop reason.
    pub(crate) fn prompt(&mut self, session: &str, text: &str, listener: &mut dyn Listener) -> Result<String> {
        let prompt = json!([{ "type": "text", "text": text }]);
        let answer = self.request("session/prompt", &json!({ "sessionId": session, "prompt": prompt }), listener)?;
        Ok(answer["stopReason"].as_str().unwrap_or_default().to_owned())
    }

    /// Sends a request and waits for its result.
    pub(crate) fn request(&mut self, method: &str, params: &Value, listener: &mut dyn Listener) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut message = self.next(method)?;
            match message["method"].as_str() {
                None if message["id"] == id => {
                    return match message.get("error") {
                        Some(error) => Err(format!("the agent refused `{method}`: {error}").into()),
                        None => Ok(message["result"].take()),
                    };
                }
                Some("session/update") => listener.update(&message["params"]["update"]),
                Some("session/request_permission") => {
                    let outcome = match listener.permission(&message["params"]) {
                        Some(option) => json!({ "outcome": "selected", "optionId": option }),
                        None => json!({ "outcome": "cancelled" }),
                    };
                    self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "outcome": outcome } }))?;
                }
                _ => {}
            }
        }
    }

    /// The memory that the process holds, in MiB; none where the system does not say.
    pub(crate) fn resident_mebibytes(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()? / 1024.0)
    }

    /// Ends the agent's input and waits for its end.
    pub(crate) fn close(mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the agent ended with {status}").into()) }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().ok_or("the agent's input has ended")?;
        Ok(input.write_all(format!("{message}\n").as_bytes())?)
    }

    fn next(&mut self, waiting_for: &str) -> Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(format!("the agent ended before it answered `{waiting_for}`").into());
        }
        serde_json::from_str(&line).map_err(|error| format!("the agent wrote no JSON: {error}").into())
    }
}
