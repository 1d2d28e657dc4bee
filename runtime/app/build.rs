//! Puts what `plugin new` brings along into the program: its templates, the SDK, the interfaces, and what the SDK is
//! built with. `authoring::vendored` reads the table that this writes.
#![expect(clippy::disallowed_methods, reason = "a build script reads the source")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Files and folders of the repository.
const WANTED: [&str; 8] = [
    "runtime/app/templates",
    "plugin-sdk/Cargo.toml",
    "plugin-sdk/src",
    "wit",
    "Cargo.toml",
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let root = variable("CARGO_MANIFEST_DIR")?.join("../..").canonicalize()?;
    let mut files = Vec::new();
    println!("cargo:rerun-if-changed=build.rs");
    for wanted in WANTED {
        println!("cargo:rerun-if-changed={}", root.join(wanted).display());
        collect(&root, &root.join(wanted), &mut files)?;
    }
    files.sort();
    let mut table = String::from("[\n");
    for file in files {
        let _ = writeln!(table, "    ({file:?}, include_str!({:?})),", root.join(&file).display().to_string());
    }
    table.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("vendored.rs"), table)
}

/// The names of all files at `place`, as they are called in the repository.
fn collect(root: &Path, place: &Path, files: &mut Vec<String>) -> io::Result<()> {
    if place.is_dir() {
        for entry in fs::read_dir(place)? {
            collect(root, &entry?.path(), files)?;
        }
        return Ok(());
    }
    let inside = place.strip_prefix(root).map_err(io::Error::other)?;
    files.push(inside.to_string_lossy().replace('\\', "/"));
    Ok(())
}
