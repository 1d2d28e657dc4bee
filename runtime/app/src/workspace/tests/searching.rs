//! What a search finds, and what it leaves out.

use acp_runtime_agent::workspace::{MissReason, Missed};

use super::*;

#[tokio::test]
async fn a_search_honours_ignore_files_and_globs() {
    let disk = disk().await;
    disk.file(".gitignore", "*.log\n/build\ntarget/\n!keep.log\n# comment\n[bad\n");
    disk.file("sub/.gitignore", "!deep.log\nlocal.txt\n");
    disk.file("sub/.ignore", "only_here.txt\n");
    for path in [
        "a.log",
        "keep.log",
        "build/x.txt",
        "sub/build/y.txt",
        "sub/target/z.txt",
        "sub/deep.log",
        "sub/local.txt",
        "sub/only_here.txt",
        "local.txt",
        ".github/ci.yml",
        ".git/config",
        "sub.rs",
        "sub/deep/lib.rs",
    ] {
        disk.file(path, "needle\n");
    }
    let all = [
        "keep.log",
        "local.txt",
        "real.txt",
        "sub.rs",
        "sub/build/y.txt",
        "sub/deep.log",
        "sub/deep/lib.rs",
        "sub/inner.txt",
    ];
    for (under, globs, found) in [
        ("", vec![], all.to_vec()),
        ("", vec!["*.rs"], vec!["sub.rs", "sub/deep/lib.rs"]),
        ("", vec!["./*.rs", "keep.*"], vec!["keep.log", "sub.rs", "sub/deep/lib.rs"]),
        ("", vec!["sub/*.txt"], vec!["sub/inner.txt"]),
        ("", vec!["sub/**"], vec!["sub/build/y.txt", "sub/deep.log", "sub/deep/lib.rs", "sub/inner.txt"]),
        ("", vec!["**/*.{yml,rs}", ".github/**"], vec![".github/ci.yml", "sub.rs", "sub/deep/lib.rs"]),
        ("", vec![".git/*"], vec![]),
        ("sub", vec!["*.txt"], vec!["sub/build/y.txt", "sub/inner.txt"]),
        ("sub", vec!["deep/*"], vec!["sub/deep/lib.rs"]),
        ("build", vec![], vec!["build/x.txt"]),
        ("sub/local.txt", vec![], vec!["sub/local.txt"]),
    ] {
        let names = disk.search(search(under, &globs, None)).await.unwrap();
        assert_eq!(names, found, "{under} {globs:?}");
    }
    let lines = disk.search(search("", &["*.log"], Some("need"))).await.unwrap();
    assert_eq!(lines, ["keep.log:1:needle", "sub/deep.log:1:needle"]);
}

#[tokio::test]
async fn a_search_is_bounded() {
    let disk = disk().await;
    disk.file("many", "hit\n".repeat(10));
    disk.file("big", "hit\n".repeat(600_000));
    disk.file("binary", b"hit\n\0\nhit\n".repeat(3));
    disk.file("latin", b"hit \xE9\r\n");
    disk.file("long", format!("{}hit", "ä".repeat(2000)));
    disk.link("linked", "many");
    disk.link("folder", "../outside");
    let found = disk.search(search("", &[], Some("HIT"))).await.unwrap();
    assert_eq!(found, Vec::<String>::new());
    let found = disk.search(Search { ignore_case: true, ..search("", &["l*"], Some("HIT$")) }).await.unwrap();
    assert_eq!(found, [format!("long:1:{}…", "ä".repeat(500))]);
    let found = disk.search(search("", &[], Some("^hit"))).await.unwrap();
    assert_eq!(found.len(), 11, "neither big nor binary files, and no links: {found:?}");
    assert_eq!(found[0], "latin:1:hit \u{FFFD}");
    for (limit, lines) in [(0, 1), (3, 4), (10, 11), (11, 11)] {
        let found = disk.search(Search { limit, ..search("", &[], Some("^hit")) }).await.unwrap();
        assert_eq!(found.len(), lines, "{limit}");
        assert_eq!(found.last().unwrap() == "(cut)", limit < 11, "{limit}");
    }
    for (globs, pattern, error) in [
        (vec![], Some("("), "`(` is not a valid pattern: "),
        (vec![], Some("(?=x)"), "`(?=x)` is not a valid pattern: "),
        (vec!["{a"], None, "`{a` is not a valid pattern: "),
    ] {
        let refused = disk.search(search("", &globs, pattern)).await.unwrap_err().to_string();
        assert!(refused.starts_with(error), "{refused}");
    }
    assert_eq!(disk.search(search("gone", &[], None)).await, Err(WorkspaceError::NotFound("gone".to_owned())));
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_ends() {
    let disk = disk().await;
    let (place, stop) = (disk.workspace.place(&at(""), Follow::All).await.unwrap(), CancellationToken::new());
    assert_eq!(search::search(&place, &search("", &[], None), &stop).unwrap().hits.len(), 2);
    stop.cancel();
    assert_eq!(search::search(&place, &search("", &[], None), &stop).unwrap(), Found::default());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_not_searched_is_counted_and_the_rest_is_found() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let disk = disk().await;
    let chain = |folders: usize| ["d"; 200][..folders].join("/");
    for folders in [128, 130] {
        disk.file(&format!("{}/hit", chain(folders)), "needle");
    }
    disk.file("zone/hit", "needle");
    disk.file("back\\slash/hit", "needle");
    for name in [&b"sub/\xFF.txt"[..], b"sub/\xFE.txt", b"sub/deep\xFF/hit", b"sub/ignored\xFF"] {
        let path = disk.project("").join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "needle").unwrap();
    }
    disk.file("sub/.gitignore", "ignored*\n");
    let missed = |reason, count, first: &str| Missed { reason, count, first: first.to_owned() };
    let too_deep = || missed(MissReason::TooDeep, 1, &chain(129));
    for (globs, unnamed) in [
        (vec![], missed(MissReason::Unnamed, 4, "back\\slash")),
        (vec!["hit"], missed(MissReason::Unnamed, 2, "back\\slash")),
    ] {
        let found = disk.workspace.search(&disk.permit, &search("", &globs, Some("needle"))).await.unwrap();
        let hits: Vec<&str> = found.hits.iter().map(|hit| hit.path.as_str()).collect();
        assert_eq!(hits, [format!("{}/hit", chain(128)).as_str(), "zone/hit"], "{globs:?}");
        assert!(!found.cut);
        assert_eq!(found.missed, [unnamed, too_deep()], "{globs:?}");
    }
    let found = disk.workspace.search(&disk.permit, &search("zone", &[], None)).await.unwrap();
    assert_eq!(found.missed, []);
}
