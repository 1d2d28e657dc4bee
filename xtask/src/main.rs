//! `cargo xtask`: the project's own chores, with their set-up, on a fresh machine as well.
//!
//! One module for each subcommand. Depends on next to nothing, so that it compiles in seconds.

mod agent;
mod bench;
mod demo;
mod foreign;
mod languages;
mod local_model;
mod plugins;
mod process;
mod registry;
mod setup;
mod test;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use crate::workspace::Workspace;

/// What every chore answers. The error is shown as it is.
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo      build everything and play a session in the terminal; with --local-model a turn by a real, very small model
            on this machine (500 MB of Python packages)
  test      build everything and run the tests; with --slow only the slow ones, with --require-all (or with CI in the
            environment) what cannot be set up is an error and not skipped
  plugins   build every plugin in plugins/ and put it beside the release binary; the hostile guests of the
            tests too
  bench     build everything and print what it costs
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            process::say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["demo", options @ ..] => demo::run(&Workspace::find()?, options),
        ["test", options @ ..] => test::run(&Workspace::find()?, &test::Options::read(options)?),
        ["plugins"] => plugins::build(&Workspace::find()?).map(|_| ()),
        ["bench"] => bench::run(&Workspace::find()?),
        [] | ["help" | "--help" | "-h"] => {
            process::say(USAGE);
            Ok(())
        }
        other => Err(format!("`{}` is not a command\n\n{USAGE}", other.join(" ")).into()),
    }
}
