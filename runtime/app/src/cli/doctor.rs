//! `acp-runtime doctor`: whether everything is in order, and what to do where it is not.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::exit::{DONE, FAILED};
use super::failure::Failure;
use super::{leaving, wait};
use crate::compose::checks::{self, Check, Outcome};
use crate::compose::{Keys, Runtime};
use crate::redaction::Redaction;
use crate::settings::{Overrides, Paths, Settings};

pub(super) fn command(paths: &Paths, overrides: Overrides, json: bool) -> Result<ExitCode, Failure> {
    // Where the user's settings are broken, the rest is checked with the defaults.
    let (mut checks, settings) = match Settings::load(paths, overrides) {
        Ok(settings) => (checks::configuration(&settings, settings.in_current_folder()), settings),
        Err(error) => (vec![Check::broken(&error)], Settings::default()),
    };
    let keys = Keys::new(&settings, paths, Redaction::default());
    let runtime = Runtime::new(settings.clone(), paths, &keys);
    let all = checks::all(paths, &settings, &keys, runtime.as_deref(), None, Path::new("."));
    checks.extend(match &runtime {
        Ok(runtime) => wait(leaving(runtime, all))?,
        Err(_) => wait(all)?,
    });

    let mut out = io::stdout();
    for check in &checks {
        if json {
            writeln!(out, "{}", serde_json::to_string(check)?)?;
        } else {
            write_text(&mut out, check)?;
        }
    }
    let bad = checks.iter().any(|check| check.outcome == Outcome::Fail);
    Ok(ExitCode::from(if bad { FAILED } else { DONE }))
}

pub(super) fn write_text(out: &mut impl io::Write, check: &Check) -> io::Result<()> {
    writeln!(out, "{:4}  {:8}  {}", check.outcome.as_str(), check.check, check.detail)?;
    check.hint.as_ref().map_or(Ok(()), |hint| writeln!(out, "                hint: {hint}"))
}

/// Tells what is odd and what is wrong with what the settings name. The last thing that is wrong is the failure.
pub(super) fn tell(settings: &Settings, paths: &Paths, runtime: &Runtime) -> Result<(), Failure> {
    let mut last: Option<Failure> = None;
    for Check { outcome, detail, hint, .. } in checks::named(settings, paths, runtime, Path::new(".")) {
        match outcome {
            Outcome::Ok => {}
            Outcome::Warn => {
                let hint = hint.map_or(String::new(), |hint| format!("hint: {hint}\n"));
                // With nobody to warn there is nothing else to do.
                let _ = write!(io::stderr(), "warning: {detail}\n{hint}");
            }
            Outcome::Fail => {
                let failure = hint.into_iter().fold(Failure::new(detail), Failure::hint);
                if let Some(before) = last.replace(failure) {
                    before.report();
                }
            }
        }
    }
    last.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_hint_below() {
        let mut out = Vec::new();
        write_text(&mut out, &Check::warn("model", "none", "choose one")).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "warn  model     none\n                hint: choose one\n");
    }
}
