//! The command line: what is typed is read once, and each command is a room of its own.
//!
//! Data goes to stdout and everything else to stderr; errors are `error: …` and `hint: …`; the table of exit codes is in
//! `exit`. A reader that goes away is no error.
//! Nothing is opened, loaded or asked of the network before a command needs it. Tested by tables beside the code, and
//! over the real binary in `tests/it`.

mod arguments;
mod audit;
mod config;
mod confirm;
mod doctor;
mod exit;
mod failure;
mod headless;
mod logging;
mod models;
mod plugin;
mod run;
mod secret;
mod session;
mod styled;
mod transcript;
mod trust;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use acp_runtime_agent::session::SessionFactory as _;
use clap::CommandFactory as _;

use self::arguments::{Arguments, Command, ConfigCommand, SecretCommand};
use self::exit::{DONE, MISUSED};
use self::failure::Failure;
use crate::compose::{self, Keys, Runtime};
use crate::process::Role;
use crate::redaction::Redaction;
use crate::settings::{Paths, Settings};

/// How long files that are being written may hold the exit up. Plugins that are being compiled do not.
const FAREWELL: Duration = Duration::from_millis(50);

/// How many threads work on files and whatever else blocks. What they do is short; more of them would only wait for the
/// same disk, and each holds memory of its own.
const BLOCKING_THREADS: usize = 16;

/// The program.
pub fn main() -> ExitCode {
    if let Some(role) = Role::of(std::env::args_os()) {
        return role.play(compose::play);
    }
    raise_open_files();
    match arguments::read(std::env::args_os()) {
        Ok(arguments) => execute(arguments).unwrap_or_else(Failure::report),
        Err(error) => explain(&error, &arguments::command_of(std::env::args_os())),
    }
}

fn execute(arguments: Arguments) -> Result<ExitCode, Failure> {
    let overrides = arguments.overrides();
    let command = match arguments.command {
        _ if arguments.login => Command::Login { provider: None },
        Some(Command::Completions { shell }) => return completions(shell),
        Some(Command::Config(ConfigCommand::Schema)) => return config::schema(),
        None if !arguments.acp && io::stdin().is_terminal() => return help(),
        None => Command::Acp,
        Some(command) => command,
    };
    let overrides = overrides?;
    let paths = Paths::find()?;
    match command {
        Command::Config(command) => return config::command(command, &paths, overrides),
        Command::Doctor { json } => return doctor::command(&paths, overrides, json),
        _ => {}
    }
    let settings = Settings::load(&paths, overrides)?;
    let redaction = Redaction::default();
    logging::start(&settings.log, redaction.clone())?;
    let keys = Keys::new(&settings, &paths, redaction);
    match command {
        // Whose plugin it is for is known to a runtime.
        Command::Secret(SecretCommand::Set { name }) if name.plugin().is_some() => {
            return with_runtime(Command::Secret(SecretCommand::Set { name }), settings, &paths, &keys);
        }
        Command::Secret(command) => secret::command(keys.secrets(), command)?,
        Command::Login { provider } => secret::login(&keys, &keys.models(&settings)?, provider.as_deref())?,
        Command::Models { json } => models::command(&keys.models(&settings)?, json)?,
        Command::Audit(command) => return audit::command(command, &paths.audit()),
        Command::Logout { provider } => secret::logout(&keys, &keys.models(&settings)?, provider.as_deref())?,
        command => return with_runtime(command, settings, &paths, &keys),
    }
    Ok(ExitCode::SUCCESS)
}

fn with_runtime(command: Command, settings: Settings, paths: &Paths, keys: &Keys) -> Result<ExitCode, Failure> {
    let wanted = settings.plugins.clone();
    let runtime = Runtime::new(settings, paths, keys)?;
    match command {
        Command::Acp => wait(leaving(&runtime, runtime.clone().serve_acp()))??,
        Command::Run(arguments) => return wait(leaving(&runtime, run::command(runtime.clone(), arguments)))?,
        Command::Session(command) => wait(leaving(&runtime, session::command(runtime.store(), command)))??,
        Command::Trust(command) => wait(leaving(&runtime, trust::command(&runtime, command)))??,
        Command::Plugin(command) => {
            wait(leaving(&runtime, plugin::command(runtime.clone(), &wanted, command)))??;
        }
        Command::Secret(SecretCommand::Set { name }) => {
            wait(leaving(&runtime, secret::keep_for_plugin(&runtime, keys.secrets(), name)))??;
        }
        // They need no runtime, and were answered before one was made.
        Command::Config(_)
        | Command::Doctor { .. }
        | Command::Completions { .. }
        | Command::Audit(_)
        | Command::Models { .. }
        | Command::Secret(_)
        | Command::Login { .. }
        | Command::Logout { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a future to its end on threads of their own.
fn wait<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
        .map_err(|error| Failure::new(format!("no threads to work with: {error}")).hint("see `ulimit -u`"))?;
    let outcome = threads.block_on(future);
    threads.shutdown_timeout(FAREWELL);
    Ok(outcome)
}

/// Work with sessions, and what is to be done after it.
async fn leaving<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    let outcome = work.await;
    runtime.leave().await;
    outcome
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "acp-runtime", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Somebody typed the bare name: an editor would not have a terminal there.
fn help() -> Result<ExitCode, Failure> {
    write!(io::stderr(), "{}", arguments::definition().render_help())?;
    Ok(ExitCode::from(MISUSED))
}

/// Help and version as they are; errors in the form that all errors have, with the help of the `command` that was typed.
fn explain(error: &clap::Error, command: &str) -> ExitCode {
    let told = if error.use_stderr() {
        io::stderr().write_all(with_hints(&error.render().to_string(), command).as_bytes())
    } else {
        error.print()
    };
    match told {
        Ok(()) => ExitCode::from(if error.use_stderr() { MISUSED } else { DONE }),
        Err(error) => Failure::from(error).report(),
    }
}

fn with_hints(text: &str, command: &str) -> String {
    let command = if command.is_empty() { String::new() } else { format!("{command} ") };
    text.replace("\n  tip: ", "\nhint: ")
        .replace("For more information, try '--help'.", &format!("hint: see `acp-runtime {command}--help`"))
}

/// Every session holds folders open, so the soft limit, which is for programs that use `select`, is too low.
#[cfg(unix)]
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, opening too many files is an error in its place.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[cfg(not(unix))]
fn raise_open_files() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_wrong_has_an_error_and_a_hint() {
        let error = arguments::read(["acp-runtime", "sesion", "list"].map(Into::into)).unwrap_err();
        let text = with_hints(&error.render().to_string(), "");
        assert!(text.starts_with("error: unrecognized subcommand 'sesion'\n"), "{text}");
        assert!(text.contains("\nhint: a similar subcommand exists: 'session'\n"), "{text}");
        assert!(text.ends_with("\nhint: see `acp-runtime --help`\n"), "{text}");
    }
}
