//! Answers that were given, and the questions that they answer.

use std::path::PathBuf;

use acp_runtime_agent::capability::{CommandLine, ServerName, ToolName};
use tempfile::TempDir;

use super::*;

struct Place {
    _folder: TempDir,
    file: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    Place { _folder: folder, file }
}

/// Answers in a project with that folder and a second root.
fn answers(store: &SqliteStore, project: &str, second: &str) -> Answers {
    let folder = |path: &str| (PathBuf::from(path), PathBuf::from(path));
    Answers::new(store.clone(), Roots::new([folder(project), folder(second)]))
}

fn tool(name: &str) -> Subject {
    Subject { name: format!("tool {name}"), plugin: None }
}

fn plugin(publisher: &str, capabilities: &str) -> Subject {
    let id = PluginId::new("aar:notes").unwrap();
    let identity = PluginIdentity { publisher: publisher.to_owned(), id, capabilities: capabilities.to_owned() };
    Subject { name: "plugin aar:notes".to_owned(), plugin: Some(identity) }
}

fn path(root: u16, path: &str) -> WorkspacePath {
    WorkspacePath::new(RootId(root), path).unwrap()
}

fn write(root: u16, text: &str) -> Effect {
    Effect::Write(path(root, text).scope())
}

fn run(line: &str) -> Effect {
    let mut words = line.split(' ').map(str::to_owned);
    Effect::Run(CommandLine { program: words.next().unwrap(), arguments: words.collect() })
}

/// Whether that was answered, and how.
async fn verdict(answers: &Answers, subject: &Subject, effect: &Effect) -> Option<bool> {
    answers.remembered(subject, effect).await.map(|answer| answer.allowed)
}

fn lines(answers: &[Answer]) -> Vec<String> {
    answers.iter().map(|answer| format!("{} {} {}", answer.subject, answer.effects, answer.allowed)).collect()
}

#[tokio::test]
async fn answers_hold_for_their_project_subject_and_exact_effect() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    let call = |read_only| Effect::CallServer {
        server: ServerName::new("db").unwrap(),
        tool: ToolName::new("query").unwrap(),
        read_only,
    };
    let (writer, query) = (tool("write_file"), tool("mcp__db__query"));
    let first = answers(&store, "/project", "/lib-a");
    assert_eq!(verdict(&first, &writer, &write(0, "a")).await, None);
    first.remember(&writer, &write(0, "a"), false).await;
    first.remember(&writer, &write(0, "a"), true).await;
    first.remember(&writer, &write(1, "b"), true).await;
    first.remember(&writer, &Effect::Move { from: path(0, "x"), to: path(1, "y") }, false).await;
    first.remember(&query, &call(true), true).await;
    assert_eq!(verdict(&first, &writer, &write(0, "a")).await, Some(true), "at once, and the last one holds");
    drop((first, store));

    let store = SqliteStore::new(&place.file);
    let later = answers(&store, "/project", "/lib-b");
    for (subject, effect, answer) in [
        (&writer, write(0, "a"), Some(true)),
        (&tool("edit_file"), write(0, "a"), None),
        (&writer, write(0, "a/b"), None),
        (&writer, Effect::Delete(path(0, "a").scope()), None),
        (&writer, write(1, "b"), None),
        (&writer, Effect::Move { from: path(0, "x"), to: path(1, "y") }, None),
        (&query, call(true), Some(true)),
        (&query, call(false), None),
    ] {
        assert_eq!(verdict(&later, subject, &effect).await, answer, "{} {effect}", subject.name);
    }
    let same = answers(&store, "/project", "/lib-a");
    assert_eq!(verdict(&same, &writer, &write(1, "b")).await, Some(true));
    assert_eq!(verdict(&answers(&store, "/other", "/lib-a"), &writer, &write(0, "a")).await, None);
}

#[tokio::test]
async fn an_answer_about_a_plugin_holds_while_it_is_the_same() {
    let place = place();
    let answers = answers(&SqliteStore::new(&place.file), "/project", "/lib");
    let asked = plugin("bundled aar", "rights-1");
    answers.remember(&asked, &write(0, "a"), true).await;
    assert_eq!(verdict(&answers, &asked, &write(0, "a")).await, Some(true));
    for other in [
        plugin("installed aar", "rights-1"),
        plugin("bundled aar", "rights-2"),
        Subject { plugin: None, ..asked.clone() },
    ] {
        assert_eq!(verdict(&answers, &other, &write(0, "a")).await, None, "{other:?}");
    }
    answers.remember(&plugin("bundled aar", "rights-2"), &write(0, "a"), false).await;
    assert_eq!(answers.list().await.unwrap().len(), 1, "the new version took its place");
    for other in [asked.clone(), plugin("installed aar", "rights-3")] {
        assert_eq!(verdict(&answers, &other, &write(0, "a")).await, Some(false), "a no is for whatever has the id");
    }
}

#[tokio::test]
async fn a_pattern_answers_for_all_that_it_covers() {
    let place = place();
    let answers = answers(&SqliteStore::new(&place.file), "/project", "/lib");
    let pattern = |text: &str| EffectPattern::parse(text).unwrap();
    let (writer, shell) = (tool("write_file"), tool("shell"));
    answers.decide(&writer, &pattern("write:notes/**"), true, false).await.unwrap();
    answers.decide(&writer, &pattern("write:notes/private/**"), false, false).await.unwrap();
    answers.decide(&shell, &pattern("run:cargo test **"), true, false).await.unwrap();
    answers.remember(&writer, &write(0, "notes/old"), false).await;
    let (grep, guest) = (tool("grep"), plugin("bundled aar", "rights-1"));
    for subject in [&grep, &guest] {
        answers.decide(subject, &pattern("read:src/**"), false, false).await.unwrap();
    }
    let all = Effect::Read(path(0, "").subtree());
    assert_eq!(verdict(&answers, &grep, &all).await, Some(false), "nobody judges what lies in it");
    assert_eq!(verdict(&answers, &guest, &all).await, None, "what lies in it is judged for itself");
    let refused = answers.refused(&guest).await;
    assert_eq!(refused(&Effect::Read(path(0, "src/a").scope())).as_deref(), Some("read:src/**"));
    assert_eq!(refused(&Effect::Read(path(0, "docs/a").scope())), None);
    let answered = |about: &str, allowed| Some(Remembered { allowed, about: about.to_owned(), scope: Scope::Project });
    assert_eq!(answers.remembered(&grep, &all).await, answered("read:src/**", false), "the rule and not the folder");
    assert_eq!(answers.remembered(&writer, &write(0, "notes/old")).await, answered("write:notes/old", false));
    assert_eq!(answers.remembered(&writer, &write(0, "notes/a")).await, answered("write:notes/**", true));
    for (subject, effect, answer) in [
        (&writer, write(0, "notes/a"), Some(true)),
        (&writer, write(0, "notes/private/a"), Some(false)),
        (&writer, write(0, "notes/old"), Some(false)),
        (&writer, write(0, "src/a"), None),
        (&writer, write(1, "notes/a"), None),
        (&writer, Effect::Delete(path(0, "notes/a").scope()), None),
        (&shell, write(0, "notes/a"), None),
        (&shell, run("cargo test store"), Some(true)),
        (&shell, run("cargo test --config=x"), None),
        (&shell, run("cargo publish"), None),
    ] {
        assert_eq!(verdict(&answers, subject, &effect).await, answer, "{} {effect}", subject.name);
    }
}

#[tokio::test]
async fn what_is_taken_back_is_taken_back_everywhere() {
    let place = place();
    let (here, other_process) = (SqliteStore::new(&place.file), SqliteStore::new(&place.file));
    let (one, other) = (answers(&here, "/project", "/lib"), answers(&other_process, "/project", "/lib"));
    let writer = tool("write_file");
    one.remember(&writer, &write(0, "a"), true).await;
    one.remember(&writer, &write(0, "b"), false).await;
    one.decide(&writer, &EffectPattern::parse("write:c/**").unwrap(), true, false).await.unwrap();
    answers(&here, "/elsewhere", "/lib").remember(&writer, &write(0, "a"), true).await;
    let listed = other.list().await.unwrap();
    assert_eq!(
        lines(&listed),
        ["tool write_file write `a` true", "tool write_file write `b` false", "tool write_file write:c/** true"]
    );
    assert_eq!(verdict(&other, &writer, &write(0, "a")).await, Some(true));
    other.revoke(listed[..1].to_vec()).await.unwrap();
    assert_eq!(verdict(&one, &writer, &write(0, "a")).await, None, "in the other process, at once");
    one.revoke(one.list().await.unwrap()).await.unwrap();
    assert_eq!(other.list().await.unwrap(), []);
    assert_eq!(answers(&here, "/elsewhere", "/lib").list().await.unwrap().len(), 1);
}

/// A44: what was said in one project says nothing of another one, unless it was said of all.
#[tokio::test]
async fn a44_an_answer_holds_in_its_project_and_one_of_the_user_s_in_all() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    let (here, there) = (answers(&store, "/project", "/lib"), answers(&store, "/other", "/lib"));
    let guest = plugin("installed aar", "rights-1");
    let pattern = |text: &str| EffectPattern::parse(text).unwrap();
    here.remember(&guest, &write(0, "a"), true).await;
    here.decide(&guest, &pattern("write:notes/**"), true, false).await.unwrap();
    here.decide(&guest, &pattern("read:docs/**"), true, true).await.unwrap();
    there.decide(&guest, &pattern("read:docs/private/**"), false, true).await.unwrap();
    let read = |text: &str| Effect::Read(path(0, text).scope());
    for (effect, in_project, elsewhere) in [
        (write(0, "a"), Some(true), None),
        (write(0, "notes/a"), Some(true), None),
        (read("docs/a"), Some(true), Some(true)),
        (read("docs/private/a"), Some(false), Some(false)),
    ] {
        assert_eq!(verdict(&here, &guest, &effect).await, in_project, "{effect}");
        assert_eq!(verdict(&there, &guest, &effect).await, elsewhere, "{effect}");
    }
    let wider = plugin("installed aar", "rights-2");
    assert_eq!(verdict(&here, &wider, &read("docs/a")).await, None, "the yes was not for these rights");
    assert_eq!(verdict(&here, &wider, &read("docs/private/a")).await, Some(false));
    let scope = here.remembered(&guest, &read("docs/a")).await.map(|answer| answer.scope);
    assert_eq!(scope, Some(Scope::User));
    assert_eq!((here.list().await.unwrap().len(), there.list().await.unwrap().len()), (4, 2));
    let about = store.answers_about(&PluginId::new("aar:notes").unwrap()).await.unwrap();
    assert_eq!(about.len(), 4);
    assert!(about.iter().all(|answer| answer.counts_for(guest.plugin.as_ref().unwrap())));
    store.forget_answers(about).await.unwrap();
    assert_eq!(verdict(&there, &guest, &read("docs/private/a")).await, None);
}

#[tokio::test]
async fn answers_that_do_not_say_which_plugin_they_are_about_are_asked_for_again() {
    let place = place();
    let known = answers(&SqliteStore::new(&place.file), "/project", "/lib");
    known.remember(&tool("write_file"), &write(0, "a"), true).await;
    known.remember(&Subject { plugin: None, ..plugin("", "") }, &write(0, "a"), true).await;
    assert_eq!(known.list().await.unwrap().len(), 2);
    drop(known);
    let db = Connection::open(&place.file).unwrap();
    db.execute_batch("DROP TABLE trust; PRAGMA user_version = 3").unwrap();
    drop(db);
    let later = answers(&SqliteStore::new(&place.file), "/project", "/lib");
    assert_eq!(lines(&later.list().await.unwrap()), ["tool write_file write `a` true"]);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_asked_each_time() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let answers = answers(&SqliteStore::new(folder.path().join("file/sessions.db")), "/project", "/lib");
    answers.remember(&tool("write_file"), &write(0, "a"), true).await;
    assert_eq!(verdict(&answers, &tool("write_file"), &write(0, "a")).await, None);
    assert_eq!(answers.list().await, Ok(Vec::new()), "where nothing can be, nothing was remembered");
}
