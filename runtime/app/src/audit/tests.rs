//! What is written, what becomes of it when something is in the way, and what is found of what was done to it.

use std::path::Path;
use std::time::Duration;

use acp_runtime_agent::capability::{PathGlob, PathScope, RootId};
use acp_runtime_agent::transcript::ToolCallId;
use serde_json::Value;

use super::files::HEADS;
use super::*;
use crate::secret::Secret;

/// No file is ever full.
const ENDLESS: Bounds = Bounds { file: std::num::NonZeroU64::MAX, files: 0 };

fn log(folder: &Path, bounds: Bounds) -> AuditLog {
    AuditLog::new(folder.to_owned(), bounds, Redaction::default())
}

fn sink(log: &AuditLog, session: &str) -> Arc<dyn AuditSink> {
    log.sink(SessionId::new(session), Box::new(|_| Some(Digest::of(b"code"))))
}

fn decide(sink: &dyn AuditSink, path: &str, allowed: bool) {
    let origin = Origin::Plugin { plugin: PluginId::new("a:b").unwrap(), call: Some(ToolCallId::new("c1")) };
    let effect = Effect::Write(PathScope { root: RootId(0), glob: PathGlob::exact(path) });
    let took = Duration::from_millis(7);
    let by = "policy";
    sink.record(AuditEntry { origin: &origin, effect: &effect, allowed, by, times: 1, bytes: Some(3), took });
}

/// A session with these decisions, to its end.
fn session(folder: &Path, bounds: Bounds, id: &str, paths: &[&str]) {
    let log = log(folder, bounds);
    let sink = sink(&log, id);
    paths.iter().for_each(|path| decide(&*sink, path, true));
}

fn text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(FILE)).unwrap()
}

fn lines(folder: &Path) -> Vec<Value> {
    text(folder).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What `verify` finds, a line each.
fn found(folder: &Path) -> Vec<String> {
    let shown = |finding: Finding| {
        let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{}{line}: {}{}", finding.file, finding.problem, if finding.is_broken { "" } else { " (odd)" })
    };
    verify(folder, None).unwrap().findings.into_iter().map(shown).collect()
}

#[test]
fn every_decision_is_a_line_and_the_chain_grows() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("state/audit");
    for round in 0..2 {
        session(&place, ENDLESS, "s1", &["a\n{}", "b"]);
        let lines = lines(&place);
        assert_eq!(lines.len(), 3 * (round + 1));
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(line["seq"], number + 1);
            let before = number.checked_sub(1).map_or(&Value::Null, |before| &lines[before]["hash"]);
            assert_eq!(&line["prev"], before);
        }
    }
    let mut lines = lines(&place);
    for name in ["prev", "hash"] {
        lines[0].as_object_mut().unwrap().remove(name).unwrap();
    }
    lines[0].as_object_mut().unwrap().remove("time").unwrap().as_str().unwrap().parse::<Timestamp>().unwrap();
    let expected = serde_json::json!({
        "seq": 1, "session": "s1", "origin": "plugin a:b", "plugin": "a:b", "digest": Digest::of(b"code"),
        "call": "c1", "class": "write", "key": "a\n{}", "decision": "allow", "by": "policy", "bytes": 3, "ms": 7,
    });
    assert_eq!(lines[0], expected);
    assert_eq!((&lines[2]["session"], &lines[2]["decisions"]), (&"s1".into(), &2.into()));
    let report = verify(&place, None).unwrap();
    assert!(report.is_whole() && report.findings.is_empty() && (report.files, report.lines) == (1, 6), "{report:?}");
    assert_eq!(report.head.unwrap().0, 6);
    let heads = std::fs::read_to_string(place.join(HEADS)).unwrap();
    assert_eq!(heads.lines().count(), 2);
    assert!(heads.contains(&report.head.unwrap().1.to_string()), "{heads}");
}

#[test]
fn a53_what_is_kept_out_of_texts_is_kept_out_of_the_audit() {
    let folder = tempfile::tempdir().unwrap();
    let redaction = Redaction::default();
    redaction.learn(&Secret::new("sk-secret-1"));
    redaction.learn(&Secret::new("correct horse"));
    let log = AuditLog::new(folder.path().to_owned(), ENDLESS, redaction);
    let line = CommandLine {
        program: "curl".to_owned(),
        arguments: ["X-Key:sk-secret-1", "correct horse"].map(str::to_owned).into(),
    };
    sink(&log, "s").record(AuditEntry {
        origin: &Origin::Prompt,
        effect: &Effect::Run(line),
        allowed: false,
        by: "person",
        times: 2,
        bytes: None,
        took: Duration::ZERO,
    });
    drop(log);
    let line = &lines(folder.path())[0];
    assert_eq!(
        (&line["key"], &line["times"], &line["bytes"]),
        (&r#"curl "X-Key:****" "****""#.into(), &2.into(), &Value::Null)
    );
    assert_eq!((&line["plugin"], &line["digest"]), (&Value::Null, &Value::Null));
}

#[test]
fn nothing_is_opened_before_the_first_decision() {
    let folder = tempfile::tempdir().unwrap();
    session(&folder.path().join("audit"), ENDLESS, "s1", &[]);
    assert!(!folder.path().join("audit").exists());
    assert!(verify(&folder.path().join("audit"), None).unwrap().is_whole());
    assert!(!folder.path().join("audit").exists(), "whoever looks makes nothing");
}

#[test]
fn a53_what_was_done_to_it_is_found_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    session(place, ENDLESS, "s1", &["a", "b", "c", "d"]);
    let whole = text(place);
    let all: Vec<&str> = whole.lines().collect();
    let write = |lines: &[&str]| std::fs::write(place.join(FILE), lines.join("\n") + "\n").unwrap();
    let edited = all[1].replace("\"allow\"", "\"deny\"");
    let cut = &all[2][..40];
    let missing = "decisions.jsonl: its end is missing: session `s1` ended";
    for (what, lines, expected) in [
        ("nothing", all.clone(), vec![]),
        (
            "an edit",
            vec![all[0], &edited, all[2], all[3], all[4]],
            vec!["decisions.jsonl:2: it was changed: it does not fit its hash".to_owned()],
        ),
        (
            "a deletion",
            vec![all[0], all[3], all[4]],
            vec!["decisions.jsonl:2: 2 lines before it are missing".to_owned()],
        ),
        (
            "one from the beginning",
            all[1..].to_vec(),
            vec!["decisions.jsonl:1: the lines before it are missing, and no later one says that they were removed".to_owned()],
        ),
        (
            "an exchange",
            vec![all[0], all[2], all[1], all[3], all[4]],
            vec![
                "decisions.jsonl:2: 1 line before it is missing".to_owned(),
                "decisions.jsonl:3: it is out of its order: it is number 2 of the chain, behind number 3".to_owned(),
                "decisions.jsonl:4: 1 line before it is missing".to_owned(),
            ],
        ),
        (
            "a copy",
            vec![all[0], all[1], all[1], all[2], all[3], all[4]],
            vec!["decisions.jsonl:3: it is out of its order: it is number 2 of the chain, behind number 2".to_owned()],
        ),
        (
            "a line that was cut off",
            vec![all[0], all[1], cut, all[3], all[4]],
            vec![
                "decisions.jsonl:3: it is cut off: its process, its machine or its disk ended there, or somebody has changed it (odd)".to_owned(),
                "decisions.jsonl:4: 1 line before it is missing".to_owned(),
            ],
        ),
        (
            "a line of one's own",
            vec![all[0], "{\"decision\":\"allow\"}", all[1], all[2], all[3], all[4]],
            vec!["decisions.jsonl:2: it is no line of the chain: somebody has added it".to_owned()],
        ),
        ("the end", all[..3].to_vec(), vec![format!("{missing} 2 lines later")]),
        ("all of it", vec![], vec![format!("{missing} 5 lines later")]),
    ] {
        write(&lines);
        assert_eq!(found(place), expected, "{what}");
    }
    // The hashes made anew from a line on: only what was kept elsewhere tells.
    std::fs::write(place.join(FILE), "").unwrap();
    std::fs::rename(place.join(HEADS), place.join("elsewhere")).unwrap();
    session(place, ENDLESS, "s1", &["a", "x", "c", "d"]);
    assert!(found(place).is_empty(), "nothing in the folder tells");
    std::fs::rename(place.join("elsewhere"), place.join(HEADS)).unwrap();
    assert_eq!(found(place), ["decisions.jsonl:5: it is not the line that was here when session `s1` ended"]);
    let head: Digest = serde_json::from_str::<Value>(all[4]).unwrap()["hash"].as_str().unwrap().parse().unwrap();
    let report = verify(place, Some(head)).unwrap();
    assert_eq!((report.has_head, report.is_whole()), (Some(false), false));
    std::fs::write(place.join(FILE), &whole).unwrap();
    assert_eq!(verify(place, Some(head)).unwrap().has_head, Some(true));
}

/// A process may end, and a disk be full, anywhere in a line: the chain goes on behind it.
#[test]
fn a_torn_line_spoils_no_other() {
    let whole = {
        let folder = tempfile::tempdir().unwrap();
        session(folder.path(), ENDLESS, "s1", &["a", "b"]);
        text(folder.path())
    };
    let second = whole.lines().nth(1).unwrap();
    for length in 1..second.len() {
        let folder = tempfile::tempdir().unwrap();
        let first = whole.lines().next().unwrap();
        std::fs::write(folder.path().join(FILE), format!("{first}\n{}", &second[..length])).unwrap();
        session(folder.path(), ENDLESS, "s2", &["c"]);
        let report = verify(folder.path(), None).unwrap();
        assert!(report.is_whole() && report.lines == 3, "{length}: {report:?}");
        assert_eq!((report.findings.len(), report.findings[0].line), (1, Some(2)), "{length}: {report:?}");
    }
    // The line itself was written, and its end was not.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), whole.trim_end()).unwrap();
    session(folder.path(), ENDLESS, "s2", &["c"]);
    assert!(verify(folder.path(), None).unwrap().is_whole());
}

#[test]
fn what_is_no_chain_yet_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), "{\"decision\":\"allow\"}\n{\"decision\":\"deny\"}\n").unwrap();
    session(folder.path(), ENDLESS, "s1", &["a"]);
    assert_eq!(found(folder.path()), ["decisions.jsonl: its first 2 lines are not chained (odd)"]);
}

/// Processes, and the sessions of one, write one after another.
#[test]
fn a53_those_who_write_at_once_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = Bounds { file: 20_000.try_into().unwrap(), files: 0 };
    let place = folder.path();
    std::thread::scope(|scope| {
        for name in ["s1", "s2", "s3", "s4"] {
            scope.spawn(move || {
                for _ in 0..50 {
                    session(place, bounds, name, &["a", "b"]);
                }
            });
        }
    });
    let report = verify(folder.path(), None).unwrap();
    assert!(report.findings.is_empty() && report.lines == 4 * 50 * 3 && report.files > 5, "{report:?}");
}

#[test]
fn a_full_file_is_put_aside_and_the_chain_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = Bounds { file: 1000.try_into().unwrap(), files: 2 };
    for _ in 0..20 {
        session(folder.path(), bounds, "s1", &["a", "b"]);
    }
    let report = verify(folder.path(), None).unwrap();
    assert!(report.findings.is_empty() && report.files == 3, "{report:?}");
    let (first, last) = (lines(folder.path())[0]["seq"].as_u64().unwrap(), report.head.unwrap().0);
    assert!(first > 1 && last > 60, "{first} {last}: what was removed is a line as well");
    let full: Vec<_> = files::full_files(folder.path()).unwrap();
    assert_eq!(full.len(), 2);
    let heads = std::fs::read_to_string(folder.path().join(HEADS)).unwrap();
    assert!(heads.lines().count() < 15, "those of removed lines are forgotten: {heads}");

    // Nobody else may remove one.
    let name = full[0].1.file_name().unwrap().to_string_lossy().into_owned();
    let middle = full[1].1.file_name().unwrap().to_string_lossy().into_owned();
    let bytes = std::fs::read(&full[0].1).unwrap();
    std::fs::remove_file(&full[0].1).unwrap();
    let found_now = found(folder.path());
    assert_eq!(
        found_now,
        [format!("{middle}:1: the lines before it are missing, and no later one says that they were removed")],
        "{name}"
    );
    std::fs::write(&full[0].1, bytes).unwrap();
    std::fs::remove_file(&full[1].1).unwrap();
    assert!(found(folder.path())[0].starts_with("decisions.jsonl:1: ") && found(folder.path()).len() == 1);
}

#[test]
fn a_folder_that_cannot_be_made_fails_no_decision() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let log = log(&file.join("audit"), ENDLESS);
    let sink = sink(&log, "s1");
    for _ in 0..QUEUE * 2 {
        decide(&*sink, "a", true);
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let (records, queue) = sync_channel(2);
    let lost = Arc::new(AtomicU64::new(0));
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog(Arc::new(Inner {
        folder: PathBuf::new(),
        bounds: ENDLESS,
        redaction: Redaction::default(),
        writer: OnceLock::from(Some(Writer { records: Some(records), thread: None })),
        lost: lost.clone(),
    }));
    let sink = sink(&log, "s1");
    for _ in 0..5 {
        decide(&*sink, "a", true);
    }
    drop((log, sink));
    write_all(Book::new(folder.path().to_owned(), ENDLESS), &queue, &lost);
    let lines = lines(folder.path());
    assert_eq!((lines.len(), lines[2]["lost"].as_u64()), (3, Some(4)), "three decisions, and the end of the session");
    assert!(found(folder.path()).is_empty());
}

fn lost_line() -> Record {
    Record::Lost { time: String::new(), lost: 100 }
}

/// A line that cannot be written is lost and counted, and the next one is kept when it can be.
#[test]
fn a_failure_loses_no_later_line() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("audit");
    std::fs::create_dir_all(place.join(FILE)).unwrap();
    let mut book = Book::new(place.clone(), ENDLESS);
    let lost = AtomicU64::new(1);
    book.write([lost_line(), lost_line()].into_iter(), &lost);
    assert_eq!(lost.load(Ordering::Relaxed), 3, "a folder is no file");
    std::fs::remove_dir(place.join(FILE)).unwrap();
    book.write([lost_line()].into_iter(), &lost);
    let lines = lines(&place);
    assert_eq!((lines.len(), &lines[0]["lost"], &lines[1]["lost"]), (2, &100.into(), &3.into()));
}

/// What is still lost at the end is told when the file can be written by then.
#[test]
fn the_last_losses_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (records, queue) = sync_channel::<Record>(1);
    drop(records);
    write_all(Book::new(folder.path().to_owned(), ENDLESS), &queue, &AtomicU64::new(2));
    assert_eq!(lines(folder.path())[0]["lost"], 2);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_audit_file() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join(FILE);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // Its thread ends: nobody reads the pipe.
    session(folder.path(), ENDLESS, "s1", &["a"]);
    let refused = verify(folder.path(), None).unwrap_err().to_string();
    assert!(refused.ends_with("it is a named pipe, not a file"), "{refused}");
}
