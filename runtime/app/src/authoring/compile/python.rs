//! Python: componentize-py, which puts the interpreter and the module into a component.

use std::path::{Path, PathBuf};

use super::{command, made, missing, run, tool, work};
use crate::authoring::AuthoringError;

const GET: &str =
    "in the project's folder: `python3 -m venv .venv && .venv/bin/pip install --requirement requirements.txt`";
/// Where a virtual environment has it.
const OWN: &str = if cfg!(windows) { ".venv/Scripts/componentize-py.exe" } else { ".venv/bin/componentize-py" };

pub(super) fn compile(folder: &Path) -> Result<PathBuf, AuthoringError> {
    let Some(componentize) = tool(folder, OWN, "componentize-py") else { return missing("`componentize-py`", GET) };
    let component = work(folder)?.join("component.wasm");
    let mut build = command(componentize, folder);
    build.args(["--quiet", "--wit-path", "wit", "--world", "plugin", "componentize", "app", "--output"]);
    run(build.arg(&component))?;
    made(&build, component, "`wit/world.wit` needs a world named `plugin`, and `app.py` what it exports")
}
