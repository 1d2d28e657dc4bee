//! The terminals of an editor: real processes whose output is kept, and whose end is answered when it comes.
#![expect(clippy::disallowed_methods, reason = "an editor starts the programs of its terminals")]

use std::collections::HashMap;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

/// Sends a message to the agent, whenever it is due.
pub(super) type Late = Arc<dyn Fn(Value) + Send + Sync>;

/// All terminals that the agent asked for.
#[derive(Default)]
pub(super) struct Terminals {
    open: HashMap<String, Terminal>,
    created: usize,
    /// Method and terminal of every call; for `terminal/create` the terminal that it made.
    pub(super) calls: Vec<(String, String)>,
}

struct Terminal {
    group: Pid,
    limit: usize,
    screen: Arc<Mutex<Screen>>,
}

#[derive(Default)]
struct Screen {
    output: Vec<u8>,
    exit: Option<Value>,
    /// Requests that wait for the exit.
    waiting: Vec<Value>,
}

impl Terminals {
    /// The answer to a `terminal/*` request: a whole `result` or `error`; none if it comes late.
    pub(super) fn answer(&mut self, id: &Value, method: &str, params: &Value, late: &Late) -> Option<Value> {
        if method == "terminal/create" {
            return Some(self.create(params, late));
        }
        let name = params["terminalId"].as_str().unwrap_or_default().to_owned();
        self.calls.push((method.to_owned(), name.clone()));
        let Some(terminal) = self.open.get(&name) else {
            return Some(json!({ "error": { "code": -32602, "message": format!("no terminal `{name}`") } }));
        };
        match method {
            "terminal/wait_for_exit" => {
                let mut screen = lock(&terminal.screen);
                if screen.exit.is_none() {
                    screen.waiting.push(id.clone());
                }
                screen.exit.clone().map(|exit| json!({ "result": exit }))
            }
            "terminal/output" => Some(json!({ "result": terminal.output() })),
            "terminal/kill" => {
                terminal.kill();
                Some(json!({ "result": {} }))
            }
            "terminal/release" => {
                terminal.kill();
                self.open.remove(&name);
                Some(json!({ "result": {} }))
            }
            _ => Some(json!({ "error": { "code": -32601, "message": "Method not found" } })),
        }
    }

    /// Those that were created and not released, or released more than once.
    pub(super) fn leaked(&self) -> Vec<String> {
        let of = |method: &'static str| self.calls.iter().filter(move |call| call.0 == method).map(|call| &call.1);
        let released = |name: &String| of("terminal/release").filter(|released| *released == name).count();
        of("terminal/create").filter(|name| released(name) != 1).cloned().collect()
    }

    fn create(&mut self, params: &Value, late: &Late) -> Value {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut command = Command::new(text(&params["command"]));
        command.args(params["args"].as_array().into_iter().flatten().map(text));
        for variable in params["env"].as_array().into_iter().flatten() {
            command.env(text(&variable["name"]), text(&variable["value"]));
        }
        command.current_dir(text(&params["cwd"])).process_group(0);
        let (mut output, writer) = std::io::pipe().expect("a pipe");
        let errors = writer.try_clone().expect("a second end of it");
        command.stdin(Stdio::null()).stdout(writer).stderr(errors);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return json!({ "error": { "code": -32603, "message": format!("cannot start: {error}") } }),
        };
        // Its ends of the pipe close here, so that the output ends with the program.
        drop(command);
        self.created += 1;
        let name = format!("terminal-{}", self.created);
        self.calls.push(("terminal/create".to_owned(), name.clone()));
        let screen = Arc::new(Mutex::new(Screen::default()));
        let group = Pid::from_child(&child);
        let limit = params["outputByteLimit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
        self.open.insert(name.clone(), Terminal { group, limit: limit.unwrap_or(usize::MAX), screen: screen.clone() });
        let late = late.clone();
        std::thread::spawn(move || {
            let mut block = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut block) {
                lock(&screen).output.extend_from_slice(&block[..read]);
            }
            let status = child.wait().expect("a child can be waited for");
            let signal = status.signal().map(|signal| format!("SIG{signal}"));
            let exit = json!({ "exitCode": status.code(), "signal": signal });
            let waiting = {
                let mut screen = lock(&screen);
                screen.exit = Some(exit.clone());
                std::mem::take(&mut screen.waiting)
            };
            for id in waiting {
                late(json!({ "jsonrpc": "2.0", "id": id, "result": exit }));
            }
        });
        json!({ "result": { "terminalId": name } })
    }
}

impl Terminal {
    /// What is on the screen, without its beginning where that is too much.
    fn output(&self) -> Value {
        let screen = lock(&self.screen);
        let text = String::from_utf8_lossy(&screen.output);
        let from = text.len().saturating_sub(self.limit);
        let shown = (from..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default();
        json!({ "output": shown, "truncated": from > 0, "exitStatus": screen.exit })
    }

    fn kill(&self) {
        // It may have ended already.
        let _ = rustix::process::kill_process_group(self.group, Signal::KILL);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.kill();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
