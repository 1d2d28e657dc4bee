//! JavaScript: componentize-qjs, which puts `QuickJS` and the script into a component.

use std::path::{Path, PathBuf};

use super::{command, made, missing, run, tool, work};
use crate::authoring::AuthoringError;

const GET: &str = "in the project's folder: `npm install`";
/// Where npm puts it.
const OWN: &str =
    if cfg!(windows) { "node_modules/.bin/componentize-qjs.cmd" } else { "node_modules/.bin/componentize-qjs" };

pub(super) fn compile(folder: &Path) -> Result<PathBuf, AuthoringError> {
    let Some(componentize) = tool(folder, OWN, "componentize-qjs") else { return missing("`componentize-qjs`", GET) };
    let component = work(folder)?.join("component.wasm");
    let mut build = command(componentize, folder);
    // Exports are plain functions, and those of the runtime without `async` are taken by every host.
    build.args(["--wit", "wit", "--world", "plugin", "--js", "plugin.js", "--sync", "--output"]);
    run(build.arg(&component))?;
    made(&build, component, "`wit/world.wit` needs a world named `plugin`, and `plugin.js` what it exports")
}
