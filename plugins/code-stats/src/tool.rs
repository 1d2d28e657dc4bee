//! The tool that the model calls.

use acp_plugin::{Call, Outcome, Result, SideEffect, Tool, workspace};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::panel;
use crate::report::{By, Report};
use crate::settings::Settings;
use crate::survey::{Bounds, Request, survey};

/// The arguments of `code-stats`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeStats {
    /// A file or folder, relative to the project's folder. The whole project where it is missing.
    #[serde(default)]
    path: Option<String>,
    /// What a row stands for.
    #[serde(default)]
    by: By,
    /// How many rows.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
}

fn default_limit() -> usize {
    30
}

impl Tool for CodeStats {
    const NAME: &str = "code-stats";
    const TITLE: Option<&str> = Some("Count lines of code");
    const DESCRIPTION: &str = "Counts files and lines (code, comments, blank) of the project, by language or by file, \
         largest first. Leaves out what .gitignore ignores. Use it to see how large a project or a part of it is, \
         which languages it is written in, and which files are the largest.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Read];

    fn run(self, call: &Call) -> Result<Outcome> {
        let defaults = Bounds::default();
        let bounds = Bounds { time: defaults.time.min(call.deadline.mul_f64(0.8)), ..defaults };
        let settings = Settings::get()?;
        let request = Request { path: self.path.as_deref(), exclude: &settings.exclude, bounds };
        let survey = survey(&workspace::roots(), &request)?;
        if self.path.is_none() {
            panel::remember(&survey)?;
        }
        let report = Report::new(&survey, self.by, self.limit.clamp(1, 500));
        let text = report.to_markdown(&survey, self.by, &bounds);
        let outcome = Outcome::markdown(text).structured(&report)?;
        let shown = if self.by == By::File { report.rows.len() } else { 0 };
        Ok(survey
            .files
            .iter()
            .take(shown.min(10))
            .fold(outcome, |outcome, file| outcome.at(file.path.to_string_lossy(), None)))
    }
}
