//! `cargo xtask demo`: builds everything and plays one session in the terminal, over real ACP with the real binary.
//!
//! With `--local-model` it is another one, with a real model (`local`). Here only the model is played: by a script, which
//! says so. The plugin really counts this repository, the permission is
//! really asked, and the file is really written, into a project made for the demo.
#![expect(clippy::disallowed_methods, reason = "makes a project for the demo")]

mod local;
mod screen;

use std::fs;

use serde_json::{Value, json};

use crate::agent::{Agent, Listener};
use crate::workspace::Workspace;
use crate::{Result, plugins};
use screen::Screen;

const SCENARIO: &str = r#"
[[reply]]
steps = [
  { text = "I count the code with a sandboxed plugin, which sees " },
  { text = "the session's folders and nothing else." },
  { call = { tool = "code-stats", arguments = { limit = 8 } } },
]

[[reply]]
when = "tool-succeeded"
steps = [
  { text = "Now I write down what was counted. That changes a file, so you are asked first." },
  { call = { tool = "write_file", arguments = { path = "README.md", content = """
# Demo project

Nothing to see here yet, but its neighbour was counted by `code-stats`.
""" } } },
]

[[reply]]
when = "tool-succeeded"
steps = [{ text = "Done: counted, asked, written." }]

[[reply]]
when = "tool-failed"
steps = [{ text = "That did not work; see above." }]
"#;

const PROMPT: &str = "How large is acp-runtime? Write it down.";

/// Plays it, or the one with a real model.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    match arguments {
        [] => scripted(workspace),
        ["--local-model"] => local::run(workspace),
        other => Err(format!("`demo` knows no `{}`, only `--local-model`", other.join(" ")).into()),
    }
}

fn scripted(workspace: &Workspace) -> Result<()> {
    plugins::build(workspace)?;
    let binary = workspace.binary();
    let place = tempfile::Builder::new().prefix("acp-runtime-demo-").tempdir()?;
    let (home, project) = (place.path().join("home"), place.path().join("demo-project"));
    fs::create_dir(&home)?;
    fs::create_dir(&project)?;
    let script = place.path().join("scenario.toml");
    fs::write(&script, SCENARIO)?;
    fs::write(home.join("config.toml"), format!("model = \"script:{}\"\n", script.display()))?;
    fs::write(project.join("README.md"), "# Demo project\n\nNothing to see here yet.\n")?;

    let mut screen = Screen::new();
    let mut agent = Agent::start(&binary, &home)?;
    let hello = agent.initialize()?;
    let name = |pointer: &str| hello.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    screen.note(&format!("{} {} speaks ACP on stdio", name("/agentInfo/name"), name("/agentInfo/version")));
    let session = agent.new_session(&project, &[&workspace.root])?;
    screen.note(&format!("a session in {}, with {} as a second root", project.display(), workspace.root.display()));
    screen.prompt(PROMPT);
    let stop = agent.prompt(&session, PROMPT, &mut screen)?;
    screen.note(&format!("the turn ended: {stop}"));

    let written = fs::read_to_string(project.join("README.md"))?;
    if !written.contains("code-stats") {
        return Err("the file was not written".into());
    }
    screen.note("the plugin's panel, as `_aar/panel_snapshot` gives it to a client that draws panels:");
    let wanted = json!({ "sessionId": session, "panel": "code-stats" });
    let panel = agent.request("_aar/panel_snapshot", &wanted, &mut screen)?;
    screen.tree(&panel["root"]);
    agent.close()
}

impl Listener for Screen {
    fn update(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.say(update["content"]["text"].as_str().unwrap_or_default()),
            "tool_call" => self.call(update["title"].as_str().unwrap_or_default()),
            "tool_call_update" => match update["status"].as_str() {
                Some("completed") => self.outcome("✓", update),
                Some("failed") => self.outcome("✗", update),
                _ => {}
            },
            _ => {}
        }
    }

    fn permission(&mut self, params: &Value) -> Option<String> {
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let chosen = options.iter().find(|option| option["kind"] == "allow_once")?;
        let names = options.iter().filter_map(|option| option["name"].as_str());
        let title = params["toolCall"]["title"].as_str().unwrap_or_default();
        self.question(title, &names.collect::<Vec<_>>(), chosen["name"].as_str().unwrap_or_default());
        chosen["optionId"].as_str().map(str::to_owned)
    }
}
