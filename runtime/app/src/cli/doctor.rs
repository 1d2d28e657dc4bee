//! `acp-runtime doctor`: whether everything is in order, and what to do where it is not.

mod places;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use acp_runtime_agent::session::SessionFactory as _;
use acp_runtime_agent::store::ListQuery;
use serde::Serialize;

use super::failure::{FAILED, Failure, store_hint};
use super::wait;
use crate::compose::{Keys, Problem, Runtime};
use crate::models::{FetchedKey, Models, NONE};
use crate::process::cannot_contain;
use crate::redaction::Redaction;
use crate::secrets::{Place, SecretStore};
use crate::settings::{Containment, Overrides, Paths, Settings};

/// The outcome of one check.
#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    outcome: Outcome,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    Warn,
    Fail,
}

impl Check {
    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Ok, detail: detail.into(), hint: None }
    }

    fn warn(check: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Warn, detail: detail.into(), hint: Some(hint.into()) }
    }

    fn fail(check: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { outcome: Outcome::Fail, ..Self::warn(check, detail, hint) }
    }
}

pub(super) fn command(paths: &Paths, overrides: Overrides, json: bool) -> Result<ExitCode, Failure> {
    let (mut checks, settings) = configuration(paths, overrides);
    checks.extend(places::folders(paths));
    checks.extend(places::files(&settings, paths));
    let keys = Keys::new(&settings, paths, Redaction::default());
    checks.push(match keys.models(&settings) {
        Ok(models) => wait(model(&models))?,
        Err(error) => Check::fail("model", error.to_string(), MODEL),
    });
    checks.push(secrets(keys.secrets()));
    checks.push(shell(settings.shell.containment, cannot_contain()));
    checks.extend(system());
    // A runtime that cannot be made has its reason among the checks.
    if let Ok(runtime) = Runtime::new(settings, paths, &keys) {
        checks.push(wait(store(&runtime, paths.sessions()))?);
        checks.extend(plugins(&runtime));
    }

    let mut out = io::stdout();
    for check in &checks {
        if json {
            writeln!(out, "{}", serde_json::to_string(check)?)?;
        } else {
            write_text(&mut out, check)?;
        }
    }
    let bad = checks.iter().any(|check| check.outcome == Outcome::Fail);
    Ok(ExitCode::from(if bad { FAILED } else { 0 }))
}

fn write_text(out: &mut impl io::Write, check: &Check) -> io::Result<()> {
    let outcome = match check.outcome {
        Outcome::Ok => "ok",
        Outcome::Warn => "warn",
        Outcome::Fail => "fail",
    };
    writeln!(out, "{outcome:4}  {:8}  {}", check.check, check.detail)?;
    check.hint.as_ref().map_or(Ok(()), |hint| writeln!(out, "                hint: {hint}"))
}

/// The first thing that is wrong with what the settings name: files that are written, and plugins. Reads and makes no
/// more than it must.
pub(super) fn failure(settings: &Settings, paths: &Paths, runtime: &Runtime) -> Option<Failure> {
    let checks = places::files(settings, paths).into_iter().chain(plugins(runtime));
    let failed = checks.into_iter().find(|check| check.outcome == Outcome::Fail)?;
    let failure = Failure::new(failed.detail);
    Some(match failed.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

/// The settings that hold, or the defaults where the user's are broken.
fn configuration(paths: &Paths, overrides: Overrides) -> (Vec<Check>, Settings) {
    let file = overrides.config.clone().unwrap_or_else(|| paths.config().to_owned());
    let user = match Settings::load(paths, overrides) {
        Ok(settings) => settings,
        Err(error) => return (vec![broken(&error)], Settings::default()),
    };
    let there = if file.exists() { "" } else { ", not there: the defaults hold" };
    let mut checks = vec![Check::ok("config", format!("`{}`{there}", file.display()))];
    match user.in_current_folder() {
        Ok(here) => {
            let hint = "remove it from the project's file";
            checks.extend(here.ignored.into_iter().map(|problem| Check::warn("project", problem, hint)));
        }
        Err(error) => checks.push(broken(&error)),
    }
    (checks, user)
}

fn broken(error: &crate::settings::SettingsError) -> Check {
    Check::fail("config", error.to_string(), error.hint())
}

const MODEL: &str = "see `model` and `[providers]` in the file of `acp-runtime config path`";

/// Whether the model can be had, and its key be fetched.
async fn model(models: &Models) -> Check {
    let id = models.default_id();
    if let Err(error) = models.open(id) {
        return Check::fail("model", error.to_string(), MODEL);
    }
    match models.fetch_key(id).await {
        Err(error) => Check::fail("model", error.message, MODEL),
        Ok(Some(FetchedKey { from, is_kept_out: true })) => {
            Check::ok("model", format!("`{id}`, with the key from {from}"))
        }
        Ok(Some(FetchedKey { from, is_kept_out: false })) => Check::warn(
            "model",
            format!("`{id}`, with the key from {from}, which is so short that it is not masked where others repeat it"),
            "use a key of 8 characters or more, or none where none is needed",
        ),
        Ok(None) if id == NONE => {
            let hint = "configure one: `acp-runtime run Hello` shows how";
            Check::warn("model", "none is configured: only commands are answered", hint)
        }
        Ok(None) => Check::ok("model", format!("`{id}`, without a key")),
    }
}

fn secrets(secrets: &SecretStore) -> Check {
    match secrets.list() {
        Ok(kept) => {
            let in_keyring = kept.iter().filter(|(_, place)| *place == Place::Keyring).count();
            let path = secrets.path().display();
            Check::ok("secrets", format!("{} in `{path}`, {in_keyring} in the keyring", kept.len() - in_keyring))
        }
        Err(error) => Check::fail("secrets", error.to_string(), error.hint()),
    }
}

/// Whether commands that run on this machine are contained.
fn shell(containment: Containment, cannot: Option<String>) -> Check {
    let anywhere = "commands may write anywhere that you may";
    match (containment, cannot) {
        (Containment::None, _) => {
            Check::warn("shell", anywhere, "set `shell.containment = \"landlock\"` in the configuration")
        }
        (Containment::Landlock, Some(why)) => Check::warn(
            "shell",
            format!("{anywhere}: {why}"),
            "use Linux 5.13 or later with Landlock, or forbid `run` in `permission.deny`",
        ),
        (Containment::Landlock, None) => Check::ok("shell", "commands write only in their session's folders"),
    }
}

/// Whether sessions can be kept, and read.
async fn store(runtime: &Runtime, path: PathBuf) -> Check {
    let readable = runtime.store().list(ListQuery { cwd: None, cursor: None, limit: 1 }).await;
    match readable.map(|_| ()).and(runtime.check_store().await) {
        Ok(()) => Check::ok("sessions", format!("`{}`", path.display())),
        Err(error) => Check::fail("sessions", error.to_string(), store_hint(&error)),
    }
}

fn plugins(runtime: &Runtime) -> Vec<Check> {
    let shelf = runtime.shelf();
    let found = Check::ok("plugins", format!("{} can be used", shelf.plugins().len()));
    let check = |problem: &Problem| {
        let message = problem.message.as_str();
        if problem.is_second {
            return Check::warn("plugins", message, "remove one of them: see `acp-runtime plugin list`");
        }
        Check::fail("plugins", message, "replace it or remove it: see `plugins.paths` and `acp-runtime plugin list`")
    };
    std::iter::once(found).chain(shelf.problems().iter().map(check)).collect()
}

/// What the system must have: plugins' folders are opened through `/proc/self/fd`, and every session holds some open.
#[cfg(target_os = "linux")]
fn system() -> Vec<Check> {
    let folders = match rustix::fs::access("/proc/self/fd", rustix::fs::Access::READ_OK) {
        Ok(()) => Check::ok("system", "`/proc` is mounted"),
        Err(error) => {
            Check::fail("system", format!("`/proc/self/fd`: {error}"), "mount `/proc`: plugins need it for files")
        }
    };
    vec![folders, open_files()]
}

#[cfg(all(unix, not(target_os = "linux")))]
fn system() -> Vec<Check> {
    vec![open_files()]
}

#[cfg(not(unix))]
fn system() -> Vec<Check> {
    Vec::new()
}

#[cfg(unix)]
fn open_files() -> Check {
    const FEW: u64 = 1024;
    match rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        Some(most) if most < FEW => {
            Check::warn("system", format!("at most {most} files may be open"), "raise it with `ulimit -Hn`")
        }
        Some(most) => Check::ok("system", format!("up to {most} files may be open")),
        None => Check::ok("system", "any number of files may be open"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn a_model_without_a_key_fails_and_none_warns() {
        let keyless = "[providers.x]\nwire = 'anthropic'\nmodel = 'm'\napi_key_env = 'ACP_RUNTIME_TEST_ABSENT'";
        for (toml, outcome) in [
            ("", Outcome::Warn),
            (keyless, Outcome::Fail),
            ("model = 'absent/m'", Outcome::Fail),
            ("[providers.x]\nwire = 'ollama'\nmodel = 'm'", Outcome::Ok),
            ("[providers.x]\nwire = 'anthropic'\nmodel = 'm'\napi_key = 'key-of-x'", Outcome::Ok),
            ("[providers.x]\nwire = 'anthropic'\nmodel = 'm'\napi_key = 'k'", Outcome::Warn),
        ] {
            let settings = toml::from_str::<Settings>(toml).unwrap();
            let paths = Paths::under(Path::new("/no/such/home")).unwrap();
            let models = Keys::new(&settings, &paths, Redaction::default()).models(&settings).unwrap();
            let check = model(&models).await;
            assert_eq!(check.outcome, outcome, "{toml}: {check:?}");
            assert_eq!(check.hint.is_some(), outcome != Outcome::Ok, "{toml}");
        }
    }

    #[test]
    fn commands_that_nothing_contains_are_warned_of() {
        let outcome = |containment, cannot: Option<&str>| shell(containment, cannot.map(str::to_owned)).outcome;
        assert_eq!(outcome(Containment::Landlock, None), Outcome::Ok);
        assert_eq!(outcome(Containment::Landlock, Some("old")), Outcome::Warn);
        assert_eq!(outcome(Containment::None, None), Outcome::Warn);
    }

    #[test]
    fn a_line_has_its_hint_below() {
        let mut out = Vec::new();
        write_text(&mut out, &Check::warn("model", "none", "choose one")).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "warn  model     none\n                hint: choose one\n");
    }
}
