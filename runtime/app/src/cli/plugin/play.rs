//! `acp-runtime plugin test`: the cases of a project, played by the real component in the real host.
//!
//! Each case has a home, a folder and a session of its own, and nothing of the person's: no settings, no plugins, no
//! network. What is kept of its panels lies beside the cases, and `--update` keeps it as it is now.
#![expect(clippy::disallowed_methods, reason = "lays out the folder of a case, and keeps its snapshots")]

mod props;
mod report;
mod stage;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use acp_runtime_host::package::Package;
use acp_runtime_host::regular_file;

use self::report::{Outcome, Report};
use self::stage::Ensemble;
use super::super::arguments::plugin::TestArguments;
use super::super::failure::Failure;
use super::project;
use crate::authoring::CASES;
use crate::authoring::cases::{Case, Cases};
use crate::compose::Runtime;
use crate::settings::{Paths, SettingsError};

/// The folder of what is kept of panels, beside the cases.
const SNAPSHOTS: &str = "snapshots";
/// Bytes that a file of cases may have.
const MOST: u64 = 4 << 20;

pub(super) async fn test(runtime: &Runtime, arguments: TestArguments) -> Result<(), Failure> {
    let TestArguments { folder, built, only, update, json } = arguments;
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    let files = files(&folder.join(CASES))?;
    let mut all = Vec::new();
    for path in &files {
        all.push(read(path)?);
    }
    let component = match built {
        Some(built) => built,
        None => project::build(runtime, &folder, None).await?,
    };
    let ensemble =
        Ensemble { plugin: component, compiled: Paths::find()?, snapshots: folder.join(CASES).join(SNAPSHOTS), update };
    // What is wrong with the plugin is told once, and not of each case.
    stage::check(&Package::read(&ensemble.plugin)?, &all)?;
    let mut report = Report::new(json);
    for (cases, text) in &all {
        report.begin(&cases.path)?;
        for case in cases.cases.iter().filter(|case| wanted(case, only.as_deref())) {
            let since = Instant::now();
            let failures = ensemble.play(case, |at| cases.place(text, at)).await?;
            report.add(&Outcome { file: &cases.path, case: &case.name, took: since.elapsed(), failures })?;
        }
    }
    report.end(only.as_deref())
}

fn wanted(case: &Case, only: Option<&str>) -> bool {
    only.is_none_or(|only| case.name.contains(only))
}

/// The files of cases, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let none = || {
        Failure::usage(format!("there are no cases: no `*.toml` in `{}`", folder.display()))
            .hint("docs/plugins.md says how they are written; `acp-runtime plugin new` lays out the first ones")
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(none()),
        entries => entries.map_err(|error| Failure::unreadable(folder, &error))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Failure::unreadable(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

fn read(path: &Path) -> Result<(Cases, String), Failure> {
    let text = regular_file::read_text(path, MOST).map_err(|error| Failure::unreadable(path, &error))?;
    Ok((Cases::read(path, &text)?, text))
}

/// An error in a file of cases, at its place.
fn misplaced(place: crate::settings::Place, problem: impl Into<String>) -> Failure {
    SettingsError::Invalid { place, problem: problem.into(), hint: Some(SettingsError::CASES_HINT.to_owned()) }.into()
}
