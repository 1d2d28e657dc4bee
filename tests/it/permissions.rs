//! Questions to the person: what may be chosen, what each choice leads to, what is remembered and taken back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Permission, Runtime};
use serde_json::json;

/// Writes `a.txt` in every turn.
const WRITES: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ call = { tool = "write_file", arguments = { path = "a.txt", content = "x" } } }]
[[reply]]
steps = [{ text = "." }]
"#;

/// A person who gives these answers, one after another, and the last one for ever.
fn answering(answers: &'static [Answer]) -> EditorOptions {
    let asked = AtomicUsize::new(0);
    EditorOptions::default().answering(move |_| answers[asked.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)])
}

async fn opened(runtime: &Runtime, options: EditorOptions) -> (EditorDouble, String) {
    let editor = runtime.editor_with(options).await;
    let session = editor.new_session().await;
    (editor, session)
}

fn kinds(permission: &Permission) -> Vec<&str> {
    permission.options.iter().filter_map(|option| option["kind"].as_str()).collect()
}

/// The status of the turn's only call, and how often the person was asked until now.
async fn write(editor: &EditorDouble, session: &str) -> (String, usize) {
    let call = editor.prompt(session, "Write").await.call();
    (call.status().to_owned(), editor.permissions().len())
}

fn status(status: &str, asked: usize) -> (String, usize) {
    (status.to_owned(), asked)
}

#[tokio::test]
async fn there_is_one_option_of_each_kind_and_each_does_what_it_says() {
    for (answer, first, then) in [
        (Answer::Pick("allow_once"), "completed", status("completed", 2)),
        (Answer::Pick("allow_always"), "completed", status("completed", 1)),
        (Answer::Pick("reject_once"), "failed", status("failed", 2)),
        (Answer::Pick("reject_always"), "failed", status("failed", 1)),
        (Answer::Cancel, "failed", status("failed", 2)),
        (Answer::Id("allow"), "failed", status("failed", 2)),
        (Answer::Fail, "failed", status("failed", 2)),
    ] {
        let options = EditorOptions::default().answering(move |_| answer);
        let (editor, session) = opened(&Runtime::scripted(WRITES), options).await;
        assert_eq!(write(&editor, &session).await, status(first, 1), "{answer:?}");
        assert_eq!(write(&editor, &session).await, then, "{answer:?}, again");
        let asked = &editor.permissions()[0];
        assert_eq!(kinds(asked), ["allow_once", "allow_always", "reject_once", "reject_always"]);
        editor.close().await;
    }
}

#[tokio::test]
async fn an_answer_for_good_holds_in_its_project_until_it_is_taken_back() {
    let runtime = Runtime::scripted(WRITES);
    let (editor, session) = opened(&runtime, answering(&[Answer::Pick("allow_always"), Answer::Cancel])).await;
    assert!(editor.prompt(&session, "/permissions").await.text().starts_with("No answer holds in this project"));
    assert_eq!(write(&editor, &session).await, status("completed", 1));
    let listed = editor.prompt(&session, "/permissions").await.text();
    assert!(listed.contains("\n1. tool write_file: write `a.txt` allowed (since 20"), "{listed}");
    editor.close().await;

    // In another process and session of the same project, and not in another project.
    let (editor, session) = opened(&runtime, answering(&[Answer::Cancel])).await;
    assert_eq!(write(&editor, &session).await, status("completed", 0));
    std::fs::create_dir(runtime.project().join("inner")).unwrap();
    let params = json!({ "cwd": runtime.project().join("inner"), "mcpServers": [] });
    let elsewhere = editor.call("session/new", params).await["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(write(&editor, &elsewhere).await, status("failed", 1));

    // Taken back in one session, it is taken back in all.
    let other = editor.new_session().await;
    let revoked = editor.prompt(&other, "/permissions revoke 1").await.text();
    assert!(revoked.starts_with("Taken back: tool write_file: write `a.txt` allowed."), "{revoked}");
    assert_eq!(write(&editor, &session).await, status("failed", 2));
    editor.close().await;
}

#[tokio::test]
async fn a_wider_answer_is_typed() {
    let (editor, session) = opened(&Runtime::scripted(WRITES), answering(&[Answer::Cancel])).await;
    let said = editor.prompt(&session, "/permissions allow write_file write:*.txt").await.text();
    assert!(said.contains("1. tool write_file: write:*.txt allowed"), "{said}");
    assert_eq!(write(&editor, &session).await, status("completed", 0));
    let said = editor.prompt(&session, "/permissions deny write_file write:a.*").await.text();
    assert!(said.contains("2. tool write_file: write:a.* denied"), "{said}");
    assert_eq!(write(&editor, &session).await, status("failed", 0));
    let said = editor.prompt(&session, "/permissions allow aar:notes write:**").await.text();
    assert!(said.contains("3. plugin aar:notes: write:** allowed"), "{said}");
    assert!(editor.prompt(&session, "/permissions revoke all").await.text().contains("Taken back: 3 answers."));
    for (typed, error) in [
        ("/permissions revoke 1", "there is no answer `1`"),
        ("/permissions revoke", "\nhint: type `/permissions`"),
        ("/permissions allow write_file", "\nhint: type `/permissions`"),
        (
            "/permissions allow write_fil write",
            "there is no tool and no plugin `write_fil`\nhint: did you mean `write_file`",
        ),
        ("/permissions allow write_file wirte", "`wirte` is not a class of effects"),
        ("/permissions forbid write_file write", "\nhint: type `/permissions`"),
    ] {
        let said = editor.prompt(&session, typed).await.text();
        assert!(said.starts_with("error: ") && said.contains(error), "{typed}: {said}");
    }
    editor.close().await;
}

/// Whatever allows it: the mode, a grant, or nothing at all.
#[tokio::test]
async fn a_no_always_wins() {
    let runtime = Runtime::new().file("src/a.rs", "fn needle() {}\n").file("docs/b.rs", "fn needle() {}\n");
    let (editor, session) = opened(&runtime, answering(&[Answer::Pick("allow_once")])).await;
    let said = |typed: &'static str| {
        let (editor, session) = (&editor, session.clone());
        async move { editor.prompt(&session, typed).await.text() }
    };
    let read = "/call read_file {\"path\": \"src/a.rs\"}";
    let grep = "/call grep {\"pattern\": \"needle\"}";
    let elsewhere = "/call grep {\"pattern\": \"needle\", \"path\": \"docs\"}";
    let stats = "/call code-stats {}";
    for typed in [read, grep, elsewhere] {
        assert!(!said(typed).await.contains("error: "), "{typed}");
    }
    let files = |count: u8| format!("| **Total** | {count} |");
    assert!(said(stats).await.contains(&files(2)));
    for denied in ["read_file read:src/**", "grep read:src/**", "aar:code-stats read:src/**"] {
        let typed: &'static str = format!("/permissions deny {denied}").leak();
        assert!(said(typed).await.starts_with("Remembered. It holds in every mode."), "{denied}");
    }
    // The answer is named, and how to take it back.
    let refused = |tool: &str| {
        let back = format!("take the answer back with `/permissions revoke {tool} read:src/**`");
        format!("the user has refused `read:src/**` for good\nhint: {back}")
    };
    for mode in ["review", "auto", "plan"] {
        editor.set_mode(&session, mode).await;
        assert_eq!(said(read).await, format!("error: read `src/a.rs`: {}", refused("read_file")), "{mode}");
        // A folder in which it lies is refused with it, and another is not.
        assert_eq!(said(grep).await, format!("error: read `**`: {}", refused("grep")), "{mode}");
        assert!(said(elsewhere).await.contains("needle"), "{mode}");
        // A plugin does not see it.
        assert!(said(stats).await.contains(&files(1)), "{mode}");
    }
    assert!(
        said("/permissions").await.contains("A yes about a plugin holds as long as the plugin has the same publisher")
    );
    let unknown = said("/permissions revoke grep read:src").await;
    assert_eq!(unknown, "error: there is no answer `grep read:src`\nhint: type `/permissions` for their numbers");
    let back = said("/permissions revoke read_file read:src/**").await;
    assert!(back.starts_with("Taken back: tool read_file: read:src/** denied. It is asked for again."), "{back}");
    assert!(!said(read).await.contains("error: "));
    said("/permissions revoke all").await;
    for typed in [read, grep] {
        assert!(!said(typed).await.contains("error: "), "{typed}");
    }
    assert!(said(stats).await.contains(&files(2)));
    assert!(editor.permissions().is_empty(), "nothing of that was asked");
    editor.close().await;
}

/// Under its new name a file is what it was, and what no tool may write is not moved into place.
#[tokio::test]
async fn a_move_leaves_no_rule_behind() {
    let rules = "mode = \"auto\"\n[permission]\n\
                 deny = [\"read:secret.txt\", \"write:fixed/**\", \"delete:kept.txt\"]\n";
    let runtime = Runtime::new()
        .config(rules)
        .file("secret.txt", "secret")
        .file("folder/inner/secret.txt", "free")
        .file("fixed/a", "fixed")
        .file("kept.txt", "kept")
        .file("waiting/config", "fsmonitor")
        .file("sub/a", "a");
    let (editor, session) = opened(&runtime, EditorOptions::default()).await;
    editor.prompt(&session, "/permissions deny move_path write:sub/**").await;
    for (from, to, moved) in [
        ("secret.txt", "x.txt", false),
        ("fixed", "loose", false),
        ("fixed/a", "a", false),
        ("sub/a", "a", false),
        ("kept.txt", "k.txt", false),
        ("waiting", "repo/.git", false),
        ("waiting/config", "repo/.git/config", false),
        ("folder", "secret.txt", false),
        ("folder", "other", true),
        ("waiting", "waited", true),
    ] {
        let typed = format!("/call move_path {}", json!({ "from": from, "to": to }));
        let said = editor.prompt(&session, &typed).await.text();
        assert_eq!(!said.starts_with("error: "), moved, "{from} -> {to}: {said}");
    }
    editor.close().await;
    assert_eq!((runtime.read("secret.txt").as_str(), runtime.read("fixed/a").as_str()), ("secret", "fixed"));
}

#[tokio::test]
async fn the_mode_goes_before_an_answer() {
    let (editor, session) = opened(&Runtime::scripted(WRITES), answering(&[Answer::Pick("allow_always")])).await;
    assert_eq!(write(&editor, &session).await, status("completed", 1));
    editor.set_mode(&session, "read-only").await;
    assert_eq!(write(&editor, &session).await, status("failed", 1));
    editor.close().await;
}

#[tokio::test]
async fn a_plugin_from_a_path_is_asked_about_each_time() {
    let bundled = acp_runtime_tests::runtime::build_folder().join("plugins/code-stats.wasm");
    let config = format!("[plugins]\nbundled = false\npaths = ['{}']\n", bundled.display());
    let runtime = Runtime::new().config(&config).file("src/lib.rs", "pub fn f() {}\n");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let options = EditorOptions::default().answering(move |permission| {
        kept.lock().unwrap().push(kinds(permission).join(" "));
        Answer::Pick("allow_once")
    });
    let (editor, session) = opened(&runtime, options).await;
    for times in 1..3 {
        let text = editor.prompt(&session, "/call code-stats {}").await.text();
        assert!(text.contains("Rust"), "{text}");
        assert_eq!(*seen.lock().unwrap(), vec!["allow_once reject_once reject_always"; times]);
    }
    // Nor is it allowed for good by typing that; a no is kept.
    let refused = editor.prompt(&session, "/permissions allow aar:code-stats read").await.text();
    assert_eq!(
        refused,
        "error: `aar:code-stats` is named by a path in the configuration, and what changes under its name is never \
         allowed for good\nhint: install it with `acp-runtime plugin install`, or allow it here and now: `/permissions \
         allow --scope session aar:code-stats read`"
    );
    let kept = editor.prompt(&session, "/permissions deny aar:code-stats read").await.text();
    assert!(kept.contains("1. plugin aar:code-stats: read denied"), "{kept}");
    assert!(editor.prompt(&session, "/call code-stats {}").await.text().starts_with("error: "));
    assert_eq!(seen.lock().unwrap().len(), 2, "it is not asked any more");
    editor.close().await;
}

#[tokio::test]
async fn a_question_without_an_answer_is_a_no_in_time() {
    let runtime = Runtime::scripted(WRITES).config("[permission]\ntimeout = 0.2\n");
    let (editor, session) = opened(&runtime, answering(&[Answer::Hold])).await;
    assert_eq!(write(&editor, &session).await, status("failed", 1));
    editor.close().await;
}

/// What a refusal says is pasted as it is, behind `acp-runtime run`, and is enough.
#[test]
#[expect(clippy::disallowed_methods, reason = "pastes into a shell")]
fn a_refusal_says_what_to_allow() {
    let runtime = Runtime::new().file("old name.txt", "a").file("[1]{a,b}.txt", "a");
    for (tool, arguments, allowing) in [
        ("write_file", json!({ "path": "a.txt", "content": "x" }), "--allow write:a.txt"),
        ("write_file", json!({ "path": "it's here.txt", "content": "x" }), r"--allow 'write:it'\''s here.txt'"),
        ("write_file", json!({ "path": "[*]?.txt", "content": "x" }), "--allow 'write:[[][*][]][?].txt'"),
        (
            "move_path",
            json!({ "from": "[1]{a,b}.txt", "to": "c.txt" }),
            "--allow 'move:{[[]1[]][{]a[,]b[}].txt,c.txt}'",
        ),
        ("delete_path", json!({ "path": "old name.txt" }), "--allow 'delete:old name.txt'"),
        ("shell", json!({ "command": "true a && true b" }), "--allow 'run:true a' --allow 'run:true b'"),
        ("shell", json!({ "command": "echo x > y" }), "--allow 'run:sh -c **'"),
    ] {
        let prompt = format!("/call {tool} {arguments}");
        let refused = runtime.run(&["run", &prompt]);
        let hint = format!("hint: allow it beforehand with `{allowing}`, or run in an editor");
        assert!(refused.code == Some(1) && refused.stderr.contains(&hint), "{arguments}: {refused:?}");
        let mut pasted = std::process::Command::new("sh");
        runtime.furnish(&mut pasted);
        let line = format!("exec \"$0\" run {allowing} \"$1\"");
        pasted.args(["-c", &line]).arg(acp_runtime_tests::runtime::binary()).arg(&prompt);
        let done = acp_runtime_tests::runtime::finish(pasted);
        assert_eq!(done.code, Some(0), "{arguments}: {done:?}");
    }
}
