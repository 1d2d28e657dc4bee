//! Whether everything is in order, and what to do where it is not: what `acp-runtime doctor` and `/doctor` say.
//!
//! Nothing of a secret is in what is said. Tested by tables, and over the real binary.

pub mod lent;
mod places;
mod servers;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::store::{ListQuery, SessionStore as _, StoreError};
use serde::Serialize;

use super::{Keys, Origin, Problem, Reason, Runtime, SetupError};
use crate::models::{FetchedKey, KeyProblem, Models, NONE};
use crate::process::cannot_contain;
use crate::secrets::{Place, SecretStore};
use crate::settings::{Containment, Paths, ProjectSettings, Settings, SettingsError};
use crate::store::SqliteStore;

/// The outcome of one check.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What it is about, in one word.
    pub check: &'static str,
    /// How it is.
    pub outcome: Outcome,
    /// A sentence.
    pub detail: String,
    /// What to do, unless all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// In order.
    Ok,
    /// Something is missing or weaker than wanted.
    Warn,
    /// It does not work.
    Fail,
}

impl Outcome {
    /// One word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Check {
    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Ok, detail: detail.into(), hint: None }
    }

    /// Something is missing or weaker than wanted.
    pub fn warn(check: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Warn, detail: detail.into(), hint: Some(hint.into()) }
    }

    fn fail(check: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { outcome: Outcome::Fail, ..Self::warn(check, detail, hint) }
    }

    /// The user's settings, or those of a project, cannot be used.
    pub fn broken(error: &SettingsError) -> Self {
        Self::fail("config", error.to_string(), error.hint())
    }
}

/// The file that `settings` are from, and `here`: how they hold in a project.
pub fn configuration(settings: &Settings, here: Result<ProjectSettings, SettingsError>) -> Vec<Check> {
    let file = settings.file();
    let there = if file.exists() { "" } else { ", not there: the defaults hold" };
    let mut checks = vec![Check::ok("config", format!("`{}`{there}", file.display()))];
    match here {
        Ok(here) => {
            let hint = "remove it from the project's file";
            checks.extend(here.ignored.into_iter().map(|problem| Check::warn("project", problem, hint)));
        }
        Err(error) => checks.push(Check::broken(&error)),
    }
    checks
}

/// All but the configuration, for sessions in `folder`. `runtime` is what these settings make, or why they make none;
/// `id` is the model that is asked, else the one that sessions begin with.
pub async fn all(
    paths: &Paths,
    settings: &Settings,
    keys: &Keys,
    runtime: Result<&Runtime, &SetupError>,
    id: Option<&str>,
    folder: &Path,
) -> Vec<Check> {
    let (paths, settings, kept) = (paths.clone(), settings.clone(), keys.secrets().clone());
    let sessions = paths.sessions();
    // The keyring may hold the thread.
    let machine = tokio::task::spawn_blocking(move || {
        let before = places::folders(&paths).into_iter().chain(places::files(&settings, &paths)).collect();
        let mut after = vec![secrets(&kept), shell(settings.shell.containment, cannot_contain())];
        after.extend(system());
        (before, after)
    });
    let (mut checks, after): (Vec<Check>, Vec<Check>) = machine.await.unwrap_or_default();
    checks.push(match runtime {
        Ok(runtime) => model(&runtime.models, id.unwrap_or(runtime.models.default_id())).await,
        Err(error) => Check::fail("model", error.to_string(), MODEL),
    });
    if let Ok(runtime) = runtime {
        let asked = runtime.models.key(id.unwrap_or(runtime.models.default_id())).map(|key| key.provider);
        checks
            .extend(key_problems(&runtime.models).filter(|(of, _)| asked.as_ref() != Some(of)).map(|(_, check)| check));
    }
    checks.extend(after);
    if let Ok(runtime) = runtime {
        checks.push(store(&runtime.store, sessions).await);
        checks.extend(plugins(runtime));
        checks.extend(changed(runtime).await);
        checks.extend(lent::secrets(runtime).await);
        checks.extend(servers::servers(runtime, folder));
    }
    checks
}

/// What the settings name: keys of providers, files that are written, plugins, and the MCP servers of sessions in
/// `folder`. Reads and makes no more than it must, and starts nothing.
pub fn named(settings: &Settings, paths: &Paths, runtime: &Runtime, folder: &Path) -> Vec<Check> {
    let keys = key_problems(&runtime.models).map(|(_, check)| check);
    let servers = servers::servers(runtime, folder);
    keys.chain(places::files(settings, paths)).chain(plugins(runtime)).chain(servers).collect()
}

/// The keys that cannot be had, and of which provider each is.
fn key_problems(models: &Models) -> impl Iterator<Item = (String, Check)> {
    models.key_problems().into_iter().map(|KeyProblem { provider, problem, hint, is_broken }| {
        let check = if is_broken { Check::fail("key", problem, hint) } else { Check::warn("key", problem, hint) };
        (provider, check)
    })
}

const BESIDE: &str =
    "keep the folder `plugins` of the build beside the program, or in `../share/acp-runtime/` from there";
const MODEL: &str = "see `model` and `[providers]` in the file of `acp-runtime config path`";

/// Whether the model can be had, and its key be fetched.
async fn model(models: &Models, id: &str) -> Check {
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
async fn store(store: &SqliteStore, path: PathBuf) -> Check {
    let usable = match store.list(ListQuery { cwd: None, cursor: None, limit: 1 }).await {
        Ok(_) => store.check_writable().await,
        // One that somebody holds is not waited for twice.
        Err(error) => Err(error),
    };
    match usable {
        Ok(()) => Check::ok("sessions", format!("`{}`", path.display())),
        Err(error) => Check::fail("sessions", error.to_string(), store_hint(&error)),
    }
}

/// What to do where the store does not work.
pub fn store_hint(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unwritable { .. } => "make room and check permissions, or set `ACP_RUNTIME_HOME` to another folder",
        StoreError::Busy { .. } => {
            "end the process that holds the file (`fuser -v` names it), or wait for it, and try again"
        }
        StoreError::Newer { .. } => "use the newer acp-runtime, or set `ACP_RUNTIME_HOME` to another folder",
        StoreError::Damaged { .. } => "move the file away to start with a new one; keep it for a repair",
        StoreError::InUse { .. } => "close it there, or end that process, and try again",
        StoreError::TakenBack => "try again",
        StoreError::BadCursor(_) => "list from the start",
    }
}

/// The plugins that can be used, those that cannot, and what the settings say of any.
fn plugins(runtime: &Runtime) -> Vec<Check> {
    let (shelf, wanted) = (runtime.shelf.contents(), &runtime.settings.plugins);
    let known = |id: &PluginId| shelf.plugins.iter().find(|known| known.plugin.id() == id);
    let found = match shelf.plugins.len() {
        0 if wanted.bundled => {
            Check::warn("plugins", "there are none, not even those that come with the program", BESIDE)
        }
        count => {
            let off = shelf.plugins.iter().filter(|known| known.absence(wanted).is_some());
            let off: Vec<String> = off.map(|known| format!("`{}`", known.plugin.id())).collect();
            let off_too = if off.is_empty() { String::new() } else { format!("; off: {}", off.join(", ")) };
            Check::ok("plugins", format!("{} can be used{off_too}", count - off.len()))
        }
    };
    let problem = |problem: &Problem| {
        let message = problem.message.as_str();
        match problem.reason {
            Reason::Second => Check::warn("plugins", message, "remove one of them: see `acp-runtime plugin list`"),
            Reason::Refused => Check::warn("plugins", message, "see `plugins.allow` and `plugins.deny`"),
            Reason::Unusable => Check::fail(
                "plugins",
                message,
                "replace it or remove it: see `plugins.paths` and `acp-runtime plugin list`",
            ),
        }
    };
    let nowhere = |key: &str, id: &PluginId| {
        Check::warn("plugins", format!("`{key}` names `{id}`, which is not there"), "see `acp-runtime plugin list`")
    };
    let disabled = wanted.disabled.iter().filter(|id| known(id).is_none()).map(|id| nowhere("plugins.disabled", id));
    let enabled = wanted.enabled.iter().filter(|id| known(id).is_none()).map(|id| nowhere("plugins.enabled", id));
    let settings = wanted.settings.keys().filter_map(|id| {
        let Some(known) = known(id) else { return Some(nowhere("plugins.settings", id)) };
        let why = known.misfit(wanted)?;
        Some(Check::fail("plugins", format!("`{id}` is left out: {why}"), format!("see `[plugins.settings.\"{id}\"]`")))
    });
    let mut checks = vec![found];
    // Until it can be read nothing that needs a signature is installed, and no publisher is known.
    checks.extend(runtime.publishers().read().err().map(|error| Check::fail("trust", error.to_string(), error.hint())));
    checks.extend(shelf.problems.iter().map(problem));
    checks.extend(disabled.chain(enabled).chain(settings));
    checks
}

/// Installed plugins whose files are not what was installed. Those that cannot even be looked into are told of already.
async fn changed(runtime: &Runtime) -> Vec<Check> {
    let (store, shelf) = (runtime.shelf.installed().clone(), runtime.shelf.contents());
    let installed = shelf.plugins.iter().filter(|known| known.origin == Origin::Installed);
    let installed: BTreeSet<PluginId> = installed.map(|known| known.plugin.id().clone()).collect();
    let told = |id: &PluginId, problem: String| {
        let hint = format!("it is refused when it is called: install it again, or `acp-runtime plugin remove {id}`");
        Check::fail("plugins", format!("`{id}` {problem}"), hint)
    };
    // All of them are hashed.
    let looked = tokio::task::spawn_blocking(move || {
        let mut kept = store.kept().unwrap_or_default();
        kept.retain(|id, _| installed.contains(id));
        let problems = |(id, kept)| store.verify(&id, &kept).into_iter().map(|problem| told(&id, problem)).collect();
        kept.into_iter().flat_map::<Vec<Check>, _>(problems).collect()
    });
    looked.await.unwrap_or_default()
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
    use crate::redaction::Redaction;

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
            let check = model(&models, models.default_id()).await;
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
}
