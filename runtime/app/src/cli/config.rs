//! `acp-runtime config`: the settings as they hold, and whether they can.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::arguments::ConfigCommand;
use super::doctor;
use super::failure::Failure;
use crate::compose::{Keys, Runtime};
use crate::redaction::Redaction;
use crate::settings::{Overrides, PROJECT_FILE, Paths, ProjectSettings, Settings, schema as settings_schema};

pub(super) fn command(command: ConfigCommand, paths: &Paths, overrides: Overrides) -> Result<ExitCode, Failure> {
    let file = overrides.config.clone().unwrap_or_else(|| paths.config().to_owned());
    let mut out = io::stdout();
    match command {
        ConfigCommand::Schema => return schema(),
        ConfigCommand::Path { all: false } => writeln!(out, "{}", file.display())?,
        ConfigCommand::Path { all: true } => {
            writeln!(out, "config    {}", file.display())?;
            for (name, path) in paths.kept() {
                writeln!(out, "{name:8}  {}", path.display())?;
            }
        }
        ConfigCommand::Show => {
            let here = here(paths, overrides)?;
            let text = toml::to_string(&here.settings)
                .map_err(|error| Failure::new(format!("the settings cannot be shown: {error}")))?;
            out.write_all(text.as_bytes())?;
            warn(&here.ignored);
        }
        ConfigCommand::Check => {
            let here = here(paths, overrides)?;
            let id = check(&here.settings, paths)?;
            for file in [file.as_path(), Path::new(PROJECT_FILE)] {
                writeln!(out, "`{}`: {}", file.display(), if file.exists() { "ok" } else { "not there" })?;
            }
            writeln!(out, "the model is `{id}`")?;
            warn(&here.ignored);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The settings as they hold in the current folder.
fn here(paths: &Paths, overrides: Overrides) -> Result<ProjectSettings, Failure> {
    Ok(Settings::load(paths, overrides)?.in_current_folder()?)
}

fn warn(ignored: &[String]) {
    for problem in ignored {
        // With nobody to warn there is nothing else to do.
        let _ = writeln!(io::stderr(), "warning: {problem}");
    }
}

/// The model of new sessions, when it can be had and all that the settings name can be used.
fn check(settings: &Settings, paths: &Paths) -> Result<String, Failure> {
    let keys = Keys::new(settings, paths, Redaction::default());
    let models = keys.models(settings)?;
    models.open(models.default_id())?;
    warn(&models.short_keys());
    let runtime = Runtime::new(settings.clone(), paths, &keys)?;
    doctor::tell(settings, paths, &runtime)?;
    Ok(models.default_id().to_owned())
}

pub(super) fn schema() -> Result<ExitCode, Failure> {
    writeln!(io::stdout(), "{:#}", settings_schema())?;
    Ok(ExitCode::SUCCESS)
}
