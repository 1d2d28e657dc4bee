//! `acp-plugins.lock`: which plugins belong together, and exactly which files they are.
//!
//! It is written in one way only, so that two of them can be compared line by line, and it is read strictly. It grants
//! nothing and loads nothing: it says what an installation must find. Tested by a table.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::PluginId;
use serde::{Deserialize, Serialize};

use super::{Digest, Installed, capability_hash};
use crate::manifest::Manifest;
use crate::{full_disk, regular_file, whole_file};

/// What the file is called.
pub const LOCKFILE: &str = "acp-plugins.lock";
/// The version of its form.
const FORM: u32 = 1;
/// Bytes that it may have.
const MOST: u64 = 8 << 20;
const HEAD: &str = "# Which plugins belong together, and exactly which files they are. Written by acp-runtime;\n\
                    # `acp-runtime plugin install --locked` installs just these.\n";

/// The content of a lockfile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginLock {
    plugins: BTreeMap<PluginId, Locked>,
}

/// One plugin of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    id: PluginId,
    /// Its version.
    pub version: semver::Version,
    /// Where it is from, as it can be typed.
    pub source: String,
    /// The digest of the registry's manifest, where it is from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Digest>,
    /// The digest of its file: of the only layer, where it is from a registry.
    pub digest: Digest,
    /// The bytes of its file.
    pub size: u64,
    /// The hash of the rights that it asks for.
    pub capabilities: Digest,
    /// Who stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignedBy>,
}

/// Who has signed a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedBy {
    /// The publisher, by the name that they are trusted under.
    pub publisher: String,
    /// The fingerprint of the key.
    pub key: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    #[serde(default, rename = "plugin", skip_serializing_if = "Vec::is_empty")]
    plugins: Vec<Locked>,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockfileError {
    /// The file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// It is not what this program writes.
    #[error("`{}` cannot be read: {problem}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line where that is known.
        problem: String,
    },
}

impl LockfileError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::System { source, .. } if full_disk::explains(source) => {
                "make room on the disk and try again; nothing was changed"
            }
            Self::System { .. } => "see that it is a file that you can read and write",
            Self::Form { .. } => "repair the file, or move it away: it is written anew when something is installed",
        }
    }
}

impl PluginLock {
    /// The lock in that file; none where there is no such file.
    pub fn read(path: &Path) -> Result<Option<Self>, LockfileError> {
        let opened = regular_file::open_own(path, OpenOptions::new().read(true));
        match opened.and_then(|file| regular_file::text(file, MOST)) {
            Ok(text) => {
                Self::parse(&text).map(Some).map_err(|problem| LockfileError::Form { path: path.to_owned(), problem })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LockfileError::System { path: path.to_owned(), source }),
        }
    }

    /// The lock in a text. The error is a sentence without its end.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form: Form = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if form.version != FORM {
            return Err(format!("it has the form {}; this version reads {FORM}", form.version));
        }
        let mut last: Option<&PluginId> = None;
        for Locked { id, .. } in &form.plugins {
            match last {
                Some(before) if before == id => return Err(format!("`{id}` is there twice")),
                Some(before) if before > id => {
                    return Err(format!("`{id}` stands behind `{before}`: they are sorted by id"));
                }
                _ => last = Some(id),
            }
        }
        Ok(Self { plugins: form.plugins.into_iter().map(|locked| (locked.id.clone(), locked)).collect() })
    }

    /// The text of the file: always the same for the same plugins.
    pub fn render(&self) -> Result<String, String> {
        let form = Form { version: FORM, plugins: self.plugins.values().cloned().collect() };
        let text = toml::to_string(&form).map_err(|error| error.to_string())?;
        Ok(format!("{HEAD}{text}"))
    }

    /// Puts it into that file.
    pub fn write(&self, path: &Path) -> Result<(), LockfileError> {
        let text = self.render().map_err(|problem| LockfileError::Form { path: path.to_owned(), problem })?;
        whole_file::put(path, text.as_bytes()).map_err(|source| LockfileError::System { path: path.to_owned(), source })
    }

    /// All plugins, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&PluginId, &Locked)> {
        self.plugins.iter()
    }

    /// What it says of a plugin.
    pub fn get(&self, id: &PluginId) -> Option<&Locked> {
        self.plugins.get(id)
    }

    /// How that differs from what is installed, as a sentence without its end; none where it does not.
    pub fn differs(&self, id: &PluginId, active: &Installed) -> Option<String> {
        match self.get(id) {
            None => Some("it is not in the lockfile".to_owned()),
            Some(locked) if locked.digest != active.digest => {
                Some(format!("the lockfile names {} ({})", locked.version, locked.digest))
            }
            Some(_) => None,
        }
    }

    /// Notes what is installed. Says whether that is something else than before. What an older version of this program has
    /// installed lacks what must be noted, and is left out.
    pub fn set(&mut self, id: &PluginId, installed: Option<&Installed>) -> bool {
        let complete = installed.and_then(|installed| {
            Some(Locked {
                id: id.clone(),
                version: installed.version.clone(),
                source: installed.source.clone(),
                manifest: installed.manifest,
                digest: installed.digest,
                size: installed.size?,
                capabilities: installed.capabilities?,
                signature: installed
                    .publisher
                    .clone()
                    .zip(installed.key)
                    .map(|(publisher, key)| SignedBy { publisher, key }),
            })
        });
        let changed = self.plugins.get(id) != complete.as_ref();
        match complete {
            Some(locked) => self.plugins.insert(id.clone(), locked),
            None => self.plugins.remove(id),
        };
        changed
    }
}

impl Locked {
    /// Why a file is not the one that is locked, as a part of a sentence; none where it is.
    pub fn differs(&self, version: &semver::Version, digest: Digest) -> Option<String> {
        (self.digest != digest)
            .then(|| format!("the lockfile names {} ({}), and this is {version} ({digest})", self.version, self.digest))
    }

    /// What it says of that file that is not so, as a part of a sentence; none where all is. `by` is who stands for it now.
    pub fn belies(&self, manifest: &Manifest, size: u64, by: Option<&SignedBy>) -> Option<String> {
        let hash = capability_hash(manifest);
        if self.version != manifest.version {
            return Some(format!("the lockfile calls it {}, and it is {}", self.version, manifest.version));
        }
        if self.size != size {
            return Some(format!("the lockfile says that it has {} bytes, and it has {size}", self.size));
        }
        if self.capabilities != hash {
            return Some(format!("the lockfile names other rights ({}) than it asks for ({hash})", self.capabilities));
        }
        let signed = self.signature.as_ref().filter(|signed| by != Some(*signed))?;
        let now = by.map_or_else(|| "nobody does".to_owned(), |by| format!("`{}` ({}) does", by.publisher, by.key));
        Some(format!("the lockfile says that `{}` ({}) stands for it, and {now}", signed.publisher, signed.key))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn id(text: &str) -> PluginId {
        PluginId::new(text).unwrap()
    }

    fn installed(version: &str) -> Installed {
        Installed {
            version: version.parse().unwrap(),
            digest: Digest::of(version.as_bytes()),
            granted: vec!["kv".to_owned()],
            source: "oci://example.com/a:1".to_owned(),
            size: Some(1234),
            section: None,
            capabilities: Some(Digest::of(b"")),
            manifest: None,
            publisher: None,
            key: None,
        }
    }

    #[test]
    fn it_is_written_in_one_way_and_read_as_it_was_written() {
        let mut lock = PluginLock::default();
        assert!(lock.set(&id("b:two"), Some(&installed("2.0.0"))));
        let (publisher, key) = (Some("acme".to_owned()), Some(Digest::of(b"k")));
        let signed = Installed { publisher, key, manifest: Some(Digest::of(b"m")), ..installed("1.0.0-rc.1") };
        assert!(lock.set(&id("a:one"), Some(&signed)));
        assert!(!lock.set(&id("a:one"), Some(&signed)), "it is the same");
        assert!(!lock.set(&id("a:old"), Some(&Installed { size: None, ..installed("1.0.0") })));
        expect![[r#"
            # Which plugins belong together, and exactly which files they are. Written by acp-runtime;
            # `acp-runtime plugin install --locked` installs just these.
            version = 1

            [[plugin]]
            id = "a:one"
            version = "1.0.0-rc.1"
            source = "oci://example.com/a:1"
            manifest = "sha256:62c66a7a5dd70c3146618063c344e531e6d4b59e379808443ce962b3abd63c5a"
            digest = "sha256:8fe5d2b604b1137eb59bd086b7528c06d258135e58b84fbf3b3c0d9e1d14b375"
            size = 1234
            capabilities = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

            [plugin.signature]
            publisher = "acme"
            key = "sha256:8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a"

            [[plugin]]
            id = "b:two"
            version = "2.0.0"
            source = "oci://example.com/a:1"
            digest = "sha256:f22abd6773ab232869321ad4b1e47ac0c908febf4f3a2bd10c8066140f741261"
            size = 1234
            capabilities = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        "#]]
        .assert_eq(&lock.render().unwrap());
        assert_eq!(PluginLock::parse(&lock.render().unwrap()).unwrap(), lock);
        assert!(lock.set(&id("b:two"), None));
        assert_eq!(lock.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a:one"]);
    }

    #[test]
    fn what_was_not_written_so_is_refused_with_the_reason() {
        let mut lock = PluginLock::default();
        lock.set(&id("a:one"), Some(&installed("1.0.0")));
        let one = lock.render().unwrap();
        let entry = one.split_once("[[plugin]]").unwrap().1;
        for (text, problem) in [
            (String::new(), "missing field `version`"),
            (one.replace("version = 1\n", "version = 2\n"), "it has the form 2; this version reads 1"),
            (format!("{one}\n[[plugin]]{entry}"), "`a:one` is there twice"),
            (
                format!("{one}\n[[plugin]]{}", entry.replace("a:one", "a:before")),
                "`a:before` stands behind `a:one`: they are sorted by id",
            ),
            (one.replace("size = 1234", "size = 1234\nextra = 1"), "unknown field `extra`"),
            (one.replace("size = 1234", "size = -1"), "invalid value"),
            (one.replace("sha256:e3b0", "sha256:zzzz"), "is not a digest"),
            (one.replace("a:one", "one"), "line 6"),
            (one.replace("size = 1234\n", ""), "missing field `size`"),
        ] {
            let error = PluginLock::parse(&text).unwrap_err();
            assert!(error.contains(problem), "{problem}: {error}");
        }
    }
}
