//! The SDK and the interfaces, as a project of its own needs them.

use std::path::Path;

use toml::{Table, Value};

use super::AuthoringError;
use super::vendored::{below, file};

/// Files of a project, by their names in it.
pub(super) type Files = Vec<(String, String)>;

/// The crate `acp-plugin` with all that it is made from, below `vendor/`, and the project's `Cargo.lock`.
pub(super) fn for_rust(package: &str) -> Result<Files, AuthoringError> {
    let broken = AuthoringError::Vendored;
    let mut files: Files = below("plugin-sdk/src")
        .map(|(name, text)| (format!("vendor/acp-plugin/src/{name}"), text.to_owned()))
        .chain(below("wit").map(|(name, text)| (format!("vendor/wit/{name}"), text.to_owned())))
        .collect();
    let manifest = alone(part("plugin-sdk/Cargo.toml")?, part("Cargo.toml")?).map_err(broken)?;
    files.push(("vendor/acp-plugin/Cargo.toml".to_owned(), manifest));
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        files.push((format!("vendor/acp-plugin/{license}"), part(license)?.to_owned()));
    }
    files.push(("Cargo.lock".to_owned(), super::lock::lock(package, part("Cargo.lock")?).map_err(broken)?));
    Ok(files)
}

/// The interfaces as the tools of other languages want them: the project's world, and each package in a folder of its
/// own below `deps`.
pub(super) fn for_others(world: &str) -> Files {
    let packages = below("wit").filter(|(name, _)| Path::new(name).extension().is_some_and(|it| it == "wit"));
    let place = |name: &str| match name.split_once('/') {
        Some(("deps", wasi)) => format!("wit/deps/wasi-{}/{wasi}", wasi.trim_end_matches(".wit")),
        Some((package, file)) => format!("wit/deps/aar-{package}/{file}"),
        None => format!("wit/deps/{name}"),
    };
    let world = ("wit/world.wit".to_owned(), world.to_owned());
    packages.map(|(name, text)| (place(name), text.to_owned())).chain([world]).collect()
}

/// The version of Rust that the SDK needs.
pub(super) fn rust_version() -> Result<String, AuthoringError> {
    let workspace: Table =
        part("Cargo.toml")?.parse().map_err(|error: toml::de::Error| AuthoringError::Vendored(error.to_string()))?;
    let version = workspace["workspace"].get("package").and_then(|package| package.get("rust-version"));
    let version = version.and_then(Value::as_str).map(str::to_owned);
    version.ok_or_else(|| AuthoringError::Vendored("the workspace names no version of Rust".to_owned()))
}

fn part(name: &str) -> Result<&'static str, AuthoringError> {
    file(name).ok_or_else(|| AuthoringError::Vendored(format!("`{name}` is not there")))
}

/// The manifest of a crate without its workspace: what it has from there is written out.
fn alone(manifest: &str, workspace: &str) -> Result<String, String> {
    let parse = |text: &str| text.parse::<Table>().map_err(|error| error.to_string());
    let (mut manifest, workspace) = (parse(manifest)?, parse(workspace)?);
    let workspace = workspace.get("workspace").and_then(Value::as_table).ok_or("there is no workspace")?;
    manifest.remove("lints");
    for (section, source) in [("package", "package"), ("dependencies", "dependencies")] {
        let Some(entries) = manifest.get_mut(section).and_then(Value::as_table_mut) else { continue };
        for (name, value) in entries.iter_mut() {
            if value.get("workspace").and_then(Value::as_bool) == Some(true) {
                let found = workspace.get(source).and_then(|source| source.get(name));
                *value = found.cloned().ok_or_else(|| format!("the workspace has no `{source}.{name}`"))?;
            }
        }
    }
    toml::to_string(&manifest).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_stands_without_its_workspace() {
        let files = for_rust("me-greet").unwrap();
        let text = |name: &str| &files.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1;
        let manifest: Table = text("vendor/acp-plugin/Cargo.toml").parse().unwrap();
        assert!(!text("vendor/acp-plugin/Cargo.toml").contains("workspace"), "{manifest}");
        assert!(manifest["dependencies"]["serde"]["version"].is_str(), "{manifest}");
        assert!(text("vendor/acp-plugin/src/lib.rs").contains("export!"));
        assert!(text("vendor/wit/host/host.wit").contains("package aar:host@"));
        assert!(text("Cargo.lock").contains("name = \"wit-bindgen\""));
        assert!(!text("Cargo.lock").contains("wasmtime"), "only what the SDK needs");
    }

    #[test]
    fn other_languages_find_each_package_in_a_folder_of_its_own() {
        let files = for_others("package local:plugin;");
        for name in ["wit/world.wit", "wit/deps/aar-tool/tool.wit", "wit/deps/wasi-io/io.wit"] {
            assert!(files.iter().any(|(known, _)| known == name), "{name}");
        }
        assert!(files.iter().all(|(name, _)| !name.contains("README")), "tools read every file there");
    }
}
