//! Where the keys of the models are: with programs, in the environment, among the kept secrets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_runtime_agent::hook::{KEPT_SECRET, Veil};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Mutex;

use crate::models::{KeyPlace, KeySource, Models, ModelsError, unfit};
use crate::process::{Launcher, own_executable};
use crate::redaction::Redaction;
use crate::secret::Secret;
use crate::secrets::{KeyPrograms, SecretId, SecretStore};
use crate::settings::{Paths, Settings, environment, home, variable};

/// How long a key that a program has printed is used.
const LIFETIME: Duration = Duration::from_mins(5);

/// The secrets of a person, and what keeps them out of texts; cheap to clone.
#[derive(Clone)]
pub struct Keys {
    secrets: SecretStore,
    /// What programs that print keys are started through; none for the running one.
    program: Option<PathBuf>,
    redaction: Redaction,
}

impl Keys {
    /// Those of these settings. Reads nothing yet. Whatever is found later is kept out of what `redaction` cleans.
    pub fn new(settings: &Settings, paths: &Paths, redaction: Redaction) -> Self {
        let secrets = SecretStore::new(paths.secrets(), settings.secrets.store, redaction.clone());
        Self { secrets, program: paths.program().map(Path::to_owned), redaction }
    }

    /// What the person has let us keep.
    pub fn secrets(&self) -> &SecretStore {
        &self.secrets
    }

    /// What keeps secrets out of texts.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Hides secrets from hooks.
    pub fn veil(&self) -> Veil {
        self.redaction.veil(KEPT_SECRET)
    }

    /// The models of the settings, with these keys. Starts and asks nothing yet.
    pub fn models(&self, settings: &Settings) -> Result<Models, ModelsError> {
        let programs = KeyPrograms::new(Launcher::new(own_executable(self.program.as_deref()), environment()), home());
        let source = Source { programs, secrets: self.secrets.clone(), printed: Mutex::default() };
        Models::new(settings.model.as_deref(), settings.providers.clone(), Arc::new(source), &self.redaction)
    }
}

struct Source {
    programs: KeyPrograms,
    secrets: SecretStore,
    /// What programs have printed, and when. Held while one runs, so that its person is asked once.
    printed: Mutex<HashMap<Vec<String>, (Instant, Secret)>>,
}

impl Source {
    async fn printed(&self, command: &[String], afresh: bool) -> Result<Secret, String> {
        let mut printed = self.printed.lock().await;
        if let Some((when, secret)) = printed.get(command)
            && !afresh
            && when.elapsed() < LIFETIME
        {
            return Ok(secret.clone());
        }
        let secret = self.programs.key(command).await?;
        printed.insert(command.to_vec(), (Instant::now(), secret.clone()));
        Ok(secret)
    }
}

impl KeySource for Source {
    fn has(&self, place: &KeyPlace) -> bool {
        match place {
            KeyPlace::Command(_) => true,
            KeyPlace::Variable(name) => variable(name).is_some(),
            // Secrets that cannot be read may be there: the request says why they cannot.
            KeyPlace::Kept(name) => self
                .secrets
                .list()
                .map_or(true, |kept| kept.iter().any(|(kept, _)| *kept == SecretId::from(name.clone()))),
        }
    }

    fn at_hand(&self, place: &KeyPlace) -> Option<Secret> {
        match place {
            KeyPlace::Variable(name) => variable(name).map(Secret::new),
            KeyPlace::Command(_) | KeyPlace::Kept(_) => None,
        }
    }

    fn obstacle(&self, place: &KeyPlace) -> Option<(String, String)> {
        match place {
            KeyPlace::Command(command) => {
                let error = self.programs.find(command).err()?;
                Some((format!("`api_key_command`: {error}"), error.hint().to_owned()))
            }
            KeyPlace::Variable(name) => {
                let problem = unfit(&Secret::new(variable(name)?))?;
                let of = place.described();
                Some((format!("the one from {of} cannot be sent: {problem}"), format!("correct `{name}`, or unset it")))
            }
            KeyPlace::Kept(name) => {
                let error = self.secrets.list().err()?;
                Some((format!("the secret `{name}` cannot be looked for: {error}"), error.hint()))
            }
        }
    }

    fn fetch<'a>(&'a self, place: &'a KeyPlace, afresh: bool) -> BoxFuture<'a, Result<Option<Secret>, String>> {
        async move {
            match place {
                KeyPlace::Command(command) => self.printed(command, afresh).await.map(Some),
                KeyPlace::Variable(name) => Ok(variable(name).map(Secret::new)),
                KeyPlace::Kept(name) => {
                    let (secrets, name) = (self.secrets.clone(), SecretId::from(name.clone()));
                    let found = tokio::task::spawn_blocking(move || secrets.get(&name, afresh)).await;
                    let found = found.map_err(|error| error.to_string())?;
                    found.map_err(|error| format!("{error}; {}", error.hint()))
                }
            }
        }
        .boxed()
    }
}
