//! A registry that nobody here wrote, and `minisign`: Debian's packages, unpacked into `target/registry`.
//!
//! Nothing is installed, and no rights are needed for it: `/usr` and apt's lists stay as they are.
#![expect(clippy::disallowed_methods, reason = "unpacks into the target folder")]

use std::fs;
use std::path::Path;

use crate::Result;
use crate::process::{output_of, program, run, say};
use crate::setup;
use crate::workspace::Workspace;

/// What is unpacked: the two programs, and what the second needs.
const PACKAGES: [&str; 3] = ["docker-registry", "minisign", "libsodium23"];

/// Makes them ready; does nothing where they are.
pub(crate) fn set_up(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target.join("registry");
    setup::keep(&folder, &[], || {
        say("a registry and minisign: Debian's packages");
        let debs = folder.join("debs");
        fs::create_dir_all(&debs)?;
        // The lists of the machine may be old, or not there at all.
        if download(&debs, &[]).is_err() {
            download(&debs, &update_lists(&folder)?)?;
        }
        for entry in fs::read_dir(&debs)? {
            run(program("dpkg-deb").arg("-x").arg(entry?.path()).arg(&folder))?;
        }
        fs::remove_dir_all(&debs)?;
        // A machine of another kind says here that it cannot run them.
        output_of(program(folder.join("usr/bin/docker-registry")).arg("--version"))?;
        Ok(())
    })
}

/// apt checks the archive's signatures.
fn download(debs: &Path, options: &[String]) -> Result<()> {
    let mut apt = program("apt-get");
    apt.current_dir(debs).args(options).args(["-qq", "-o", "APT::Sandbox::User=root", "download"]).args(PACKAGES);
    run(&mut apt)
}

/// The options with which apt uses lists of its own, which are fetched here.
fn update_lists(folder: &Path) -> Result<Vec<String>> {
    let apt = folder.join("apt");
    for place in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(apt.join(place))?;
    }
    let options = ["-o", &format!("Dir::State::lists={}", apt.join("lists").display()), "-o"].map(str::to_owned);
    let options = [options.as_slice(), &[format!("Dir::Cache={}", apt.join("cache").display())]].concat();
    let mut update = program("apt-get");
    run(update.args(&options).args(["-qq", "-o", "APT::Sandbox::User=root", "update"]))?;
    Ok(options)
}
