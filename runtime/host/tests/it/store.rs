//! The folder of installed plugins: what it keeps, what it lets go of, and what it says of what is not as it was left.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::{Grant, PluginId};
use acp_runtime_host::build;
use acp_runtime_host::install::{Candidate, Provenance};
use acp_runtime_host::limits::Limits;
use acp_runtime_host::package::{Digest, Installed, PackageStore, PluginLock, StoreError};
use acp_runtime_host::plugin_host::PluginHost;

use crate::guest;
use crate::support::{manifest, ports};

const KV: &str = "[capabilities]\nkv = { reason = \"keeps\" }";

/// A folder with a store in it.
struct Place {
    host: Arc<PluginHost>,
    folder: tempfile::TempDir,
    store: PackageStore,
}

impl Place {
    fn new() -> Self {
        let host = PluginHost::new(None, Limits::default(), ports(&Arc::default(), &Arc::default()));
        let folder = tempfile::TempDir::new().unwrap();
        let store = PackageStore::new(folder.path().join("plugins")).locking(folder.path().join("acp-plugins.lock"));
        Self { host, folder, store }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    /// A plugin `test:plugin` of that version.
    async fn candidate(&self, version: &str, rights: &str) -> Candidate {
        let toml = manifest("test:plugin", rights).replace("0.1.0", version);
        let built = build::embed(&self.host, &guest::component("everything"), &toml).await.unwrap();
        let path = self.path("plugin.wasm");
        std::fs::write(&path, built).unwrap();
        Candidate::check(&self.host, &path).await.unwrap()
    }

    async fn install(&self, version: &str) -> Installed {
        self.candidate(version, KV).await.install(&self.store, &[Grant::Kv], "the test", false).unwrap()
    }

    /// The digests of the files that are kept.
    fn files(&self) -> BTreeSet<String> {
        names(&self.path("plugins/sha256"))
    }

    fn locked(&self) -> Option<(String, Digest)> {
        let lock = PluginLock::read(&self.path("acp-plugins.lock")).unwrap().unwrap();
        lock.get(&id()).map(|locked| (locked.version.to_string(), locked.digest))
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn id() -> PluginId {
    PluginId::new("test:plugin").unwrap()
}

fn hex(installed: &[&Installed]) -> BTreeSet<String> {
    installed.iter().map(|installed| installed.digest.hex()).collect()
}

#[tokio::test]
async fn what_is_used_and_what_was_used_before_is_kept_and_nothing_else() {
    let place = Place::new();
    let one = place.install("0.1.0").await;
    assert_eq!(place.locked(), Some(("0.1.0".to_owned(), one.digest)));
    let two = place.install("0.2.0").await;
    assert_eq!(place.files(), hex(&[&one, &two]));
    let three = place.install("0.3.0").await;
    assert_eq!(place.files(), hex(&[&two, &three]));

    // The same once more changes nothing, and a file that is damaged is made whole.
    std::fs::write(place.path("plugins/sha256").join(three.digest.hex()).join("plugin.wasm"), "damaged").unwrap();
    place.install("0.3.0").await;
    assert_eq!(place.files(), hex(&[&two, &three]));
    let kept = place.store.kept().unwrap().remove(&id()).unwrap();
    assert_eq!((&kept.active, kept.previous.as_ref()), (&three, Some(&two)));
    assert_eq!(place.store.verify(&id(), &kept), [""; 0]);

    assert_eq!(place.store.roll_back(&id(), two.digest).unwrap(), two);
    assert_eq!(place.locked(), Some(("0.2.0".to_owned(), two.digest)));
    assert_eq!(place.store.list().unwrap().get(&id()), Some(&two));
    assert_eq!(place.store.roll_back(&id(), three.digest).unwrap(), three, "and back again");

    place.store.remove(&id()).unwrap();
    assert_eq!((place.files(), place.locked()), (BTreeSet::new(), None));
    let nothing = place.store.roll_back(&id(), two.digest).unwrap_err();
    assert_eq!(nothing.to_string(), "`test:plugin` is not installed");
    place.install("0.3.0").await;
    let nothing = place.store.roll_back(&id(), two.digest).unwrap_err();
    assert_eq!(nothing.to_string(), "no earlier version of `test:plugin` is kept");
}

#[tokio::test]
async fn what_waits_is_used_only_once_it_is_approved() {
    let place = Place::new();
    let early = place.candidate("0.2.0", KV).await.hold(&place.store, "the test", false).unwrap_err();
    assert!(matches!(early, StoreError::NotInstalled { .. }), "{early}");
    let one = place.install("0.1.0").await;
    let two = place.candidate("0.2.0", KV).await.hold(&place.store, "the test", false).unwrap();
    assert_eq!(place.store.list().unwrap().get(&id()), Some(&one));
    assert_eq!((place.files(), place.locked()), (hex(&[&one, &two]), Some(("0.1.0".to_owned(), one.digest))));
    assert_eq!(two.granted, [""; 0], "nothing of it was granted");

    let other = place.store.approve(&id(), one.digest, vec!["kv".to_owned()]).unwrap_err();
    assert_eq!(other.to_string(), "no version of `test:plugin` waits for approval");
    // One that came later takes its place.
    let three = place.candidate("0.3.0", KV).await.hold(&place.store, "the test", false).unwrap();
    assert_eq!(place.files(), hex(&[&one, &three]));
    assert!(place.store.approve(&id(), two.digest, Vec::new()).is_err());
    let approved = place.store.approve(&id(), three.digest, vec!["kv".to_owned()]).unwrap();
    assert_eq!((&approved.version, &approved.granted), (&three.version, &vec!["kv".to_owned()]));
    let kept = place.store.kept().unwrap().remove(&id()).unwrap();
    assert_eq!((kept.active, kept.previous, kept.waiting), (approved, Some(one), None));
}

#[tokio::test]
async fn an_older_version_and_another_content_of_the_same_are_refused() {
    let place = Place::new();
    place.install("0.2.0").await;
    let older = place.candidate("0.1.0", KV).await.install(&place.store, &[], "the test", false).unwrap_err();
    assert_eq!(older.to_string(), "`test:plugin` 0.2.0 is installed, and 0.1.0 is older");
    let held = place.candidate("0.1.0", KV).await.hold(&place.store, "the test", false).unwrap_err();
    assert_eq!(held.to_string(), older.to_string());
    place.candidate("0.1.0", KV).await.install(&place.store, &[], "the test", true).unwrap();

    // Whoever has made it, and whoever stands for it.
    let other = place.candidate("0.1.0", "").await.install(&place.store, &[], "the test", false).unwrap_err();
    assert!(other.to_string().contains("`test:plugin` 0.1.0 is installed already with another content: "), "{other}");
    let published = || Provenance { publisher: Some("test".to_owned()), ..Provenance::from("the test") };
    place.candidate("0.3.0", KV).await.install(&place.store, &[], published(), false).unwrap();
    let other = place.candidate("0.3.0", "").await.install(&place.store, &[], published(), true).unwrap_err();
    assert!(other.to_string().contains("`test:plugin` 0.3.0 is installed already with another content: "), "{other}");
}

#[tokio::test]
async fn what_a_process_uses_stays_as_long_as_it_lives() {
    let place = Place::new();
    let (nothing, lease) = place.store.lend().unwrap();
    assert!(nothing.is_empty() && lease.is_none() && !place.path("plugins").exists(), "looking makes no folder");
    let one = place.install("0.1.0").await;
    let (used, lease) = place.store.lend().unwrap();
    let two = place.install("0.2.0").await;
    let three = place.install("0.3.0").await;
    assert_eq!(place.files(), hex(&[&one, &two, &three]));
    let package = place.store.package(used.get(&id()).unwrap()).unwrap();
    assert_eq!(package.bytes().unwrap().1, one.digest);
    place.store.remove(&id()).unwrap();
    assert_eq!(place.files(), hex(&[&one]));
    drop(lease);
    let four = place.install("0.4.0").await;
    assert_eq!(place.files(), hex(&[&four]));
    assert_eq!(names(&place.path("plugins/leases")), BTreeSet::new());
}

#[tokio::test]
async fn what_is_not_as_it_was_approved_is_found_without_running_it() {
    let place = Place::new();
    let installed = place.install("0.1.0").await;
    let file = place.path("plugins/sha256").join(installed.digest.hex()).join("plugin.wasm");
    let whole = std::fs::read(&file).unwrap();
    let found = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let kept = place.store.kept().unwrap().remove(&id()).unwrap();
        let problems = place.store.verify(&id(), &kept).join("; ");
        (place.store.package(&kept.active).is_ok(), problems)
    };
    assert_eq!(found(&whole), (true, String::new()));
    // Its manifest, which is shown without reading the rest, is another one.
    let word = whole.windows(5).position(|part| part == b"keeps").unwrap();
    let mut described = whole.clone();
    described[word] = b'K';
    let (is_shown, problem) = found(&described);
    assert!(!is_shown && problem.ends_with("is not the file that was installed"), "{problem}");
    // Its code.
    let mut changed = whole.clone();
    let middle = changed.len() / 3;
    changed[middle] ^= 1;
    let (_, problem) = found(&changed);
    assert!(problem.contains("plugin.wasm"), "{problem}");
    std::fs::remove_file(&file).unwrap();
    let kept = place.store.kept().unwrap().remove(&id()).unwrap();
    assert!(place.store.verify(&id(), &kept).join("").contains("cannot be read"));
    std::fs::write(&file, &whole).unwrap();

    // What was granted is more than what it asks for.
    let index = place.path("plugins/index.toml");
    let text = std::fs::read_to_string(&index).unwrap();
    std::fs::write(&index, text.replace("\"kv\"", "\"kv\", \"net https://example.com/\"")).unwrap();
    let kept = place.store.kept().unwrap().remove(&id()).unwrap();
    let problem = "0.1.0: it was granted `net https://example.com/`, which it does not ask for";
    assert_eq!(place.store.verify(&id(), &kept), [problem]);
}

/// What an older version of this program has left is used as it is, and complete once something is changed.
#[tokio::test]
async fn an_index_of_an_older_version_is_read() {
    let place = Place::new();
    let one = place.install("0.1.0").await;
    let index = place.path("plugins/index.toml");
    let text = std::fs::read_to_string(&index).unwrap();
    let old: Vec<&str> = text
        .lines()
        .filter(|line| !["size", "section", "capabilities"].iter().any(|key| line.starts_with(key)))
        .collect();
    std::fs::write(&index, old.join("\n")).unwrap();
    std::fs::remove_file(place.path("acp-plugins.lock")).unwrap();
    #[cfg(unix)]
    for folder in ["plugins", "plugins/sha256"] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(place.path(folder), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let kept = place.store.kept().unwrap().remove(&id()).unwrap();
    assert_eq!((kept.active.size, kept.active.digest, &kept.active.granted), (None, one.digest, &one.granted));
    assert_eq!(place.store.verify(&id(), &kept), [""; 0]);
    let two = place.install("0.2.0").await;
    assert_eq!(place.locked(), Some(("0.2.0".to_owned(), two.digest)));
    place.store.roll_back(&id(), one.digest).unwrap();
    assert_eq!(place.locked(), None, "what it does not know of a file is not noted");
    place.store.roll_back(&id(), two.digest).unwrap();

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &str| place.path(path).metadata().unwrap().permissions().mode() & 0o777;
        let file = format!("plugins/sha256/{}", two.digest.hex());
        for folder in ["plugins", "plugins/sha256", &file] {
            assert_eq!(mode(folder), 0o700, "{folder}");
        }
        for one in ["plugins/index.toml", "plugins/lock", "acp-plugins.lock", &format!("{file}/plugin.wasm")] {
            assert_eq!(mode(one), 0o600, "{one}");
        }
    }
}

/// A stop at any moment leaves files that are not finished; they go with the next change, and are never read.
#[tokio::test]
async fn what_was_left_unfinished_is_taken_away() {
    let place = Place::new();
    let one = place.install("0.1.0").await;
    let stray = "ab".repeat(32);
    std::fs::create_dir(place.path("plugins/sha256").join(&stray)).unwrap();
    for path in [
        "plugins/.acp-runtime-1-0-00000000".to_owned(),
        "plugins/.new-abc".to_owned(),
        format!("plugins/sha256/{}/.acp-runtime-1-0-00000000", one.digest.hex()),
        format!("plugins/sha256/{stray}/.acp-runtime-1-0-00000000"),
    ] {
        std::fs::write(place.path(&path), "half").unwrap();
    }
    assert_eq!(place.store.list().unwrap().len(), 1);
    let two = place.install("0.2.0").await;
    assert_eq!(place.files(), hex(&[&one, &two]));
    assert_eq!(names(&place.path("plugins")), ["index.toml", "lock", "sha256"].map(str::to_owned).into());
    assert_eq!(names(&place.path(&format!("plugins/sha256/{}", one.digest.hex()))), ["plugin.wasm".to_owned()].into());
}
