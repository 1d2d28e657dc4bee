//! `cargo xtask test`: the set-up that tests need, then all of them, then one line that sums them up.
#![expect(clippy::disallowed_methods, reason = "CI says in the environment that it is one")]
#![expect(clippy::print_stdout, reason = "what tests print, and the sum, are this program's output")]

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::Result;
use crate::process::{run as run_to_success, say};
use crate::workspace::{Workspace, cargo};
use crate::{foreign, languages, local_model, plugins, registry};

/// How to test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    slow: bool,
    require_all: bool,
}

impl Options {
    /// Reads the command line; `CI` in the environment requires everything.
    pub(crate) fn read(arguments: &[&str]) -> Result<Self> {
        let mut options = Self { slow: false, require_all: std::env::var_os("CI").is_some() };
        for argument in arguments {
            match *argument {
                "--slow" => options.slow = true,
                "--require-all" => options.require_all = true,
                other => return Err(format!("`test` knows no `{other}`, only `--slow` and `--require-all`").into()),
            }
        }
        Ok(options)
    }
}

/// Runs one tier. The quick one also checks the format and the lints.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.slow {
        plugins::build(workspace)?;
        let missing = unless_required(options, local_model::set_up_small(workspace))?;
        let without_languages = unless_required(options, languages::set_up(workspace))?;
        let without_registry = unless_required(options, registry::set_up(workspace))?;
        let mut test = cargo_test(workspace, &["slow_"]);
        if missing.is_some() {
            test.args(["--skip", "slow_local_model::"]);
        }
        if without_languages.is_some() {
            test.args(["--skip", "slow_languages::"]);
        }
        if without_registry.is_some() {
            test.args(["--skip", "debian_registry::"]);
        }
        let outcome = report(&mut test);
        if let Some(error) = missing {
            say(&format!("skipped: the tests with a real model, which could not be set up: {error}"));
        }
        if let Some(error) = without_languages {
            say(&format!(
                "skipped: the tests of plugins in Python, JavaScript and C, which could not be set up: {error}"
            ));
        }
        without_registry.iter().for_each(|error| say_without_registry(error.as_ref()));
        return outcome;
    }
    let check = |arguments: &[&str]| run_to_success(cargo().current_dir(&workspace.root).args(arguments));
    check(&["fmt", "--all", "--check"])?;
    plugins::build(workspace)?;
    check(&["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    let without_foreign = unless_required(options, foreign::set_up(workspace))?;
    let without_registry = unless_required(options, registry::set_up(workspace))?;
    let mut test = cargo_test(workspace, &["--skip", "slow_"]);
    if without_foreign.is_some() {
        test.args(["--skip", "foreign::"]);
    }
    if without_registry.is_some() {
        test.args(["--skip", "debian_registry::"]);
    }
    let outcome = report(&mut test);
    if let Some(error) = without_foreign {
        say(&format!("skipped: the tests with foreign clients and servers, which could not be set up: {error}"));
    }
    without_registry.iter().for_each(|error| say_without_registry(error.as_ref()));
    outcome
}

fn say_without_registry(error: &dyn Error) {
    say(&format!("skipped: the tests with Debian's registry and minisign, which could not be set up: {error}"));
}

/// Why something could not be set up, where it may be missing.
fn unless_required(options: &Options, set_up: Result<()>) -> Result<Option<Box<dyn Error>>> {
    match set_up {
        Err(error) if options.require_all => Err(error),
        Err(error) => Ok(Some(error)),
        Ok(()) => Ok(None),
    }
}

fn cargo_test(workspace: &Workspace, filter: &[&str]) -> Command {
    let mut command = cargo();
    command
        .current_dir(&workspace.root)
        .args(["test", "--release", "--workspace", "--no-fail-fast", "--"])
        .args(filter);
    command
}

/// Runs tests, shows what they print, and adds up their results in a last line.
fn report(command: &mut Command) -> Result<()> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            println!("{line}");
            tally.add(&line);
        }
    }
    let success = child.wait()?.success();
    println!("{} passed, {} failed", tally.passed, tally.failed);
    match tally {
        Tally { passed: 1.., failed: 0 } if success => Ok(()),
        Tally { passed: 0, failed: 0 } if success => Err("no test ran".into()),
        _ => Err("tests failed".into()),
    }
}

/// How many tests there were in all runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

impl Tally {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; …`; other lines add nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let number = |label: &str| {
            let part = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(label))?;
            part.trim().parse::<u64>().ok()
        };
        self.passed += number("passed").unwrap_or(0);
        self.failed += number("failed").unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.02s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 13, failed: 2 });
    }

    #[test]
    fn unknown_options_are_errors() {
        assert!(Options::read(&["--slow", "--require-all"]).is_ok_and(|options| options.slow && options.require_all));
        assert!(Options::read(&["--fast"]).is_err());
    }
}
