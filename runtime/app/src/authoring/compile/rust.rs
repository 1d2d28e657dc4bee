//! Rust: cargo, for `wasm32-wasip2`.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{command, missing, on_path, output};
use crate::authoring::AuthoringError;

/// What plugins are built for.
const TARGET: &str = "wasm32-wasip2";
const GET_RUST: &str = "install Rust from https://rustup.rs, then `rustup target add wasm32-wasip2`";
const GET_TARGET: &str = "`rustup target add wasm32-wasip2`; where rustup cannot download, `xtask/wasm-toolchain.sh` of \
                          acp-runtime's source makes it, and `wasm-toolchain.sh cargo …` uses it (or set `RUSTC` as \
                          `wasm-toolchain.sh env` says)";

pub(super) fn compile(folder: &Path) -> Result<PathBuf, AuthoringError> {
    let cargo = env::var_os("CARGO").map(PathBuf::from).or_else(|| on_path("cargo"));
    let rustc = env::var_os("RUSTC").map(PathBuf::from).or_else(|| on_path("rustc"));
    let (Some(cargo), Some(rustc)) = (cargo, rustc) else { return missing("`cargo`", GET_RUST) };
    let libraries = output(command(rustc, folder).args(["--print", "target-libdir", "--target", TARGET]))?;
    if !Path::new(libraries.trim_end()).is_dir() {
        return missing(format!("the target `{TARGET}`"), GET_TARGET);
    }
    let mut build = command(cargo, folder);
    build.args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    build.arg("--config").arg(remapped(folder));
    let told = output(&mut build)?;
    let artifacts = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let component = artifacts.filter_map(|told| component(&told, folder)).next_back();
    component.ok_or_else(|| AuthoringError::NoComponent {
        command: super::shown(&build),
        look: "the package needs `crate-type = [\"cdylib\"]` below `[lib]` in `Cargo.toml`",
    })
}

/// The same bytes come of it wherever the project and cargo's own folder are: where they are is nobody's business either.
fn remapped(folder: &Path) -> String {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let places = [(Some(folder.to_owned()), "/plugin"), (cargo_home, "/cargo")];
    let flags = places.into_iter().filter_map(|(place, name)| Some(format!("{}={name}", place?.to_str()?)));
    let flags: Vec<Value> = flags.flat_map(|flag| ["--remap-path-prefix".into(), flag.into()]).collect();
    // An array of texts is written in TOML as it is in JSON.
    format!("target.{TARGET}.rustflags={}", Value::Array(flags))
}

/// The component that this message of cargo's tells of, if it is the project's own.
fn component(told: &Value, folder: &Path) -> Option<PathBuf> {
    if told["reason"] != "compiler-artifact" || Path::new(told["manifest_path"].as_str()?) != folder.join("Cargo.toml")
    {
        return None;
    }
    let mut files = told["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
    files.rfind(|file| file.extension().is_some_and(|extension| extension == "wasm"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_project_s_own_component_is_found_among_cargo_s_messages() {
        let told = |manifest: &str, files: &[&str]| {
            let told = json!({ "reason": "compiler-artifact", "manifest_path": manifest, "filenames": files });
            component(&told, Path::new("/p"))
        };
        assert_eq!(told("/p/Cargo.toml", &["/t/libp.rlib", "/t/p.wasm"]), Some(PathBuf::from("/t/p.wasm")));
        assert_eq!(told("/p/Cargo.toml", &["/t/libp.rlib"]), None);
        assert_eq!(told("/p/vendor/x/Cargo.toml", &["/t/x.wasm"]), None);
        assert_eq!(component(&json!({ "reason": "build-finished" }), Path::new("/p")), None);
    }
}
