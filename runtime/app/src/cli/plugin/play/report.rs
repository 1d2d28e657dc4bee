//! What is shown of the cases that were played.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use acp_runtime_agent::noun::counted;
use serde_json::json;

use super::super::super::failure::Failure;
use crate::settings::Place;

/// One thing that is not as a case says.
pub(super) struct Complaint {
    /// Where the case says so.
    pub(super) place: Place,
    /// What is not as it should be; further lines show it.
    pub(super) what: String,
}

/// A case that was played.
pub(super) struct Outcome<'a> {
    pub(super) file: &'a Path,
    pub(super) case: &'a str,
    pub(super) took: Duration,
    /// Nothing where it is as it says.
    pub(super) failures: Vec<Complaint>,
}

/// Shows cases as they end, and counts them.
pub(super) struct Report {
    json: bool,
    passed: usize,
    failed: usize,
}

impl Report {
    pub(super) fn new(json: bool) -> Self {
        Self { json, passed: 0, failed: 0 }
    }

    pub(super) fn begin(&self, file: &Path) -> io::Result<()> {
        if self.json { Ok(()) } else { writeln!(io::stdout(), "{}", file.display()) }
    }

    pub(super) fn add(&mut self, outcome: &Outcome<'_>) -> io::Result<()> {
        let Outcome { file, case, took, failures } = outcome;
        let passed = failures.is_empty();
        *(if passed { &mut self.passed } else { &mut self.failed }) += 1;
        let mut out = io::stdout();
        if self.json {
            let failures =
                failures.iter().map(|failure| json!({ "at": failure.place.to_string(), "what": failure.what }));
            let line = json!({
                "file": file.display().to_string(),
                "case": case,
                "passed": passed,
                "milliseconds": took.as_millis(),
                "failures": failures.collect::<Vec<_>>(),
            });
            return writeln!(out, "{line}");
        }
        let word = if passed { "ok    " } else { "FAILED" };
        writeln!(out, "  {word} {case} ({} ms)", took.as_millis())?;
        for Complaint { place, what } in failures {
            let mut lines = what.lines();
            writeln!(out, "         {place}: {}", lines.next().unwrap_or_default())?;
            lines.try_for_each(|line| match line {
                "" => writeln!(out),
                line => writeln!(out, "           {line}"),
            })?;
        }
        Ok(())
    }

    /// Adds them up; failed cases are an error.
    pub(super) fn end(self, only: Option<&str>) -> Result<(), Failure> {
        let Self { json, passed, failed } = self;
        if let (0, Some(only)) = (passed + failed, only) {
            return Err(
                Failure::usage(format!("no case has `{only}` in its name")).hint("leave `--only` out to see all")
            );
        }
        let mut out = io::stdout();
        if json {
            writeln!(out, "{}", json!({ "passed": passed, "failed": failed }))?;
        } else {
            writeln!(out, "{}: {passed} passed, {failed} failed", counted(passed + failed, "case"))?;
        }
        match failed {
            0 => Ok(()),
            failed => Err(Failure::new(format!("{} failed", counted(failed, "case")))),
        }
    }
}
