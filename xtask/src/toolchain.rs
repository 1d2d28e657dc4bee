//! The compiler for WebAssembly. `wasm-toolchain.sh` finds or makes it; this asks the script.

use std::process::Command;

use crate::Result;
use crate::process::{output_of, program};
use crate::workspace::{Workspace, cargo};

/// The target that plugins are built for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// A cargo that can build for [`TARGET`]. Makes the target available first, which may take a minute the first time.
pub(crate) fn wasm_cargo(workspace: &Workspace) -> Result<Command> {
    let script = workspace.root.join("xtask/wasm-toolchain.sh");
    let variables = output_of(program("bash").arg(script).arg("env"))?;
    let mut cargo = cargo();
    cargo.current_dir(&workspace.root).envs(variables.lines().filter_map(|line| line.split_once('=')));
    Ok(cargo)
}
