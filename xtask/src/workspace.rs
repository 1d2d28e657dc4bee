//! Where things are: the project's folder, cargo's target folder, the plugins, the host's binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::process::{output_of, program, run};

/// The cargo workspace, as cargo sees it.
pub(crate) struct Workspace {
    /// The folder with the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// The packages in `plugins/`, which come with the program.
    pub(crate) plugins: Vec<PluginPackage>,
    /// The packages in `tests/guests/`, which only tests run.
    pub(crate) guests: Vec<PluginPackage>,
}

/// A package that is built for WebAssembly.
#[derive(Clone)]
pub(crate) struct PluginPackage {
    /// The package's name; the folder has the same.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: PathBuf,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn find() -> Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--no-deps", "--format-version=1"]);
        let metadata: Value = serde_json::from_str(&output_of(&mut metadata)?)?;
        let path = |key: &str| metadata.get(key).and_then(Value::as_str).map(PathBuf::from);
        let (Some(root), Some(target)) = (path("workspace_root"), path("target_directory")) else {
            return Err("`cargo metadata` does not say where the workspace is".into());
        };
        let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
        let packages: Vec<_> = packages.filter_map(package).collect();
        let (plugins, guests) =
            (inside(&root.join("plugins"), &packages), inside(&root.join("tests/guests"), &packages));
        Ok(Self { root, target, plugins, guests })
    }

    /// Builds the host and answers its binary. Everything is built with it, since cargo unites the features of what is
    /// built together: another choice of packages would compile the WASM engine once more.
    pub(crate) fn build_host(&self) -> Result<PathBuf> {
        run(cargo().current_dir(&self.root).args(["build", "--release", "--workspace", "--all-targets"]))?;
        Ok(self.binary())
    }

    /// The host's binary, once it is built.
    pub(crate) fn binary(&self) -> PathBuf {
        self.target.join("release").join(format!("acp-runtime{}", std::env::consts::EXE_SUFFIX))
    }
}

/// The cargo that runs this.
#[expect(clippy::disallowed_methods, reason = "cargo says in the environment which one it is")]
pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn package(package: &Value) -> Option<PluginPackage> {
    let name = package.get("name")?.as_str()?.to_owned();
    let folder = Path::new(package.get("manifest_path")?.as_str()?).parent()?.to_owned();
    Some(PluginPackage { name, folder })
}

/// The packages whose folders are in `place`, by name.
fn inside(place: &Path, packages: &[PluginPackage]) -> Vec<PluginPackage> {
    let mut inside: Vec<_> =
        packages.iter().filter(|package| package.folder.parent() == Some(place)).cloned().collect();
    inside.sort_by(|left, right| left.name.cmp(&right.name));
    inside
}
