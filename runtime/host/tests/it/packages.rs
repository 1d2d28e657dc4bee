//! From a component to an installed plugin, and what is refused on the way.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_runtime_agent::capability::{Grant, PluginId, Tier};
use acp_runtime_host::build;
use acp_runtime_host::install::{Candidate, InstallError};
use acp_runtime_host::limits::Limits;
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::{Digest, Package, PackageError, PackageStore, read_whole};
use acp_runtime_host::plugin_host::PluginHost;
use serde_json::json;
use wasm_encoder::{ComponentSection, CustomSection};

use crate::guest;
use crate::support::{Runtime, inventory, manifest, ports, told};

const RIGHTS: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]\nkv = { reason = \"keeps\" }";

fn host() -> Arc<PluginHost> {
    PluginHost::new(None, Limits::default(), ports(&Arc::default(), &Arc::default()))
}

fn put(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("plugin.wasm");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What never ends is ended while it is installed. What is not a candidate is in no store.
#[tokio::test]
async fn a2_what_never_says_what_it_offers_is_not_installed() {
    let (mut limits, folder) = (Limits::default(), tempfile::TempDir::new().unwrap());
    limits.time.cpu = Duration::from_millis(100);
    let host = PluginHost::new(None, limits, ports(&Arc::default(), &Arc::default()));
    for guest in ["start", "list", "realloc"] {
        let path = put(folder.path(), &claiming(guest::component(guest)));
        let begin = Instant::now();
        let refused = Candidate::check(&host, &path).await.unwrap_err();
        let why = "plugin `test:plugin` cannot be run: the plugin was stopped: it computed for longer than 100ms";
        assert_eq!(refused.to_string(), why, "{guest}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{guest}: {:?}", begin.elapsed());
    }
}

/// A plugin whose manifest says that it has one tool `run`, whatever it has.
fn claiming(component: Vec<u8>) -> Vec<u8> {
    guest::with_manifest(component, &Manifest::section(&manifest("test:plugin", ""), &inventory()).unwrap())
}

async fn refused(bytes: &[u8]) -> InstallError {
    let folder = tempfile::TempDir::new().unwrap();
    Candidate::check(&host(), &put(folder.path(), bytes)).await.unwrap_err()
}

#[tokio::test]
async fn a_plugin_is_built_installed_listed_used_and_removed() {
    let (host, folder) = (host(), tempfile::TempDir::new().unwrap());
    let toml = manifest("test:everything", RIGHTS);
    let built = build::embed(&host, &guest::component("everything"), &toml).await.unwrap();
    assert_eq!(build::embed(&host, &built, &toml).await.unwrap(), built);
    let path = put(folder.path(), &built);

    let store = PackageStore::new(folder.path().join("plugins"));
    assert!(store.list().unwrap().is_empty());
    let candidate = Candidate::check(&host, folder.path()).await.unwrap();
    assert_eq!(candidate.manifest().inventory.commands.len(), 1);
    let installed = candidate.install(&store, &[Grant::Kv], "the test", false).unwrap();
    std::fs::remove_file(&path).unwrap();

    let id = PluginId::new("test:everything").unwrap();
    assert_eq!(store.list().unwrap().get(&id), Some(&installed));
    let package = store.package(&installed).unwrap();
    let grants = installed.grants(package.manifest());
    assert_eq!((grants.tier, grants.ceiling.len(), grants.granted), (Tier::Installed, 2, vec![Grant::Kv]));
    assert!(package.bytes().is_ok());

    store.remove(&id).unwrap();
    assert!(store.list().unwrap().is_empty());
    assert_eq!(store.remove(&id).unwrap_err().to_string(), "`test:everything` is not installed");
    assert!(matches!(store.package(&installed).unwrap_err(), PackageError::Read { .. }));
}

#[tokio::test]
async fn another_version_takes_the_place_of_the_first() {
    let (host, folder) = (host(), tempfile::TempDir::new().unwrap());
    let store = PackageStore::new(folder.path().join("plugins"));
    let mut digests = Vec::new();
    for version in ["0.1.0", "0.2.0"] {
        let toml = manifest("test:everything", "").replace("0.1.0", version);
        let built = build::embed(&host, &guest::component("everything"), &toml).await.unwrap();
        let candidate = Candidate::check(&host, &put(folder.path(), &built)).await.unwrap();
        digests.push(candidate.install(&store, &[], "the test", false).unwrap().digest);
    }
    let listed = store.list().unwrap();
    assert_eq!(listed.values().map(|installed| installed.version.to_string()).collect::<Vec<_>>(), ["0.2.0"]);
    let files = std::fs::read_dir(folder.path().join("plugins/sha256")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    digests.sort();
    assert_eq!(files, digests.iter().map(Digest::hex).collect::<Vec<_>>(), "the version before is kept");
}

#[tokio::test]
async fn what_was_decided_about_a_right_is_known_to_the_next_version() {
    let (host, folder) = (host(), tempfile::TempDir::new().unwrap());
    let store = PackageStore::new(folder.path().join("plugins"));
    let version = async |rights: &str| {
        let toml = manifest("test:everything", rights);
        let built = build::embed(&host, &guest::component("everything"), &toml).await.unwrap();
        Candidate::check(&host, &put(folder.path(), &built)).await.unwrap()
    };
    let first = version(RIGHTS).await;
    assert!(first.predecessor(&store).unwrap().is_none());
    let reads = first.manifest().ceiling()[0].clone();
    let installed = first.install(&store, &[Grant::Kv], "the test", false).unwrap();
    let decided = async |rights: &str| {
        let next = version(rights).await;
        let before = next.predecessor(&store).unwrap().unwrap();
        assert_eq!(before.version(), &installed.version);
        let asked = &next.manifest().capabilities;
        let decided: Vec<_> = asked.iter().map(|right| before.decided(right)).collect();
        (decided, before.no_longer_asked(next.manifest()).collect::<Vec<_>>())
    };
    assert_eq!(decided(RIGHTS).await, (vec![Some(false), Some(true)], vec![]));
    let narrower = "[capabilities]\nfs.read = [{ glob = \"src/**\", reason = \"reads\" }]";
    assert_eq!(decided(narrower).await, (vec![Some(false)], vec![reads.to_string(), Grant::Kv.to_string()]));
    let other = "[capabilities]\nfs.write = [{ glob = \"src/**\", reason = \"writes\" }]";
    assert_eq!(decided(other).await.0, [None]);
    // Of a file that is damaged, what was granted is known.
    std::fs::write(store.package(&installed).unwrap().path(), "damaged").unwrap();
    assert_eq!(decided(RIGHTS).await, (vec![None, Some(true)], vec![]));
}

#[tokio::test]
async fn a_file_that_changed_since_is_not_run() {
    let runtime = Runtime::new();
    let (host, folder) = (host(), tempfile::TempDir::new().unwrap());
    let built = build::embed(&host, &guest::component("everything"), &manifest("test:all", "")).await.unwrap();
    let path = put(folder.path(), &built);
    let tool = runtime.open(&[runtime.load(&path)]).tools[0].clone();
    put(folder.path(), &claiming(guest::component("echo")));
    let error = runtime.call(&*tool, json!({})).await.unwrap_err();
    let text = told(&error).1;
    assert!(text.contains("has changed since it was loaded") && text.contains("restart the agent"), "{error}");
    // Whole again, it can be used at once.
    put(folder.path(), &built);
    runtime.call(&*tool, json!({})).await.unwrap();
    // An installed file must be the very one.
    let store = PackageStore::new(folder.path().join("plugins"));
    let candidate = Candidate::check(&host, &path).await.unwrap();
    let installed_id = candidate.manifest().id.clone();
    let installed = candidate.install(&store, &[], "the test", false).unwrap();
    let kept = store.package(&installed).unwrap();
    let mut longer = built.clone();
    longer.extend([0, 2, 1, b'x']);
    std::fs::write(kept.path(), longer).unwrap();
    assert!(matches!(kept.bytes().unwrap_err(), PackageError::NotInstalled { .. }));
    // Updated or removed by another process.
    store.remove(&installed_id).unwrap();
    let gone = kept.bytes().unwrap_err();
    assert!(matches!(gone, PackageError::Gone { .. }) && gone.hint().contains("begin a new session"), "{gone}");
}

#[tokio::test]
async fn a37_what_is_not_a_plugin_is_refused_with_the_reason() {
    let everything = guest::component("everything");
    let cut = claiming(everything.clone());
    let noise: Vec<u8> = (0..10_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut noisy = claiming(everything.clone());
    for (byte, noise) in noisy.iter_mut().skip(8).zip(&noise).skip(200).step_by(7).take(50) {
        *byte ^= noise;
    }
    for (bytes, expected) in [
        (&b""[..], "is not a WebAssembly component: it is too short"),
        (&noise, "is not a WebAssembly component: it does not begin like one"),
        (b"\0asm\x01\0\0\0", "is not a WebAssembly component: it is a core module"),
        (&everything, "has no manifest"),
        (&cut[..cut.len() - 1], "is not a WebAssembly component: its manifest is cut off"),
        (&noisy, "test:plugin"),
        (&claiming(everything.clone()), "tool `run` is not the same in the manifest and in the component"),
    ] {
        let error = refused(bytes).await;
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(!error.hint().is_empty());
    }
    let bomb = guest::with_manifest(everything, &vec![b'['; 2 << 20]);
    assert!(refused(&bomb).await.to_string().contains("its manifest has 2097152 bytes"));
}

#[tokio::test]
async fn a37_every_cut_of_a_plugin_is_refused() {
    let whole = claiming(guest::component("echo"));
    let folder = tempfile::TempDir::new().unwrap();
    for length in (0..whole.len()).step_by(97) {
        let path = put(folder.path(), &whole[..length]);
        assert!(Package::read(&path).is_err(), "{length}");
    }
}

#[tokio::test]
async fn a38_an_unknown_import_is_named() {
    let text = "(component (import \"acme:radar/api@1.0.0\" (instance (export \"scan\" (func)))))";
    let error = refused(&claiming(wat::parse_str(text).unwrap())).await;
    let text = error.to_string();
    assert!(text.contains("`acme:radar/api@1.0.0`") && text.contains("acp-runtime 0.1.0"), "{text}");
    let newer = "(component (import \"aar:host/kv@0.2.0\" (instance (export \"scan\" (func)))))";
    let error = refused(&claiming(wat::parse_str(newer).unwrap())).await;
    assert!(error.to_string().contains("`aar:host/kv@0.2.0`"), "{error}");
    let error = refused(&claiming(wat::parse_str("(component)").unwrap())).await;
    assert!(error.to_string().contains("exports none of `aar:tool/tool@0.1.0`"), "{error}");
}

#[tokio::test]
async fn a3_too_many_core_instances_are_refused() {
    let error = refused(&claiming(guest::crowded(guest::component("echo"), "", 100))).await;
    assert!(error.to_string().contains("instance count too high at 65"), "{error}");
    let folder = tempfile::TempDir::new().unwrap();
    let path = put(folder.path(), &claiming(guest::crowded(guest::component("echo"), "", 50)));
    let runtime = Runtime::new();
    let tool = runtime.open(&[runtime.load(&path)]).tools[0].clone();
    runtime.call(&*tool, json!({})).await.unwrap();
}

#[tokio::test]
async fn a37_a_file_that_is_made_to_be_slow_is_refused_at_once() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("plugin.wasm");
    let zeros = |beginning: &[u8], size: u64| {
        std::fs::write(&path, beginning).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size).unwrap();
    };
    let header = b"\0asm\x0d\0\x01\0";
    for (beginning, size, problem) in [
        (&b""[..], 8 << 30, "is not a WebAssembly component: it does not begin like one"),
        (&header[..], 8 << 30, "has 8589934592 bytes; at most 268435456 are accepted"),
        (&header[..], 64 << 20, "is not a WebAssembly component: it has an empty section"),
    ] {
        zeros(beginning, size);
        let begin = Instant::now();
        let error = Package::read(&path).unwrap_err();
        let elapsed = begin.elapsed();
        assert!(error.to_string().ends_with(problem), "{error}");
        assert!(elapsed.as_millis() < 100, "{elapsed:?}");
    }
    let error = read_whole(&path, 1 << 20).unwrap_err();
    assert!(matches!(error, PackageError::TooLarge { size: 67_108_864, .. }), "{error}");
    for no_file in [folder.path(), Path::new("/dev/zero")] {
        assert!(Package::read(no_file).unwrap_err().to_string().ends_with("not a file"));
    }
}

#[tokio::test]
async fn fifty_manifests_are_read_without_their_code() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut bytes = claiming(guest::component("echo"));
    let code = CustomSection { name: "code".into(), data: vec![0; 4 << 20].into() };
    code.append_to_component(&mut bytes);
    let path = put(folder.path(), &bytes);
    let begin = Instant::now();
    for _ in 0..50 {
        assert_eq!(Package::read(&path).unwrap().manifest().inventory.tools.len(), 1);
    }
    let elapsed = begin.elapsed();
    assert!(elapsed.as_millis() < 100, "{elapsed:?}");
}
