//! Credentials for registries, from where Docker and its kin keep them: `config.json`, and the helpers that it names.
//!
//! The file is read anew for each registry. Nothing of it is shown; a helper is started like any other program of ours,
//! without a shell, and has a minute.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use acp_runtime_host::regular_file;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;

use crate::process::{Capture, Input, Launcher, Program};
use crate::redaction::Redaction;
use crate::secret::Secret;

/// Bytes of the file.
const MOST: u64 = 1 << 20;
/// Bytes that a helper may print.
const PRINTED: usize = 64 << 10;
/// How long a helper may take: it may ask its person.
const LIMIT: Duration = Duration::from_mins(1);
/// What a helper says instead of a name where it has a token.
const TOKEN: &str = "<token>";

/// Where credentials are, and how helpers are started.
pub struct Credentials {
    /// The folder of `config.json`.
    folder: PathBuf,
    launcher: Launcher,
    home: PathBuf,
    redaction: Redaction,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credential {
    Basic {
        user: String,
        password: Secret,
    },
    /// To be exchanged for a token.
    Identity(Secret),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<Secret>,
    username: Option<String>,
    password: Option<Secret>,
    identitytoken: Option<Secret>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    username: String,
    secret: Secret,
}

impl Credentials {
    /// Those of `folder`, whose helpers `launcher` starts in `home`. What is found is kept out of what `redaction` cleans.
    pub fn new(folder: PathBuf, launcher: Launcher, home: PathBuf, redaction: Redaction) -> Self {
        Self { folder, launcher, home, redaction }
    }

    /// Those for a registry, as a reference names it. The error is a part of a sentence.
    pub(super) async fn of(&self, registry: &str) -> Result<Option<Credential>, String> {
        let path = self.folder.join("config.json");
        let text = match regular_file::read_text(&path, MOST) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("`{}` cannot be read: {error}", path.display())),
        };
        // The words of the parser may quote what it has read.
        let file: File = serde_json::from_str(&text)
            .map_err(|error| format!("`{}`, line {}, is not what Docker writes", path.display(), error.line()))?;
        let helper = file.helper(registry);
        let found = match (helper, file.entry(registry)) {
            (Some(helper), _) => self.ask(&helper, registry).await?,
            (None, Some(entry)) => Some(entry.credential().ok_or_else(|| {
                format!("the entry for `{registry}` in `{}` is not what Docker writes", path.display())
            })?),
            (None, None) => match &file.creds_store {
                Some(helper) => self.ask(helper, registry).await?,
                None => None,
            },
        };
        if let Some(Credential::Basic { password: secret, .. } | Credential::Identity(secret)) = &found {
            self.redaction.learn(secret);
        }
        Ok(found)
    }

    /// What a helper has (`docker-credential-NAME get`): none where it knows of nothing.
    async fn ask(&self, helper: &str, registry: &str) -> Result<Option<Credential>, String> {
        let name = format!("docker-credential-{helper}");
        if helper.contains(['/', '\\']) || helper.is_empty() {
            return Err(format!("`{name}` is no helper: it is named without a path"));
        }
        let program =
            Program { arguments: vec!["get".to_owned()], input: Input::Piped, ..Program::new(&name, &self.home) };
        let mut running = self.launcher.start(program).await.map_err(|error| error.to_string())?;
        if let Some(mut input) = running.input.take() {
            let asked = if is_hub(registry) { "https://index.docker.io/v1/" } else { registry };
            // One that does not want to know may still answer.
            let _ = input.write_all(asked.as_bytes()).await;
        }
        let output = running.output.take();
        let printed = async {
            let mut capture = Capture::new(PRINTED);
            if let Some(mut output) = output {
                // What was read until a failure is what there is.
                let _ = capture.read(&mut output).await;
            }
            capture.text()
        };
        let finished = Box::pin(async { tokio::join!(running.wait(), printed) });
        let Ok((status, printed)) = tokio::time::timeout(LIMIT, finished).await else {
            return Err(format!("`{name}` did not end within {} s", LIMIT.as_secs()));
        };
        let status = status.map_err(|error| format!("`{name}` cannot be waited for: {error}"))?;
        if !status.success() {
            // That it knows nothing is said in no other way.
            let knows_nothing = printed.contains("credentials not found");
            return if knows_nothing { Ok(None) } else { Err(format!("`{name}` ended with {status}")) };
        }
        let Printed { username, secret } =
            serde_json::from_str(&printed).map_err(|_| format!("`{name}` printed something else than credentials"))?;
        Ok(Some(if username == TOKEN {
            Credential::Identity(secret)
        } else {
            Credential::Basic { user: username, password: secret }
        }))
    }
}

impl File {
    fn helper(&self, registry: &str) -> Option<String> {
        let found = self.cred_helpers.iter().find(|(key, _)| is_for(key, registry));
        found.map(|(_, helper)| helper.clone()).filter(|helper| !helper.is_empty())
    }

    /// One that says something: `docker login` with a helper leaves empty ones.
    fn entry(&self, registry: &str) -> Option<&Entry> {
        let found = self.auths.iter().find(|(key, entry)| is_for(key, registry) && !entry.is_empty());
        found.map(|(_, entry)| entry)
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        let said = |secret: &Option<Secret>| secret.as_ref().is_some_and(|secret| !secret.expose().is_empty());
        !said(&self.auth) && !said(&self.identitytoken) && self.username.is_none()
    }

    /// What it says; none where it cannot be read.
    fn credential(&self) -> Option<Credential> {
        if let Some(token) = self.identitytoken.as_ref().filter(|token| !token.expose().is_empty()) {
            return Some(Credential::Identity(token.clone()));
        }
        if let (Some(user), Some(password)) = (&self.username, &self.password) {
            return Some(Credential::Basic { user: user.clone(), password: password.clone() });
        }
        let auth = self.auth.as_ref()?.expose().trim_end();
        let bytes = STANDARD.decode(auth).or_else(|_| STANDARD_NO_PAD.decode(auth)).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (user, password) = text.split_once(':')?;
        Some(Credential::Basic { user: user.to_owned(), password: Secret::new(password.trim_end_matches('\0')) })
    }
}

/// Whether a key of the file is one for that registry: its host, or an address there.
fn is_for(key: &str, registry: &str) -> bool {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let host = key.split('/').next().unwrap_or_default();
    host == registry || (is_hub(host) && is_hub(registry))
}

fn is_hub(host: &str) -> bool {
    matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, registry: &str) -> Option<Credential> {
        serde_json::from_str::<File>(file).unwrap().entry(registry).and_then(Entry::credential)
    }

    #[test]
    fn entries_are_found_by_their_host() {
        // `me:secret`, with a colon more in the password of the second.
        let file = r#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "bWU6c2VjcmV0"},
            "ghcr.io": {"auth": "bWU6YTpi"},
            "localhost:5000": {"username": "me", "password": "pw"},
            "token.example": {"auth": "bWU6", "identitytoken": "tok"},
            "empty.example": {},
            "bad.example": {"auth": "!"}
        }, "credHelpers": {"helped.example": "pass"}, "HttpHeaders": {}}"#;
        let basic = |user: &str, password: &str| {
            Some(Credential::Basic { user: user.to_owned(), password: Secret::new(password) })
        };
        for (registry, expected) in [
            ("docker.io", basic("me", "secret")),
            ("ghcr.io", basic("me", "a:b")),
            ("localhost:5000", basic("me", "pw")),
            ("localhost:5001", None),
            ("token.example", Some(Credential::Identity(Secret::new("tok")))),
            ("empty.example", None),
            ("bad.example", None),
            ("evil-ghcr.io", None),
        ] {
            assert_eq!(found(file, registry), expected, "{registry}");
        }
        let file: File = serde_json::from_str(file).unwrap();
        assert_eq!(file.helper("helped.example").as_deref(), Some("pass"));
        assert_eq!(file.helper("ghcr.io"), None);
    }
}
