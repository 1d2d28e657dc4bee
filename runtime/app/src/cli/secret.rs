//! `acp-runtime secret`, `login` and `logout`: what the person lets us keep.
//!
//! A value is typed where nobody sees it, or read from stdin; it is never an argument, which others could see, and never
//! printed.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use acp_runtime_agent::capability::SecretName;
use acp_runtime_agent::near::near;
use serde_json::json;

use super::arguments::SecretCommand;
use super::failure::Failure;
use super::plugin::known;
use super::run::absolute;
use super::transcript::harmless;
use crate::compose::{Keys, KnownPlugin, Origin, Runtime};
use crate::models::{Models, ProviderKey};
use crate::secret::Secret;
use crate::secrets::{Kept, Place, SecretId, SecretStore, SecretsError};

/// Bytes of a value from stdin.
const MOST: u64 = 64 * 1024;

pub(super) fn command(secrets: &SecretStore, command: SecretCommand) -> Result<(), Failure> {
    match command {
        SecretCommand::Set { name } => {
            let value = value(&format!("Value of `{name}` (not shown): "))?;
            keep(secrets, &name.into(), &value, "")
        }
        SecretCommand::List { json } => list(secrets, json),
        SecretCommand::Remove { name } => remove(secrets, &name),
    }
}

/// Keeps a secret for the plugin that it is called after, as a session in this folder would have that.
pub(super) async fn keep_for_plugin(runtime: &Runtime, secrets: &SecretStore, name: SecretName) -> Result<(), Failure> {
    let Some(id) = name.plugin() else { return Err(Failure::usage(format!("`{name}` is no plugin's secret"))) };
    let is_worked_on = |known: &KnownPlugin| known.origin == Origin::Development && *known.plugin.id() == id;
    let known = match runtime.known().into_iter().find(is_worked_on) {
        Some(known) => known,
        None => known(runtime, id.as_str(), &absolute(".".into())?).await.map_err(not_there)?,
    };
    let value = value(&format!("Value of `{name}` (not shown): "))?;
    let whose = format!(", for the plugin as you have it now ({})", known.whose());
    keep(secrets, &SecretId::lent(name, known.plugin.origin()), &value, &whose)
}

/// Of an id alone it is not known whose plugin that will be.
fn not_there(failure: Failure) -> Failure {
    failure.hint("have it first: a secret is kept for a plugin and for who stands for it")
}

/// Removes all of that name: for plugins, whoever they are from.
fn remove(secrets: &SecretStore, name: &SecretName) -> Result<(), Failure> {
    let named = secrets.list()?.into_iter().map(|(id, _)| id).filter(|id| id.name == *name);
    let mut removed = false;
    for id in named {
        removed |= secrets.remove(&id)?;
    }
    if removed {
        return told(&format!("`{name}` is removed"));
    }
    Err(Failure::usage(format!("there is no secret `{name}`")).hint("see `acp-runtime secret list`"))
}

/// Asks for a provider's key and keeps it.
pub(super) fn login(keys: &Keys, models: &Models, provider: Option<&str>) -> Result<(), Failure> {
    let chosen = match provider {
        Some(name) => named(models, name)?,
        None => choose(models)?,
    };
    let ProviderKey { provider, from, kept, .. } = chosen;
    let name = kept.ok_or_else(|| {
        Failure::usage(format!(
            "no key can be kept for `{provider}`: a secret's name has only letters, digits, `_`, `-`"
        ))
        .hint("give the provider another name, or use `api_key_env` or `api_key_command`")
    })?;
    let key = value(&format!("API key of `{provider}` (not shown): "))?;
    if key.expose().chars().any(|character| !character.is_ascii_graphic()) {
        return Err(Failure::usage("this is no key: it has spaces or other odd characters").hint("copy it once more"));
    }
    keep(keys.secrets(), &name.clone().into(), &key, "")?;
    match from.filter(|from| *from != crate::models::KeyPlace::Kept(name).described()) {
        Some(from) => told(&format!("warning: {from} goes before it, so it is not used")),
        None => Ok(()),
    }
}

/// Forgets the key of a provider, or those of all.
pub(super) fn logout(keys: &Keys, models: &Models, provider: Option<&str>) -> Result<(), Failure> {
    let providers = if let Some(name) = provider {
        vec![named(models, name)?]
    } else {
        let kept = keys.secrets().list()?;
        let own = |id: &SecretId| id.publisher.is_none().then(|| id.name.clone());
        let is_kept = |key: &ProviderKey| kept.iter().any(|(id, _)| key.kept.is_some() && own(id) == key.kept);
        models.keys().into_iter().chain(models.vendor_keys().into_iter().filter(is_kept)).collect()
    };
    let mut removed = 0;
    for ProviderKey { provider, kept, .. } in &providers {
        if let Some(name) = kept
            && keys.secrets().remove(&name.clone().into())?
        {
            removed += 1;
            told(&format!("the key of `{provider}` is removed"))?;
        }
        if let Some(from) = models.key(provider).and_then(|key| key.from) {
            told(&format!("`{provider}` still has a key from {from}"))?;
        }
    }
    if removed == 0 { told("no key was kept") } else { Ok(()) }
}

fn list(secrets: &SecretStore, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    for (id, place) in secrets.list()? {
        let SecretId { name, publisher } = &id;
        if json {
            let mut line = json!({ "name": name, "store": place });
            if name.plugin().is_some() {
                line["publisher"] = json!(publisher);
            }
            writeln!(out, "{line}")?;
            continue;
        }
        let whose = match publisher {
            Some(publisher) => format!("  {}", harmless(publisher)),
            None if id.is_orphan() => {
                "  nobody: it was kept before it counted for whose plugin; set it again".to_owned()
            }
            None => String::new(),
        };
        writeln!(out, "{:24}  {}{whose}", name.as_str(), shown(place))?;
    }
    Ok(())
}

fn shown(place: Place) -> &'static str {
    match place {
        Place::Keyring => "keyring",
        Place::File => "file",
    }
}

fn keep(secrets: &SecretStore, id: &SecretId, value: &Secret, whose: &str) -> Result<(), Failure> {
    let Kept { place, no_keyring } = secrets.set(id, value)?;
    let name = &id.name;
    match place {
        Place::Keyring => told(&format!("`{name}` is kept in the system's keyring{whose}")),
        Place::File => {
            if let Some(reason) = no_keyring {
                told(&format!("warning: the system's keyring was not used ({reason})"))?;
            }
            told(&format!("`{name}` is kept in `{}`, which only you can read{whose}", secrets.path().display()))
        }
    }
}

fn named(models: &Models, name: &str) -> Result<ProviderKey, Failure> {
    let keys = models.keys();
    if let Some(found) = keys.iter().chain(&models.vendor_keys()).find(|key| key.provider == name) {
        return Ok(found.clone());
    }
    let known = || keys.iter().map(|key| key.provider.as_str());
    let hint = match (near(name, known()).first(), keys.is_empty()) {
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, false) => format!("configured are `{}`", known().collect::<Vec<_>>().join("`, `")),
        (None, true) => NONE.to_owned(),
    };
    Err(Failure::usage(format!("no provider `{name}` is configured")).hint(hint))
}

const NONE: &str = "add one such as `[providers.openai]` to the file of `acp-runtime config path`";

/// The only provider of the configuration. Without any, that of the model that sessions begin with. Else the person
/// chooses: among those of the configuration, or among the vendors that need no table.
fn choose(models: &Models) -> Result<ProviderKey, Failure> {
    let configured = models.keys();
    let (mut keys, problem) = if configured.is_empty() {
        if let Some(key) = models.key(models.default_id()).filter(|key| key.needed) {
            return Ok(key);
        }
        (models.vendor_keys(), "no provider is configured")
    } else {
        (configured, "several providers are configured")
    };
    let one = match keys.len() {
        1 => 0,
        several if io::stdin().is_terminal() => pick(&keys, several)?,
        _ => {
            let names: Vec<&str> = keys.iter().map(|key| key.provider.as_str()).collect();
            let hint = format!("name one: `acp-runtime login PROVIDER`, of `{}`", names.join("`, `"));
            return Err(Failure::usage(problem).hint(hint));
        }
    };
    Ok(keys.swap_remove(one))
}

fn pick(keys: &[ProviderKey], several: usize) -> Result<usize, Failure> {
    for (number, key) in (1..).zip(keys) {
        let state = match (&key.from, key.needed) {
            (Some(from), _) => format!("has a key from {from}"),
            (None, true) => "has no key".to_owned(),
            (None, false) => "needs no key".to_owned(),
        };
        told(&format!("{number}  {} ({state})", key.provider))?;
    }
    loop {
        write!(io::stderr(), "Which provider (1 to {several})? ")?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            return Err(Failure::usage("no provider was chosen").hint("name one: `acp-runtime login PROVIDER`"));
        }
        let by_name = || keys.iter().position(|key| key.provider == line.trim());
        let by_number =
            line.trim().parse().ok().filter(|number| (1..=several).contains(number)).map(|number| number - 1);
        if let Some(chosen) = by_number.or_else(by_name) {
            return Ok(chosen);
        }
    }
}

/// Asks for a value where there is a person, else reads all of stdin.
fn value(question: &str) -> Result<Secret, Failure> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::new("it was interrupted"),
        _ => Failure::usage(format!("the value cannot be read: {error}")).hint("write it to stdin"),
    };
    let text = if io::stdin().is_terminal() {
        rpassword::prompt_password(question).map_err(unreadable)?
    } else {
        let mut text = String::new();
        let size = io::stdin().take(MOST + 1).read_to_string(&mut text).map_err(unreadable)?;
        if size as u64 > MOST {
            return Err(Failure::usage(format!("the value has more than {MOST} bytes")));
        }
        text
    };
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(Failure::usage("the value is empty").hint("type it, or write it to stdin")),
        value => Ok(Secret::new(value)),
    }
}

/// Tells the person, who reads stderr.
fn told(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stderr(), "{text}")?)
}

impl From<SecretsError> for Failure {
    fn from(error: SecretsError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}
