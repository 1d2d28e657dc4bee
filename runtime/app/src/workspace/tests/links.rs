//! Links inside a root: what is allowed is where they lead, and not their name.

use super::*;

fn forbidding(patterns: &[&str]) -> Policy {
    Policy::default().forbid(patterns.iter().map(|pattern| pattern.parse().unwrap()))
}

impl Disk {
    /// A permit for where the links lead now.
    async fn permit_here(&self, policy: Policy, effects: Vec<Effect>) -> Result<Permit, String> {
        permit_on(self.workspace.clone(), policy, effects).await.map_err(|refusal| refusal.to_string())
    }
}

/// All that can be done at a path, and the same below it.
fn everything(path: &str) -> Vec<Effect> {
    let (path, inner) = (at(path), at(&format!("{path}/inner.txt")));
    vec![
        Effect::Read(path.subtree()),
        Effect::Write(inner.scope()),
        Effect::Delete(inner.scope()),
        Effect::Move { from: inner, to: at("moved") },
    ]
}

#[tokio::test]
async fn a_rule_holds_for_a_file_under_all_its_names() {
    let disk = disk().await;
    disk.link("link", "sub");
    disk.link("sub/deep/file", "../inner.txt");
    for (pattern, effect, refused) in [
        ("read:sub/**", Effect::Read(at("link/inner.txt").scope()), "denied: read `sub/inner.txt`"),
        ("read:sub/inner.txt", Effect::Read(at("link/deep/file").scope()), "denied: read `sub/inner.txt`"),
        ("read:sub/**", Effect::Read(at("link").subtree()), "denied: read `sub/**`"),
        ("write:sub/**", Effect::Write(at("link/new/file").scope()), "denied: write `sub/new/file`"),
        ("delete:sub/**", Effect::Delete(at("link/inner.txt").scope()), "denied: delete `sub/inner.txt`"),
        ("move:sub/**", Effect::Move { from: at("real.txt"), to: at("link/a") }, "denied: move `real.txt -> sub/a`"),
    ] {
        let error = disk.permit_here(forbidding(&[pattern]), vec![effect.clone()]).await.unwrap_err();
        assert!(error.starts_with(refused), "{pattern} {effect}: {error}");
    }
}

#[tokio::test]
async fn a_permit_is_for_the_place_that_was_judged() {
    let disk = disk().await;
    disk.file("private/inner.txt", "private");
    disk.link("link", "sub");
    let permit = disk.permit_here(forbidding(&["read:private/**"]), everything("link")).await.unwrap();
    let (files, link, inner) = (&disk.workspace, at("link"), at("link/inner.txt"));
    assert_eq!(files.read(&permit, &inner).await.as_deref(), Ok("inner"));

    fs::remove_file(disk.project("link")).unwrap();
    disk.link("link", "private");
    let elsewhere = |path: &str| WorkspaceError::LeadsElsewhere(path.to_owned());
    assert_eq!(files.read(&permit, &inner).await, Err(elsewhere("link/inner.txt")));
    assert_eq!(files.write(&permit, &inner, "x").await, Err(elsewhere("link/inner.txt")));
    assert_eq!(files.delete(&permit, &inner).await, Err(elsewhere("link/inner.txt")));
    assert_eq!(files.rename(&permit, &inner, &at("moved")).await, Err(elsewhere("moved")));
    assert_eq!(files.list(&permit, &link).await, Err(elsewhere("link")));
    let all = Search { under: link.clone(), ..search("", &[], None) };
    assert_eq!(files.search(&permit, &all).await, Err(elsewhere("link")));

    // A folder in the link's place is no place that was judged either.
    fs::remove_file(disk.project("link")).unwrap();
    disk.file("link/inner.txt", "another");
    assert_eq!(files.read(&permit, &inner).await, Err(elsewhere("link/inner.txt")));
    assert_eq!(disk.read("private/inner.txt").await.as_deref(), Ok("private"));
    assert_eq!(disk.read("sub/inner.txt").await.as_deref(), Ok("inner"));
}

/// `swapped` is an open folder at one moment, and a link to the private one at the next.
#[test]
fn a11_a_race_inside_the_root_is_lost() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rules = || forbidding(&["read:private/**", "write:private/**", "delete:private/**"]);
    let disk = runtime.block_on(disk_under(rules()));
    disk.file("swapped/key", "open");
    disk.file("private/key", "private");
    disk.link("link", "private");
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let stopped = Stop(&stop);
        threads.spawn(|| {
            let (swapped, link, here) = (disk.project("swapped"), disk.project("link"), rustix::fs::CWD);
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(here, &swapped, here, &link, rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        let (mut seen, mut refused) = (0, 0);
        let (key, all) = (at("swapped/key"), search("", &["key"], Some("private")));
        for round in 0..100_000 {
            runtime.block_on(async {
                let wanted = vec![Effect::Read(key.scope()), Effect::Write(key.scope())];
                let Ok(permit) = disk.permit_here(rules(), wanted).await else {
                    refused += 1;
                    return;
                };
                match disk.workspace.read(&permit, &key).await {
                    Ok(text) => {
                        assert_eq!(text, "open");
                        seen += 1;
                    }
                    Err(_) => refused += 1,
                }
                let _ = disk.workspace.write(&permit, &key, "open").await;
                assert_eq!(disk.search(all.clone()).await.unwrap(), Vec::<String>::new(), "the private text was found");
            });
            if round >= 500 && seen >= 20 && refused >= 20 {
                break;
            }
        }
        assert!(seen >= 20 && refused >= 20, "the race was run: {seen} seen, {refused} refused");
        drop(stopped);
    });
    assert_eq!(fs::read_to_string(disk.project("private/key")).unwrap(), "private");
    assert_eq!(fs::read_dir(disk.project("private")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_may_not_be_read_is_not_named() {
    let policy = Policy::new(vec![PathGlob::parse("**/.env").unwrap()]).forbid(["read:sub/*.txt".parse().unwrap()]);
    let disk = disk_under(policy.forbid(["read:private/**".parse().unwrap(), "write:open/**".parse().unwrap()])).await;
    for path in [".env", "sub/.env", "sub/lib.rs", "private/key", "open/file"] {
        disk.file(path, "text");
    }
    let names = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>();
    assert_eq!(names(disk.list("").await.unwrap()), ["open", "real.txt", "sub"]);
    assert_eq!(names(disk.list("sub").await.unwrap()), ["deep", "lib.rs"]);
    let found = disk.search(search("", &["**/*", "**/.*"], None)).await.unwrap();
    assert_eq!(found, ["open/file", "real.txt", "sub/lib.rs"]);
    let denied = |path: &str| Err(WorkspaceError::Denied(path.to_owned()));
    assert_eq!(disk.search(search("private", &[], None)).await, denied("private"));
    assert_eq!(disk.search(search("sub/inner.txt", &[], Some("."))).await, denied("sub/inner.txt"));
    assert_eq!(disk.read("sub/inner.txt").await.unwrap_err(), WorkspaceError::Denied("sub/inner.txt".to_owned()));
}

#[tokio::test]
async fn a_file_has_another_stamp_once_it_changed() {
    let disk = disk().await;
    let stamp = async || disk.workspace.stamp(&at("real.txt")).await;
    let before = stamp().await;
    assert_eq!(stamp().await, before);
    let kept = fs::metadata(disk.project("real.txt")).unwrap().modified().unwrap();
    disk.write("real.txt", "real").await.unwrap();
    fs::File::options()
        .write(true)
        .open(disk.project("real.txt"))
        .unwrap()
        .set_modified(kept - Duration::from_secs(9))
        .unwrap();
    assert_eq!(stamp().await, before, "another file with the same text is no change");
    fs::write(disk.project("real.txt"), "RAEL").unwrap();
    fs::File::options().write(true).open(disk.project("real.txt")).unwrap().set_modified(kept).unwrap();
    let changed = stamp().await;
    assert_ne!(changed, before, "also with its time set back");
    fs::remove_file(disk.project("real.txt")).unwrap();
    let gone = stamp().await;
    assert!(gone != before && gone != changed);
    disk.link("real.txt", "sub/inner.txt");
    assert_ne!(stamp().await, changed, "what it leads to is another file");
}

/// A file that is replaced while it is looked at is the same file: it has no other name for a moment.
#[test]
fn a_file_that_is_replaced_stays_where_it_is() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let disk = runtime.block_on(disk());
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let _stopped = Stop(&stop);
        threads.spawn(|| {
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let new = disk.project(&format!("sub/new-{}", number % 2));
                fs::write(&new, "real").unwrap();
                fs::rename(&new, disk.project("real.txt")).unwrap();
            }
        });
        for _ in 0..2000 {
            let real = runtime.block_on(disk.workspace.real(&at("real.txt")));
            assert_eq!(real, Some(at("real.txt")));
        }
    });
}

#[tokio::test]
async fn links_are_followed_as_the_system_does_it() {
    let disk = disk().await;
    for (link, target) in [
        ("to", "sub"),
        ("sub/up", "../sub/deep/.."),
        ("sub/deep/far", "../../to/up/inner.txt"),
        ("sub/self", ".."),
        ("gone", "to/missing"),
        ("to_gone", "gone"),
        ("out", "sub/../../outside/secret"),
        ("back", "../project/real.txt"),
        ("absolute", "/"),
        ("circle", "circle"),
        ("through_file", "real.txt/x"),
    ] {
        disk.link(link, target);
    }
    let chain: Vec<String> = (0..42).map(|number| format!("chain{number}")).collect();
    disk.link(&chain[0], "real.txt");
    for (link, target) in chain.iter().skip(1).zip(&chain) {
        disk.link(link, target);
    }
    for (path, real) in [
        ("", Some("")),
        ("to", Some("sub")),
        ("to/inner.txt", Some("sub/inner.txt")),
        ("to/up/up/deep/far", Some("sub/inner.txt")),
        ("sub/self/real.txt", Some("real.txt")),
        ("sub/self", Some("")),
        ("to/new/file", Some("sub/new/file")),
        ("real.txt/x/y", Some("real.txt/x/y")),
        ("gone", Some("gone")),
        ("to_gone/x", Some("to_gone/x")),
        ("to/self/gone", Some("gone")),
        ("through_file", Some("through_file")),
        ("chain39", Some("real.txt")),
        ("chain40", None),
        ("out", None),
        ("back", None),
        ("absolute/etc", None),
        ("circle/x", None),
    ] {
        assert_eq!(disk.workspace.real(&at(path)).await, real.map(at), "{path}");
    }
}
