//! What guests can reach of the disk: their folders, and nothing through `..`, absolute paths, links or another name.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::sync::Arc;

use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::tool::Tool;
#[cfg(target_os = "linux")]
use rustix::fs::{CWD, FileType, mknodat};
use serde_json::json;

use crate::support::{Runtime, told};

const READ: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]";
const NOTES: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]\n\
                     fs.write = [{ glob = \"notes/**\", reason = \"keeps notes\", preopen = true }]";

/// The errors of `wasi:filesystem` that are expected, by their number.
const NO_ENTRY: &str = "20";
const NOT_PERMITTED: &str = "31";
const READ_ONLY: &str = "33";

/// A project with a secret beside it.
fn project() -> Runtime {
    let runtime = Runtime::new();
    let root = runtime.project.path();
    std::fs::write(root.join("inside.txt"), "inside").unwrap();
    std::fs::create_dir_all(root.join("docs")).unwrap();
    std::fs::write(root.join("docs/a.txt"), "documented").unwrap();
    runtime
}

/// Does `acts` (a letter and a path each) and lists what came of them.
async fn does(runtime: &Runtime, tool: &dyn Tool, acts: &[&str]) -> Vec<String> {
    let mut answers = Vec::new();
    for act in acts {
        let answer = runtime.call(tool, json!({ "p": act })).await.unwrap();
        answers.push(answer.for_model());
    }
    answers
}

fn tool(runtime: &Runtime, toml: &str) -> Arc<dyn Tool> {
    let session = runtime.open(&[runtime.plugin("files", toml)]);
    session.tools[0].clone()
}

#[tokio::test]
async fn a10_a_reader_reads_its_project_and_nothing_else() {
    let runtime = project();
    let secrets = tempfile::TempDir::new().unwrap();
    let secret = secrets.path().join("secret.txt");
    std::fs::write(&secret, "secret").unwrap();
    let root = runtime.project.path();
    symlink(&secret, root.join("out.txt")).unwrap();
    symlink(secrets.path(), root.join("out")).unwrap();
    symlink("inside.txt", root.join("in.txt")).unwrap();
    symlink("/proc/self/environ", root.join("environ")).unwrap();
    let tool = tool(&runtime, READ);
    let good = ["rinside.txt", "r./docs/../inside.txt", "rdocs/a.txt", "rin.txt"];
    assert_eq!(does(&runtime, &*tool, &good).await, ["inside", "inside", "documented", "inside"]);
    let outside = secret.display().to_string();
    let name = root.file_name().unwrap().to_str().unwrap();
    for bad in [
        "../secret.txt".to_owned(),
        "docs/../../secret.txt".to_owned(),
        format!("../{name}/inside.txt"),
        outside.clone(),
        format!("/{outside}"),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        "/workspace/inside.txt".to_owned(),
        "out.txt".to_owned(),
        "out/secret.txt".to_owned(),
        "environ".to_owned(),
    ] {
        assert_eq!(does(&runtime, &*tool, &[&format!("r{bad}")]).await, [NOT_PERMITTED], "{bad}");
    }
    // Nothing is written through a folder that is only readable, and no link is made.
    let writes = ["wnew.txt", "winside.txt", "dfolder", "s/etc/passwd", "sinside.txt", "hlinked.txt"];
    for answer in does(&runtime, &*tool, &writes).await {
        assert!([NOT_PERMITTED, READ_ONLY].contains(&answer.as_str()), "{answer}");
    }
    assert_eq!(std::fs::read_to_string(root.join("inside.txt")).unwrap(), "inside");
    assert!(!root.join("new.txt").exists() && !root.join("folder").exists() && !root.join("linked.txt").exists());
}

#[tokio::test]
async fn without_a_right_there_is_no_folder() {
    let runtime = project();
    assert_eq!(does(&runtime, &*tool(&runtime, ""), &["rinside.txt"]).await, ["no folder"]);
}

#[tokio::test]
async fn a_narrow_right_is_a_narrow_folder() {
    let runtime = project();
    let narrow = tool(&runtime, "[capabilities]\nfs.read = [{ glob = \"docs/**\", reason = \"reads\" }]");
    assert_eq!(
        does(&runtime, &*narrow, &["ra.txt", "r../inside.txt", "rinside.txt"]).await,
        ["documented", NOT_PERMITTED, NO_ENTRY]
    );
    let absent = tool(&runtime, "[capabilities]\nfs.read = [{ glob = \"absent/**\", reason = \"reads\" }]");
    assert_eq!(does(&runtime, &*absent, &["rinside.txt"]).await, ["no folder"]);
}

#[tokio::test]
async fn a11_a_writer_writes_in_its_folder_and_makes_no_links() {
    let runtime = project();
    let tool = tool(&runtime, NOTES);
    let acts = ["wnew.txt", "dfolder", "w../inside.txt", "sinside.txt", "s/etc/passwd", "hlinked.txt"];
    assert_eq!(
        does(&runtime, &*tool, &acts).await,
        ["done", "done", NOT_PERMITTED, NOT_PERMITTED, NOT_PERMITTED, NOT_PERMITTED]
    );
    let notes = runtime.project.path().join("notes");
    assert!(notes.join("new.txt").exists() && notes.join("folder").exists());
    assert!(!notes.join("new-link").exists() && !notes.join("linked.txt").exists());
}

#[tokio::test]
async fn a_writer_that_may_not_write_still_reads() {
    let runtime = project();
    let tool = tool(&runtime, NOTES);
    runtime.mode.set(Mode::ReadOnly);
    let answers = does(&runtime, &*tool, &["rinside.txt", "wnew.txt"]).await;
    assert!(answers[0] == "inside" && [NOT_PERMITTED, READ_ONLY].contains(&answers[1].as_str()), "{answers:?}");
    assert!(!runtime.project.path().join("notes").exists());
    // In review mode the person is asked, and refuses first.
    runtime.mode.set(Mode::Review);
    assert_eq!(does(&runtime, &*tool, &["rinside.txt"]).await, ["inside"]);
    *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
    assert_eq!(does(&runtime, &*tool, &["wnew.txt"]).await, ["done"]);
    let asked: Vec<String> = runtime.person.asked.lock().unwrap().iter().map(|ask| ask.title.clone()).collect();
    assert_eq!(asked, ["plugin test:files: write `notes/**`"; 2]);
}

#[tokio::test]
async fn a_folder_that_leads_out_is_not_mounted() {
    let runtime = project();
    let outside = tempfile::TempDir::new().unwrap();
    symlink(outside.path(), runtime.project.path().join("notes")).unwrap();
    let tool = tool(&runtime, NOTES);
    let error = runtime.call(&*tool, json!({ "p": "wnew.txt" })).await.unwrap_err();
    assert!(told(&error).1.starts_with("a folder cannot be opened for the plugin"), "{error}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// A right to a folder is one to that folder, and not to what a link of its name leads to.
#[tokio::test]
async fn a_folder_that_leads_elsewhere_inside_is_judged_there() {
    let narrow = "[capabilities]\nfs.read = [{ glob = \"linked/**\", reason = \"reads\" }]";
    let both = "[capabilities]\nfs.read = [{ glob = \"linked/**\", reason = \"reads\" }, \
                { glob = \"docs/**\", reason = \"reads\" }]";
    let runtime = project();
    symlink("docs", runtime.project.path().join("linked")).unwrap();
    let error = runtime.call(&*tool(&runtime, narrow), json!({ "p": "ra.txt" })).await.unwrap_err();
    let denied = "read `docs/**`: the plugin's manifest does not ask for it; `linked/**` leads there";
    assert!(told(&error).1.starts_with(denied), "{error}");
    assert_eq!(does(&runtime, &*tool(&runtime, both), &["ra.txt"]).await, ["documented"]);

    // A folder to write in: the call begins without it.
    symlink("docs", runtime.project.path().join("notes")).unwrap();
    let answers = does(&runtime, &*tool(&runtime, NOTES), &["rinside.txt", "wnew.txt"]).await;
    assert!(answers[0] == "inside" && [NOT_PERMITTED, READ_ONLY].contains(&answers[1].as_str()), "{answers:?}");
    assert_eq!(std::fs::read_dir(runtime.project.path().join("docs")).unwrap().count(), 1);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_folder_is_the_one_that_the_session_holds() {
    let runtime = project();
    let tool = tool(&runtime, READ);
    let root = runtime.project.path().to_owned();
    let moved = tempfile::TempDir::new().unwrap();
    let decoy = tempfile::TempDir::new().unwrap();
    std::fs::write(decoy.path().join("inside.txt"), "decoy").unwrap();
    std::fs::rename(&root, moved.path().join("project")).unwrap();
    symlink(decoy.path(), &root).unwrap();
    assert_eq!(does(&runtime, &*tool, &["rinside.txt"]).await, ["inside"]);
    std::fs::remove_file(&root).unwrap();
    std::fs::rename(moved.path().join("project"), &root).unwrap();
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_pipe_without_a_writer_holds_no_call_up() {
    let runtime = project();
    let pipe = runtime.project.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    std::fs::create_dir(runtime.project.path().join("notes")).unwrap();
    mknodat(CWD, runtime.project.path().join("notes/pipe"), FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(does(&runtime, &*tool(&runtime, READ), &["rpipe", "rinside.txt"]).await, [NOT_PERMITTED, "inside"]);
    let refused = does(&runtime, &*tool(&runtime, NOTES), &["wpipe"]).await;
    assert_ne!(refused, ["done"], "nobody reads from it");
    // No thread waits for a writer: there is nobody who would read what one writes.
    let nonblocking = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    let opened = rustix::fs::open(&pipe, nonblocking, rustix::fs::Mode::empty());
    assert_eq!(opened.unwrap_err(), rustix::io::Errno::NXIO);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a12_what_the_kernel_makes_up_is_not_opened() {
    let mut runtime = project();
    let inside = runtime.project.path().join("inside.txt").display().to_string();
    runtime.root = std::path::PathBuf::from("/");
    let tool = tool(&runtime, READ);
    for made_up in ["rproc/self/environ", "rproc/version", "rdev/null"] {
        assert_eq!(does(&runtime, &*tool, &[made_up]).await, [NOT_PERMITTED], "{made_up}");
    }
    assert_eq!(does(&runtime, &*tool, &[&format!("r{}", inside.trim_start_matches('/'))]).await, ["inside"]);
}

#[tokio::test]
async fn text_goes_through_the_session_and_its_gate() {
    let runtime = project();
    let session = runtime.open(&[runtime.plugin("workspace", READ)]);
    for (path, answer) in [
        ("notes/a.md", "unsaved text"),
        ("/workspace/notes/a.md", "unsaved text"),
        ("notes/b.md", "`notes/b.md` does not exist"),
        ("../a.md", "`../a.md` leaves the workspace"),
        ("/etc/passwd", "`/etc/passwd` is not under any of the session's folders"),
    ] {
        let outcome = runtime.call(&*session.tools[0], json!({ "p": path })).await.unwrap();
        assert_eq!(outcome.for_model(), answer, "{path}");
    }
    let without = runtime.run("workspace", "", json!({ "p": "notes/a.md" })).await.unwrap();
    assert!(without.starts_with("read `notes/a.md`: the plugin's manifest does not ask for it"), "{without}");
}
