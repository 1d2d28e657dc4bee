//! C: clang and wasi-libc make a module; the interfaces' C side and the component around the module are made here.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::Resolve;
use wit_component::ComponentEncoder;

use super::{command, made, missing, on_path, run, work};
use crate::authoring::AuthoringError;

/// What clang calls the system that a module is made for.
const TARGET: &str = "wasm32-wasip1";
const GET: &str = "on Debian and Ubuntu: `apt install clang lld wasi-libc libclang-rt-dev-wasm32`; elsewhere unpack \
                   https://github.com/WebAssembly/wasi-sdk/releases and set `WASI_SDK_PATH` to its folder";
/// The folder of the generated C side, in the project.
const BINDINGS: &str = "bindings";

pub(super) fn compile(folder: &Path) -> Result<PathBuf, AuthoringError> {
    let work = work(folder)?;
    let bindings = work.join(BINDINGS);
    let generated = generate(&folder.join("wit"), &bindings)?;
    let module = work.join("module.wasm");
    let mut clang = clang(folder)?;
    clang.args(["-mexec-model=reactor", "-Os", "-Wall", "-Wl,--strip-debug", "-I"]).arg(&bindings);
    clang.args(sources(folder)?).args(generated).arg("-o").arg(&module);
    run(&mut clang)?;
    let look = "`plugin.c` needs the functions that the interfaces of `wit/world.wit` name";
    let module = made(&clang, module, look)?;
    let component = work.join("component.wasm");
    let bytes = fs::read(&module).map_err(|error| AuthoringError::files(&module, error))?;
    let bytes = around(&bytes)?;
    fs::write(&component, bytes).map_err(|error| AuthoringError::files(&component, error))?;
    Ok(component)
}

/// Every C file of the project's folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, AuthoringError> {
    let entries = fs::read_dir(folder).map_err(|error| AuthoringError::files(folder, error))?;
    let mut sources = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| AuthoringError::files(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

/// The C side of the project's world, in the folder `bindings`; what of it is compiled or linked.
fn generate(wit: &Path, bindings: &Path) -> Result<Vec<PathBuf>, AuthoringError> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).map_err(wrong)?;
    let world = resolve.select_world(&[package], Some("plugin")).map_err(wrong)?;
    let mut files = Files::default();
    wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut files).map_err(wrong)?;
    fs::create_dir_all(bindings).map_err(|error| AuthoringError::files(bindings, error))?;
    let mut linked = Vec::new();
    for (name, bytes) in files.iter() {
        let path = bindings.join(name);
        fs::write(&path, bytes).map_err(|error| AuthoringError::files(&path, error))?;
        if path.extension().is_some_and(|extension| extension == "c" || extension == "o") {
            linked.push(path);
        }
    }
    Ok(linked)
}

/// The component around a module that knows its world.
fn around(module: &[u8]) -> Result<Vec<u8>, AuthoringError> {
    let mut encoder = ComponentEncoder::default();
    let adapter = (WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER);
    let encoder = encoder.validate(true).module(module).map_err(wrong)?;
    encoder.adapter(adapter.0, adapter.1).map_err(wrong)?.encode().map_err(wrong)
}

fn wrong(error: impl std::fmt::Display) -> AuthoringError {
    AuthoringError::Bindings(format!("{error:#}"))
}

/// A clang that links with wasi-libc: that of `WASI_SDK_PATH`, else the machine's.
fn clang(folder: &Path) -> Result<Command, AuthoringError> {
    let (program, sysroot) = match env::var_os("WASI_SDK_PATH").map(PathBuf::from) {
        Some(sdk) => {
            let clang = sdk.join("bin/clang");
            if !clang.is_file() {
                return missing(format!("`{}`, which is looked for as `WASI_SDK_PATH` says,", clang.display()), GET);
            }
            (Some(clang), sdk.join("share/wasi-sysroot"))
        }
        None => (on_path("clang"), PathBuf::from("/usr")),
    };
    let Some(program) = program else { return missing("a `clang` for WebAssembly", GET) };
    let libc = ["wasm32-wasi", TARGET].map(|name| sysroot.join("include").join(name));
    if !libc.iter().any(|headers| headers.join("stdlib.h").is_file()) {
        return missing(format!("wasi-libc in `{}`", sysroot.display()), GET);
    }
    // Older ones have their folders under the older name alone.
    let target = if libc[1].is_dir() { TARGET } else { "wasm32-wasi" };
    let mut clang = command(program, folder);
    clang.arg(format!("--target={target}")).arg(format!("--sysroot={}", sysroot.display()));
    Ok(clang)
}
