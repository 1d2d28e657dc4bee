//! Compiled code on disk: used where it is sound, made anew where it is not, and never in the way.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use acp_runtime_host::limits::Limits;
use serde_json::json;

use crate::support::Runtime;

/// Calls a plugin once, in a new host with that cache.
async fn call(cache: &Path) {
    let runtime = Runtime::with(Some(cache.to_owned()), Limits::default());
    assert_eq!(runtime.run("echo", "", json!({ "a": 1 })).await.unwrap(), r#"{"a":1}"#);
}

/// The only entry.
fn entry(cache: &Path) -> PathBuf {
    let entries = std::fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let mut code: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "cwasm")).collect();
    assert_eq!(code.len(), 1, "{code:?}");
    code.remove(0)
}

/// Puts the entry's time far back, so that a new one shows.
fn age(path: &Path) -> SystemTime {
    let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    old
}

fn modified(path: &Path) -> SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

#[tokio::test]
async fn a_second_load_compiles_nothing() {
    let folder = tempfile::TempDir::new().unwrap();
    let cache = folder.path().join("compiled");
    call(&cache).await;
    assert_eq!(cache.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(entry(&cache).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let old = age(&entry(&cache));
    call(&cache).await;
    assert_eq!(modified(&entry(&cache)), old);
}

#[tokio::test]
async fn a_changed_entry_is_compiled_anew() {
    let folder = tempfile::TempDir::new().unwrap();
    let cache = folder.path().join("compiled");
    call(&cache).await;
    let sound = std::fs::read(entry(&cache)).unwrap();
    let mut changed = sound.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    for bytes in [&changed[..], &sound[..sound.len() / 2], b""] {
        std::fs::write(entry(&cache), bytes).unwrap();
        let old = age(&entry(&cache));
        call(&cache).await;
        assert_ne!(modified(&entry(&cache)), old);
        assert_ne!(std::fs::read(entry(&cache)).unwrap(), bytes);
    }
    std::fs::remove_file(entry(&cache).with_extension("sha256")).unwrap();
    let old = age(&entry(&cache));
    call(&cache).await;
    assert_ne!(modified(&entry(&cache)), old);
}

#[tokio::test]
async fn what_is_no_file_is_not_waited_for() {
    let folder = tempfile::TempDir::new().unwrap();
    let cache = folder.path().join("compiled");
    call(&cache).await;
    for of in ["cwasm", "sha256"] {
        let path = entry(&cache).with_extension(of);
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        call(&cache).await;
        assert!(path.symlink_metadata().unwrap().is_file(), "it is made anew: {of}");
    }
    // A folder among the entries is nobody's, and in nobody's way.
    std::fs::create_dir(cache.join("folder")).unwrap();
    std::fs::remove_file(entry(&cache)).unwrap();
    call(&cache).await;
    entry(&cache);
}

#[tokio::test]
async fn what_others_can_change_is_not_used() {
    let folder = tempfile::TempDir::new().unwrap();
    let cache = folder.path().join("compiled");
    call(&cache).await;
    let permit = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    permit(&entry(&cache), 0o620);
    let old = age(&entry(&cache));
    call(&cache).await;
    assert_ne!(modified(&entry(&cache)), old, "the entry was used");
    // A folder that others can write is not written either.
    let old = age(&entry(&cache));
    permit(&cache, 0o770);
    call(&cache).await;
    assert_eq!(modified(&entry(&cache)), old);
    // A link is not followed, even to sound code.
    permit(&cache, 0o700);
    let elsewhere = folder.path().join("elsewhere");
    std::fs::rename(entry(&cache), &elsewhere).unwrap();
    let link = entry_name(&elsewhere, &cache);
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    call(&cache).await;
    assert!(!link.symlink_metadata().unwrap().file_type().is_symlink());
}

/// Where the entry stood, from the hash that stands beside it.
fn entry_name(_moved: &Path, cache: &Path) -> PathBuf {
    let hashes = std::fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let hash = hashes.into_iter().find(|path| path.extension().is_some_and(|end| end == "sha256")).unwrap();
    hash.with_extension("cwasm")
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_costs_only_the_cache() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    call(&file.join("compiled")).await;
    call(Path::new("/proc/no/such/folder")).await;
}
