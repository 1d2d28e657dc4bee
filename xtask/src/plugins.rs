//! `cargo xtask plugins`: from `plugins/*` to packages beside the release binary, where the host finds them, and from
//! `tests/guests/*` to packages in `guests`, where it does not.
#![expect(clippy::disallowed_methods, reason = "writes packages into the target folder")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Result;
use crate::process::{program, run, say};
use crate::toolchain::{TARGET, wasm_cargo};
use crate::workspace::{PluginPackage, Workspace};

/// Builds every plugin and every hostile guest, and answers the plugins' packages. What is up to date is left as it is.
pub(crate) fn build(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let host = workspace.build_host()?;
    let mut cargo = wasm_cargo(workspace)?;
    cargo.args(["build", "--profile", "plugin", "--target", TARGET]);
    for plugin in workspace.plugins.iter().chain(&workspace.guests) {
        cargo.args(["--package", &plugin.name]);
    }
    run(&mut cargo)?;
    let pack_all = |plugins: &[PluginPackage], folder: &str| -> Result<Vec<PathBuf>> {
        let packages = workspace.target.join("release").join(folder);
        fs::create_dir_all(&packages)?;
        plugins.iter().map(|plugin| pack(workspace, plugin, &host, &packages)).collect()
    };
    pack_all(&workspace.guests, "guests")?;
    pack_all(&workspace.plugins, "plugins")
}

/// Lets the host write the manifest into the component.
fn pack(workspace: &Workspace, plugin: &PluginPackage, host: &Path, packages: &Path) -> Result<PathBuf> {
    let file = format!("{}.wasm", plugin.name.replace('-', "_"));
    let component = workspace.target.join(TARGET).join("plugin").join(file);
    let manifest = plugin.folder.join("plugin.toml");
    let package = packages.join(format!("{}.wasm", plugin.name));
    if is_newer(&package, &[host, &component, &manifest])? {
        return Ok(package);
    }
    let mut build = program(host);
    build.args(["plugin", "build", "--component"]).arg(&component);
    build.arg("--manifest").arg(&manifest).arg("--output").arg(&package);
    run(&mut build)?;
    say(&format!("built {} ({} KiB)", package.display(), fs::metadata(&package)?.len() / 1024));
    Ok(package)
}

/// Whether `made` is there and newer than all that it was made from.
fn is_newer(made: &Path, from: &[&Path]) -> Result<bool> {
    let modified = |path: &Path| -> std::io::Result<SystemTime> { fs::metadata(path)?.modified() };
    let Ok(made) = modified(made) else { return Ok(false) };
    for path in from {
        let when = modified(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
        if when >= made {
            return Ok(false);
        }
    }
    Ok(true)
}
