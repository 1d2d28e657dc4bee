//! `cargo xtask demo --local-model`: a turn with a tool, by a real model on this machine.
#![expect(clippy::disallowed_methods, reason = "makes a project for the demo")]

use std::fs;

use super::screen::Screen;
use crate::agent::Agent;
use crate::workspace::Workspace;
use crate::{Result, local_model};

const PROMPT: &str = "Read the file hello.txt and tell me the secret word in it.";
const SECRET: &str = "marmalade";

/// Plays it.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    let binary = workspace.build_host()?;
    let model = local_model::set_up_coder(workspace)?;
    let place = tempfile::Builder::new().prefix("acp-runtime-demo-").tempdir()?;
    let (home, project) = (place.path().join("home"), place.path().join("demo-project"));
    fs::create_dir(&home)?;
    fs::create_dir(&project)?;
    fs::write(project.join("hello.txt"), format!("The secret word is {SECRET}.\n"))?;

    let mut screen = Screen::new();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let served = model.serve((processors / 2).max(1))?;
    let config = format!(
        "[plugins]\nbundled = false\n[providers.local]\nwire = \"openai-chat\"\nmodel = \"qwen2.5-coder-0.5b\"\n\
         base_url = \"{}/v1\"\ntemperature = 0\nmax_output_tokens = 200\n",
        served.address
    );
    fs::write(home.join("config.toml"), config)?;
    screen.note("the model is real: Qwen2.5-Coder with half a billion parameters, on this machine, without a network");
    screen.note("it is about the smallest that can call a tool at all: one step, and do not expect more of it");
    screen.note("it first reads what it can do, some 3000 tokens: that takes a minute on a small machine");
    let mut agent = Agent::start(&binary, &home)?;
    agent.initialize()?;
    let session = agent.new_session(&project, &[])?;
    screen.prompt(PROMPT);
    let stop = agent.prompt(&session, PROMPT, &mut screen)?;
    screen.note(&format!("the turn ended: {stop}"));
    if !screen.said().contains(SECRET) {
        screen.note(&format!("it did not find the secret word, which is `{SECRET}`: it is a very small model"));
    }
    agent.close()
}
