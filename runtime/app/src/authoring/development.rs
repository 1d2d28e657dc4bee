//! Plugins that somebody is just working on: where `plugin dev` says so, and every running agent sees it.
//!
//! One folder of the user's, with a file for each plugin, its code, and a lock that the process holds which works on it:
//! a plugin whose lock is free is nobody's any more, however that process ended. Nothing of it lasts: what was granted is
//! in that file and nowhere else. Tested beside the code, and over the real binary.
#![expect(clippy::disallowed_methods, reason = "this room owns the folder")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acp_runtime_agent::capability::PluginId;
use acp_runtime_host::package::Digest;
use acp_runtime_host::regular_file;
use acp_runtime_host::whole_file;
use serde::{Deserialize, Serialize};

/// Bytes that a file may have which says what is worked on.
const MOST: u64 = 256 << 10;
/// How often it is tried to get a lock at which somebody may only look.
const TRIES: usize = 25;
/// How long between two of them.
const PAUSE: Duration = Duration::from_millis(20);

/// The folder.
#[derive(Debug, Clone)]
pub struct Developments(PathBuf);

/// A plugin that is worked on, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Development {
    /// The plugin.
    pub id: PluginId,
    /// Its file, which stays as it is.
    pub file: PathBuf,
    /// The digest of the file.
    pub digest: Digest,
    /// The rights that were granted as long as it is worked on.
    pub granted: Vec<String>,
    /// The project.
    pub source: String,
}

/// That this process works on a plugin. Dropped, it does not any more.
#[derive(Debug)]
pub struct Working {
    folder: PathBuf,
    stem: String,
    current: Option<PathBuf>,
    _lock: File,
}

/// What can be seen of the folder without reading anything: another value says that something has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glimpse(Vec<(PathBuf, SystemTime)>);

impl Developments {
    /// Those in that folder, which may not be there.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Begins to work on a plugin; none where another process does.
    pub fn begin(&self, id: &PluginId) -> io::Result<Option<Working>> {
        fs::create_dir_all(&self.0)?;
        close(&self.0)?;
        // Neither has a dot: two plugins never have one name here.
        let stem = format!("{}.{}", id.namespace(), id.name());
        let path = self.0.join(format!("{stem}.lock"));
        let lock = regular_file::open_own(&path, OpenOptions::new().write(true).create(true).truncate(false))?;
        for _ in 0..TRIES {
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Some(Working { folder: self.0.clone(), stem, current: None, _lock: lock }));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// All plugins that are worked on. What cannot be read is left out, with a word in the log.
    pub fn now(&self) -> Vec<Development> {
        let read = |path: PathBuf| match read(&path) {
            Ok(development) => Some(development),
            Err(error) => {
                tracing::warn!("what is worked on cannot be read in `{}`: {error}", path.display());
                None
            }
        };
        self.files().into_iter().filter_map(read).collect()
    }

    /// Looks whether something has changed.
    pub fn glimpse(&self) -> Glimpse {
        let when = |path: PathBuf| Some((path.clone(), fs::metadata(&path).ok()?.modified().ok()?));
        Glimpse(self.files().into_iter().filter_map(when).collect())
    }

    /// The files of those that are worked on, sorted.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.0) else { return Vec::new() };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_worked_on = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "json") && is_held(&path.with_extension("lock"))
        };
        let mut files: Vec<PathBuf> = paths.filter(is_worked_on).collect();
        files.sort();
        files
    }
}

/// Whether somebody holds the lock.
fn is_held(path: &Path) -> bool {
    match regular_file::open_own(path, OpenOptions::new().read(true)) {
        // Free again as soon as the file is closed.
        Ok(lock) => matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

fn read(path: &Path) -> Result<Development, String> {
    let text = regular_file::read_text(path, MOST).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

impl Working {
    /// Says what the plugin is now; whoever looks sees all of it, or what was before.
    pub fn publish(&mut self, id: &PluginId, plugin: &[u8], granted: Vec<String>, source: String) -> io::Result<()> {
        let digest = Digest::of(plugin);
        let file = self.folder.join(format!("{}-{}.wasm", self.stem, digest.hex()));
        if !file.is_file() {
            whole_file::put(&file, plugin)?;
        }
        let development = Development { id: id.clone(), file: file.clone(), digest, granted, source };
        let text = serde_json::to_vec(&development)?;
        whole_file::put(&self.folder.join(format!("{}.json", self.stem)), &text)?;
        // Those that run the code before have it compiled.
        match self.current.replace(file.clone()) {
            Some(before) if before != file => forget(&before),
            Some(_) | None => {}
        }
        Ok(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        forget(&self.folder.join(format!("{}.json", self.stem)));
        if let Some(current) = &self.current {
            forget(current);
        }
    }
}

fn forget(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!("`{}` stays: {error}", path.display());
        }
        _ => {}
    }
}

/// Lets nobody else into the folder: what is in it is loaded.
#[cfg(unix)]
fn close(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn close(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worked_on_is_seen_as_long_as_somebody_does() {
        let home = tempfile::tempdir().unwrap();
        let developments = Developments::new(home.path().join("dev"));
        assert_eq!((developments.now(), developments.glimpse()), (Vec::new(), Glimpse::default()));
        let id = PluginId::new("acme:greet").unwrap();
        let mut working = developments.begin(&id).unwrap().unwrap();
        assert!(developments.begin(&id).unwrap().is_none(), "somebody works on it");
        assert_eq!(developments.now(), [], "there is nothing to see yet");

        let publish = |working: &mut Working, code: &[u8]| {
            working.publish(&id, code, vec!["kv".to_owned()], "/p".to_owned()).unwrap();
        };
        publish(&mut working, b"one");
        let first = developments.now();
        assert_eq!((first.len(), first[0].digest), (1, Digest::of(b"one")));
        assert_eq!(fs::read(&first[0].file).unwrap(), b"one");
        let glimpse = developments.glimpse();
        assert_eq!(developments.glimpse(), glimpse);
        publish(&mut working, b"two");
        assert_ne!(developments.glimpse(), glimpse);
        assert_eq!(fs::read(&developments.now()[0].file).unwrap(), b"two");
        assert!(!first[0].file.exists());
        publish(&mut working, b"two");
        assert_eq!(fs::read(&developments.now()[0].file).unwrap(), b"two");

        drop(working);
        assert_eq!((developments.now(), developments.glimpse()), (Vec::new(), Glimpse::default()));
        let left: Vec<_> = fs::read_dir(home.path().join("dev")).unwrap().flatten().map(|it| it.file_name()).collect();
        assert_eq!(left, ["acme.greet.lock"]);
    }

    #[test]
    fn two_plugins_are_worked_on_at_once_however_much_their_ids_look_alike() {
        let home = tempfile::tempdir().unwrap();
        let developments = Developments::new(home.path().to_owned());
        let ids = ["a-b:c", "a:b-c"].map(|id| PluginId::new(id).unwrap());
        let mut working = ids.each_ref().map(|id| developments.begin(id).unwrap().expect("nobody works on it"));
        for (working, id) in working.iter_mut().zip(&ids) {
            working.publish(id, b"code", Vec::new(), String::new()).unwrap();
        }
        let now = developments.now().into_iter().map(|development| development.id);
        assert_eq!(now.collect::<std::collections::BTreeSet<_>>(), ids.into());
    }

    #[test]
    fn what_a_killed_process_has_left_is_nobody_s() {
        let home = tempfile::tempdir().unwrap();
        let developments = Developments::new(home.path().to_owned());
        let id = PluginId::new("acme:greet").unwrap();
        let mut working = developments.begin(&id).unwrap().unwrap();
        working.publish(&id, b"one", Vec::new(), String::new()).unwrap();
        let kept = fs::read(home.path().join("acme.greet.json")).unwrap();
        drop(working);
        fs::write(home.path().join("acme.greet.json"), kept).unwrap();
        assert_eq!((developments.now(), developments.glimpse()), (Vec::new(), Glimpse::default()));
        assert!(developments.begin(&id).unwrap().is_some(), "and can be worked on again");
    }
}
