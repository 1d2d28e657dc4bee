//! From a project's source to a component, by the compiler of its language.
//!
//! Compilers are programs of the author's machine, started in the project's folder with all that the author's shell has.
//! What they say goes to stderr. What is missing is looked for beforehand, so that the error names it, and not what a
//! linker says without it.
#![expect(clippy::disallowed_methods, reason = "this room starts compilers")]

mod c;
mod js;
mod python;
mod rust;

use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{AuthoringError, Language};

/// Where what is only needed on the way is put, in the project's folder for what was built.
const WORK: &str = "parts";

/// Compiles the project in `folder`; answers where the component is. Takes as long as the compiler does.
pub fn compile(folder: &Path, language: Language) -> Result<PathBuf, AuthoringError> {
    // Compilers are started there, and told of files in it.
    let folder = &std::path::absolute(folder).map_err(|error| AuthoringError::files(folder, error))?;
    match language {
        Language::Rust => rust::compile(folder),
        Language::Python => python::compile(folder),
        Language::Js => js::compile(folder),
        Language::C => c::compile(folder),
    }
}

/// A program of the project or, where it has none of that name, of the machine.
fn tool(folder: &Path, own: &str, name: &str) -> Option<PathBuf> {
    let own = folder.join(own);
    if own.is_file() {
        return Some(own);
    }
    on_path(name)
}

/// The program of that name on the search path.
fn on_path(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(&file)).find(|file| file.is_file())
}

/// A compiler in the project's folder, which says what it says on our stderr.
fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::from(io::stderr()));
    command
}

/// Runs it to its end.
fn run(command: &mut Command) -> Result<(), AuthoringError> {
    let status = command.status().map_err(|error| AuthoringError::files(command.get_program(), error))?;
    if status.success() { Ok(()) } else { Err(failed(command, status.code())) }
}

/// Runs it to its end; what it writes to stdout.
fn output(command: &mut Command) -> Result<String, AuthoringError> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| AuthoringError::files(command.get_program(), error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(failed(command, output.status.code()))
    }
}

fn failed(command: &Command, code: Option<i32>) -> AuthoringError {
    AuthoringError::Compiler { command: shown(command), code }
}

/// The first words of a command, which say which one it is.
fn shown(command: &Command) -> String {
    const MOST: usize = 3;
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args().take(MOST));
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    let more = if command.get_args().len() > MOST { " …" } else { "" };
    format!("{}{more}", words.join(" "))
}

/// A folder for what is only needed on the way, empty.
fn work(folder: &Path) -> Result<PathBuf, AuthoringError> {
    let work = folder.join(super::BUILT).join(WORK);
    let emptied = match std::fs::remove_dir_all(&work) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(&work),
    };
    emptied.map(|()| work.clone()).map_err(|error| AuthoringError::files(work, error))
}

/// What the compiler was to make, if it is there.
fn made(command: &Command, component: PathBuf, look: &'static str) -> Result<PathBuf, AuthoringError> {
    if component.is_file() {
        return Ok(component);
    }
    Err(AuthoringError::NoComponent { command: shown(command), look })
}

fn missing<T>(what: impl Into<String>, get: impl Into<String>) -> Result<T, AuthoringError> {
    Err(AuthoringError::Missing { what: what.into(), get: get.into() })
}
