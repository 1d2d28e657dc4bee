//! A real folder under attack.

#![expect(clippy::disallowed_methods, reason = "the tests set up folders and attack them")]

mod links;
mod searching;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acp_runtime_agent::capability::{GrantSet, PathGlob, PluginId, ToolName};
use acp_runtime_agent::gate::{Approval, Approver, Ask, AuditEntry, AuditSink, Gate, GrantBook, Origin, Refusal};
use acp_runtime_agent::options::SharedLeeway;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::transcript::ToolCallId;
use acp_runtime_agent::workspace::EntryKind;
use tempfile::TempDir;

use super::*;

/// A person who allows everything, and a book and an audit that keep nothing.
struct Willing;

impl Approver for Willing {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Approval> {
        futures::future::ready(Approval::AllowOnce).boxed()
    }
}

impl GrantBook for Willing {
    fn grants(&self, _: &PluginId) -> Option<GrantSet> {
        None
    }
}

impl AuditSink for Willing {
    fn record(&self, _: AuditEntry<'_>) {}
}

impl Ground for Willing {}

/// A permit from a real gate in mode `auto`, where there are no links.
pub(crate) async fn permit(effects: Vec<Effect>) -> Permit {
    permit_on(Arc::new(Willing), Policy::default(), effects).await.unwrap()
}

/// What a real gate in mode `auto` says.
pub(crate) async fn permit_on(
    ground: Arc<dyn Ground>,
    policy: Policy,
    effects: Vec<Effect>,
) -> Result<Permit, Refusal> {
    let gate = gate_on(ground, policy);
    let origin = Origin::Model { call: ToolCallId::new("c"), tool: ToolName::new("test").unwrap() };
    gate.authorize(origin, effects).await
}

/// A gate in mode `auto`.
pub(crate) fn gate_on(ground: Arc<dyn Ground>, policy: Policy) -> Gate {
    let (mode, willing) = (SharedLeeway::new(Mode::Auto), Arc::new(Willing));
    Gate::new(Arc::new(policy), mode, willing.clone(), willing.clone(), willing, ground)
}

/// A workspace of these folders.
pub(crate) fn opened(folders: &[PathBuf], policy: Policy) -> DiskWorkspace {
    let registry = RootRegistry::default();
    DiskWorkspace::new(folders.iter().map(|folder| registry.open(folder).unwrap()).collect(), policy)
}

/// A permit for all files of two roots.
async fn permit_for_all() -> Permit {
    let mut effects = Vec::new();
    for root in [RootId(0), RootId(1)] {
        let all = WorkspacePath::root_of(root).subtree();
        effects.extend([Effect::Read(all.clone()), Effect::Write(all.clone()), Effect::Delete(all)]);
    }
    permit(effects).await
}

/// `project/` is the root; `outside/secret` is what must never be seen or changed.
struct Disk {
    folder: TempDir,
    workspace: Arc<DiskWorkspace>,
    permit: Permit,
}

async fn disk() -> Disk {
    disk_denying(&[]).await
}

async fn disk_denying(denied: &[&str]) -> Disk {
    disk_under(Policy::new(denied.iter().map(|glob| PathGlob::parse(glob).unwrap()).collect())).await
}

async fn disk_under(policy: Policy) -> Disk {
    let folder = tempfile::tempdir().unwrap();
    for inside in ["project/sub/deep", "outside/folder"] {
        fs::create_dir_all(folder.path().join(inside)).unwrap();
    }
    fs::write(folder.path().join("outside/secret"), "secret").unwrap();
    fs::write(folder.path().join("project/real.txt"), "real").unwrap();
    fs::write(folder.path().join("project/sub/inner.txt"), "inner").unwrap();
    let workspace = Arc::new(opened(&[folder.path().join("project")], policy));
    Disk { folder, workspace, permit: permit_for_all().await }
}

fn at(path: &str) -> WorkspacePath {
    WorkspacePath::new(RootId(0), path).unwrap()
}

impl Disk {
    fn project(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.project(name)).unwrap();
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.project(name).parent().unwrap()).unwrap();
        fs::write(self.project(name), text).unwrap();
    }

    async fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        self.workspace.read(&self.permit, &at(path)).await
    }

    async fn write(&self, path: &str, text: &str) -> Result<(), WorkspaceError> {
        self.workspace.write(&self.permit, &at(path), text).await
    }

    async fn delete(&self, path: &str) -> Result<(), WorkspaceError> {
        self.workspace.delete(&self.permit, &at(path)).await
    }

    async fn list(&self, path: &str) -> Result<Vec<Entry>, WorkspaceError> {
        self.workspace.list(&self.permit, &at(path)).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), WorkspaceError> {
        let permit = permit(vec![Effect::Move { from: at(from), to: at(to) }]).await;
        self.workspace.rename(&permit, &at(from), &at(to)).await
    }

    async fn search(&self, search: Search) -> Result<Vec<String>, WorkspaceError> {
        let found = self.workspace.search(&self.permit, &search).await?;
        let shown = found.hits.iter().map(|hit| match &hit.line {
            Some((number, text)) => format!("{}:{number}:{text}", hit.path),
            None => hit.path.to_string(),
        });
        Ok(shown.chain(found.cut.then(|| "(cut)".to_owned())).collect())
    }

    fn secret(&self) -> String {
        fs::read_to_string(self.folder.path().join("outside/secret")).unwrap()
    }

    fn outside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("outside")).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn search(under: &str, globs: &[&str], pattern: Option<&str>) -> Search {
    Search {
        under: at(under),
        globs: globs.iter().map(ToString::to_string).collect(),
        pattern: pattern.map(str::to_owned),
        ignore_case: false,
        limit: 100,
    }
}

#[tokio::test]
async fn a10_nothing_leads_out_of_the_root() {
    let disk = disk().await;
    let outside = disk.folder.path().join("outside");
    disk.link("file_out", "../outside/secret");
    disk.link("file_absolute", outside.join("secret"));
    disk.link("folder_out", "../outside");
    disk.link("folder_absolute", &outside);
    disk.link("sub/chain", "../folder_out");
    disk.link("up", "..");
    disk.link("environ", "/proc/self/environ");
    disk.link("process", "/proc/self");
    disk.link("machine", "/proc/self/root");
    disk.link("new_out", "../outside/new");
    let cwd = disk.project("").display().to_string();
    for path in [
        "file_out",
        "file_absolute",
        "folder_out/secret",
        "folder_absolute/secret",
        "sub/chain/secret",
        "up/outside/secret",
        "environ",
        "process/environ",
        "process/cwd/Cargo.toml",
        "machine/etc/passwd",
        "new_out",
        "folder_out/new",
    ] {
        let shown = || WorkspaceError::Outside(path.to_owned());
        assert_eq!(disk.read(path).await, Err(shown()), "read {path}");
        assert_eq!(disk.write(path, "changed").await, Err(shown()), "write {path}");
        assert_eq!(disk.list(path).await, Err(shown()), "list {path}");
        assert_eq!(disk.search(search(path, &[], Some("."))).await, Err(shown()), "search {path}");
    }
    for path in ["folder_out/secret", "up/outside/secret", "process/environ", "folder_out/new"] {
        let shown = || WorkspaceError::Outside(path.to_owned());
        assert_eq!(disk.delete(path).await, Err(shown()), "delete {path}");
        assert_eq!(disk.rename(path, "taken").await, Err(shown()), "rename {path}");
        assert_eq!(disk.rename("real.txt", path).await, Err(shown()), "rename to {path}");
    }
    for text in [
        "../outside/secret",
        "sub/../../outside/secret",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        &outside.join("secret").display().to_string(),
        &format!("{cwd}/../outside/secret"),
        "C:\\secret",
        "\\\\host\\share",
        "real.txt\0",
        "sub\\..\\..\\outside",
    ] {
        assert!(disk.workspace.roots().resolve(text).is_err(), "{text:?}");
    }
    assert_eq!(disk.secret(), "secret");
    assert_eq!(disk.outside(), ["folder", "secret"]);
    assert_eq!(disk.read("real.txt").await.as_deref(), Ok("real"));
}

#[tokio::test]
async fn links_that_stay_inside_work() {
    let disk = disk().await;
    disk.link("to_file", "real.txt");
    disk.link("to_folder", "sub");
    disk.link("sub/back", "../real.txt");
    disk.link("around", "sub/deep/../../to_file");
    for (path, text) in
        [("to_file", "real"), ("to_folder/inner.txt", "inner"), ("sub/back", "real"), ("around", "real")]
    {
        assert_eq!(disk.read(path).await.as_deref(), Ok(text), "{path}");
    }
    disk.write("around", "changed").await.unwrap();
    disk.write("to_folder/new/file", "made").await.unwrap();
    assert_eq!(disk.read("real.txt").await.as_deref(), Ok("changed"));
    assert!(disk.project("around").is_symlink(), "the link stays a link");
    assert_eq!(disk.read("sub/new/file").await.as_deref(), Ok("made"));
    assert_eq!(disk.list("to_folder").await.unwrap().len(), 4);

    disk.delete("to_folder").await.unwrap();
    disk.rename("to_file", "renamed").await.unwrap();
    assert!(disk.project("sub/inner.txt").exists(), "removing a link leaves what it points to");
    assert!(disk.project("renamed").is_symlink(), "a link is moved, not followed");

    disk.link("nowhere", "missing.txt");
    let refused = disk.write("nowhere", "x").await.unwrap_err();
    assert_eq!(refused.to_string(), "`nowhere`: it is a link to nothing");
    assert_eq!(disk.read("nowhere").await, Err(WorkspaceError::NotFound("nowhere".to_owned())));
    disk.link("loop", "loop");
    let circle = disk.read("loop").await.unwrap_err();
    assert_eq!(circle.to_string(), "`loop`: its links lead in a circle, or there are too many of them");
    assert_eq!(
        disk.write("loop/x", "x").await.unwrap_err().to_string(),
        circle.to_string().replace("loop`", "loop/x`")
    );
    assert_eq!(disk.list("loop").await, Err(circle));
}

/// Stops the attacker, also when an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `swapped` is a folder with a file at one moment, and a link to the folder of the secret at the next.
#[test]
fn a11_a_race_between_check_and_use_is_lost() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let disk = runtime.block_on(disk());
    disk.file("swapped/secret", "inside");
    disk.link("link", "../outside");
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
        for round in 0..100_000 {
            runtime.block_on(async {
                match disk.read("swapped/secret").await {
                    Ok(text) => {
                        assert_eq!(text, "inside");
                        seen += 1;
                    }
                    Err(_) => refused += 1,
                }
                let _ = disk.write("swapped/secret", "inside").await;
                let _ = disk.write("swapped/new/file", "inside").await;
                let _ = disk.delete("swapped/new").await;
                let found = disk.search(search("", &["secret"], Some("secret"))).await.unwrap();
                assert_eq!(found, Vec::<String>::new(), "the secret's text was found");
            });
            if round >= 500 && seen >= 20 && refused >= 20 {
                break;
            }
        }
        assert!(seen >= 20 && refused >= 20, "the race was run: {seen} seen, {refused} refused");
        drop(stopped);
    });
    assert_eq!(disk.secret(), "secret");
    assert_eq!(disk.outside(), ["folder", "secret"]);
}

#[tokio::test]
async fn what_is_no_file_is_never_waited_for() {
    let disk = disk().await;
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, disk.project("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(disk.project("socket")).unwrap();
    let work = async {
        for path in ["pipe", "socket", "sub", ""] {
            let shown = if path.is_empty() { "." } else { path };
            let wrong = || WorkspaceError::WrongKind { path: shown.to_owned(), expected: "file" };
            assert_eq!(disk.read(path).await, Err(wrong()), "read {path}");
            assert_eq!(disk.write(path, "x").await, Err(wrong()), "write {path}");
        }
        assert_eq!(disk.search(search("", &["pipe", "socket"], Some("."))).await.unwrap(), Vec::<String>::new());
        let kinds: Vec<EntryKind> = disk.list("").await.unwrap().iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [EntryKind::Other, EntryKind::File, EntryKind::Other, EntryKind::Directory]);
    };
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("an operation hangs");
}

#[tokio::test]
async fn files_are_replaced_whole_and_keep_their_mode() {
    let disk = disk().await;
    disk.write("new/folders/file", "made").await.unwrap();
    assert_eq!(disk.read("new/folders/file").await.as_deref(), Ok("made"));
    let mode = |path: &str| fs::metadata(disk.project(path)).unwrap().permissions().mode() & 0o777;
    for bits in [0o755, 0o600, 0o640] {
        fs::set_permissions(disk.project("real.txt"), fs::Permissions::from_mode(bits)).unwrap();
        disk.write("real.txt", "next").await.unwrap();
        assert_eq!(mode("real.txt"), bits);
    }
    let reader = fs::File::open(disk.project("real.txt")).unwrap();
    disk.write("real.txt", "after").await.unwrap();
    assert_eq!(std::io::read_to_string(reader).unwrap(), "next", "an open file keeps its text: it was not truncated");

    fs::set_permissions(disk.project("real.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(disk.write("real.txt", "x").await.unwrap_err().to_string(), "`real.txt`: it is read-only");
    let names: Vec<String> = disk.list("").await.unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["new", "real.txt", "sub"], "nothing is left behind");
}

#[tokio::test]
async fn a12_files_with_several_links_are_refused() {
    let disk = disk().await;
    fs::hard_link(disk.folder.path().join("outside/secret"), disk.project("shared")).unwrap();
    let refused = disk.write("shared", "changed").await.unwrap_err();
    assert_eq!(refused, WorkspaceError::MultiplyLinked("shared".to_owned()));
    assert!(refused.to_string().contains("put a new file in its place (delete it and write it again)"), "{refused}");
    assert_eq!(disk.secret(), "secret");
    disk.delete("shared").await.unwrap();
    assert_eq!(disk.secret(), "secret", "removing the name leaves the file");
    disk.write("shared", "mine").await.unwrap();
    assert_eq!(disk.secret(), "secret");
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let disk = disk().await;
    fs::File::create(disk.project("huge")).unwrap().set_len(file::MOST_READ + 1).unwrap();
    disk.file("full", "x".repeat(usize::try_from(file::MOST_READ).unwrap()));
    disk.file("binary", [b'a', 0, 0xFF, b'b']);
    for (path, error) in [
        ("missing", "`missing` does not exist"),
        ("real.txt/below", "`real.txt/below` does not exist"),
        ("huge", "`huge` has 16777217 bytes; at most 16777216 are read"),
        ("binary", "`binary` is not a text file: it seems to be binary data"),
    ] {
        assert_eq!(disk.read(path).await.unwrap_err().to_string(), error);
    }
    assert_eq!(disk.read("full").await.unwrap().len() as u64, file::MOST_READ);
    let below = disk.write("real.txt/below", "x").await.unwrap_err().to_string();
    assert_eq!(below, "`real.txt/below`: a file stands where a folder of its path should be");
    let long = "n".repeat(300);
    let too_long = format!("`{long}`: the path, or a name in it, is longer than the system allows");
    assert_eq!(disk.write(&long, "x").await.unwrap_err().to_string(), too_long);
    assert_eq!(disk.read(&long).await.unwrap_err().to_string(), too_long);
    assert_eq!(disk.list(&long).await.unwrap_err().to_string(), too_long);
    let deep = "d/".repeat(2500);
    assert!(matches!(disk.read(&deep).await, Err(WorkspaceError::Unusable { .. } | WorkspaceError::NotFound(_))));
}

#[tokio::test]
async fn every_method_needs_its_permit() {
    let disk = disk().await;
    let other = permit(vec![
        Effect::Read(at("other").scope()),
        Effect::Write(at("other").scope()),
        Effect::Delete(at("sub").scope()),
        Effect::Move { from: at("real.txt"), to: at("other") },
    ])
    .await;
    let (workspace, path, sub) = (&disk.workspace, at("real.txt"), at("sub"));
    let refused = [
        workspace.read(&other, &path).await.map(drop),
        workspace.write(&other, &path, "x").await,
        workspace.delete(&other, &path).await,
        workspace.delete(&other, &sub).await,
        workspace.rename(&other, &path, &at("elsewhere")).await,
        workspace.list(&other, &sub).await.map(drop),
        workspace.search(&other, &search("", &[], None)).await.map(drop),
    ]
    .map(|end| end.unwrap_err().to_string());
    assert_eq!(
        refused,
        [
            "no permit for read `real.txt`",
            "no permit for write `real.txt`",
            "no permit for delete `real.txt`",
            "no permit for delete `sub/**`",
            "no permit for move `real.txt -> elsewhere`",
            "no permit for read `sub`",
            "no permit for read `**`",
        ]
    );
    assert_eq!(disk.read("real.txt").await.as_deref(), Ok("real"));
    assert_eq!(disk.read("sub/inner.txt").await.as_deref(), Ok("inner"));
}

#[tokio::test]
async fn a14_the_deny_list_holds_under_every_name() {
    let disk = disk_denying(&["**/.env", ".git/hooks/**", "private/**"]).await;
    for path in [".env", "sub/.env", ".git/hooks/pre-commit", "private/key", "open/file"] {
        disk.file(path, "TOKEN=1");
    }
    disk.link("alias", ".env");
    disk.link("hooks", ".git/hooks");
    disk.link("git", ".git");
    let denied = |path: &str| WorkspaceError::Denied(path.to_owned());
    for path in [".env", "sub/.env", "alias", "hooks/pre-commit", "git/hooks/pre-commit", "private/key"] {
        assert_eq!(disk.read(path).await, Err(denied(path)), "read {path}");
        assert_eq!(disk.write(path, "x").await, Err(denied(path)), "write {path}");
    }
    for path in ["hooks/new", "git/hooks/a/b", "private/new"] {
        assert_eq!(disk.write(path, "x").await, Err(denied(path)), "write {path}");
    }
    assert!(!disk.project(".git/hooks/a").exists(), "not even a folder is made");
    for (path, found) in [("sub", "sub/.env"), (".git", ".git/hooks"), ("private", "private")] {
        assert_eq!(disk.delete(path).await, Err(denied(found)), "delete {path}");
        assert_eq!(disk.rename(path, "moved").await, Err(denied(found)), "rename {path}");
    }
    assert_eq!(disk.rename("open/file", ".git/hooks/post-commit").await, Err(denied(".git/hooks/post-commit")));
    let lines = disk.search(search("", &["**/*", "**/.*"], Some("TOKEN"))).await.unwrap();
    assert_eq!(lines, ["open/file:1:TOKEN=1"]);
    assert_eq!(disk.search(search("alias", &[], Some("TOKEN"))).await, Err(denied("alias")));
    disk.delete("open").await.unwrap();
}

#[tokio::test]
async fn moving_takes_free_names_only() {
    let disk = disk().await;
    disk.rename("real.txt", "made/up/name.txt").await.unwrap();
    assert_eq!(disk.read("made/up/name.txt").await.as_deref(), Ok("real"));
    for (from, to, error) in [
        ("missing", "x", "`missing` does not exist"),
        ("made/up/name.txt", "sub/inner.txt", "`sub/inner.txt` exists already"),
        ("made", "made/inside", "`made/inside`: a folder cannot be moved into itself"),
        ("made", "made/up/x/y", "`made/up/x/y`: a folder cannot be moved into itself"),
        ("", "x", "`.`: it is the workspace itself"),
        ("sub", "", "`.`: it is the workspace itself"),
    ] {
        assert_eq!(disk.rename(from, to).await.unwrap_err().to_string(), error);
    }
    assert_eq!(disk.read("sub/inner.txt").await.as_deref(), Ok("inner"));
    disk.rename("sub", "other").await.unwrap();
    assert_eq!(disk.read("other/inner.txt").await.as_deref(), Ok("inner"));
    disk.delete("other").await.unwrap();
    assert_eq!(disk.list("other").await, Err(WorkspaceError::NotFound("other".to_owned())));
    assert_eq!(disk.delete("").await.unwrap_err().to_string(), "`.`: it is the workspace itself");
}

#[tokio::test]
async fn a_second_root_is_apart_and_named_in_the_client_s_spelling() {
    let folder = tempfile::tempdir().unwrap();
    for root in ["a", "b"] {
        fs::create_dir(folder.path().join(root)).unwrap();
        fs::write(folder.path().join(root).join("file"), root).unwrap();
    }
    symlink(folder.path().join("b"), folder.path().join("spelled")).unwrap();
    let folders = [folder.path().join("a"), folder.path().join("spelled")];
    let workspace = opened(&folders, Policy::default());
    let permit = permit_for_all().await;
    for (spelling, text) in [("file", "a"), ("spelled/file", "b"), ("b/file", "b")] {
        let path = folder.path().join(spelling).display().to_string();
        let path = if spelling == "file" { "file".to_owned() } else { path };
        let path = workspace.roots().resolve(&path).unwrap();
        assert_eq!(workspace.read(&permit, &path).await.as_deref(), Ok(text), "{spelling}");
    }
    let missing = WorkspacePath::new(RootId(1), "missing").unwrap();
    let refused = workspace.read(&permit, &missing).await;
    assert_eq!(refused, Err(WorkspaceError::NotFound(folder.path().join("spelled/missing").display().to_string())));
}

#[test]
fn a_folder_is_held_once_whatever_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("real")).unwrap();
    fs::write(path("real/file"), "held").unwrap();
    fs::write(path("file"), "").unwrap();
    symlink(path("real"), path("link")).unwrap();
    let registry = RootRegistry::default();
    let (real, link) = (registry.open(&path("real")).unwrap(), registry.open(&path("link")).unwrap());
    assert!(Arc::ptr_eq(&real.handle, &link.handle));
    assert_eq!(link.canonical, path("real").canonicalize().unwrap());

    fs::rename(path("real"), path("moved")).unwrap();
    fs::create_dir(path("real")).unwrap();
    assert_eq!(real.handle.read_to_string("file").unwrap(), "held", "the folder that was opened, not its name");
    assert!(!Arc::ptr_eq(&registry.open(&path("real")).unwrap().handle, &real.handle));

    let shown = |name: &str| path(name).display().to_string();
    assert_eq!(registry.open(Path::new("real")).unwrap_err(), RootError::Relative("real".to_owned()));
    assert_eq!(registry.open(&path("missing")).unwrap_err(), RootError::NotFound(shown("missing")));
    assert_eq!(registry.open(&path("file")).unwrap_err(), RootError::NotAFolder(shown("file")));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a12_what_the_kernel_makes_up_is_no_project_s() {
    let registry = RootRegistry::default();
    let folder = tempfile::tempdir().unwrap();
    symlink("/proc/self/root", folder.path().join("machine")).unwrap();
    let linked = folder.path().join("machine/proc").display().to_string();
    for root in ["/proc", "/proc/self", &linked, "/sys", "/dev"] {
        // Not every machine has them all.
        if Path::new(root).is_dir() {
            assert_eq!(registry.open(Path::new(root)).unwrap_err(), RootError::MadeUp(root.to_owned()));
        }
    }
    let whole = opened(&[PathBuf::from("/")], Policy::default());
    let permit = permit_for_all().await;
    for path in ["proc/self/environ", "proc/version", "proc/sys/kernel/hostname", "sys/kernel/mm/hugepages"] {
        let path = at(path);
        let refused = Err(WorkspaceError::MadeUp(path.to_string()));
        if Path::new("/").join(path.as_str()).is_file() {
            assert_eq!(whole.read(&permit, &path).await, refused);
        }
        assert!(whole.write(&permit, &path, "x").await.is_err(), "{path}");
    }
    for folder in ["proc", "proc/self", "proc/self/fd", "dev"] {
        let folder = at(folder);
        let refused = || WorkspaceError::MadeUp(folder.to_string());
        assert_eq!(whole.list(&permit, &folder).await, Err(refused()));
        let new = folder.join("new/file").unwrap();
        assert_eq!(whole.write(&permit, &new, "x").await, Err(WorkspaceError::MadeUp(new.to_string())));
        let search = Search { under: folder.clone(), ..search("", &["*"], Some("PATH")) };
        assert_eq!(whole.search(&permit, &search).await, Err(refused()));
    }
    assert!(!whole.list(&permit, &at("")).await.unwrap().is_empty(), "the root itself is an ordinary folder");
}

#[tokio::test]
async fn folders_are_listed_by_name_with_kind_and_size() {
    let disk = disk().await;
    disk.link("link", "../outside");
    let entry = |name: &str, kind| (name.to_owned(), kind);
    let entries = disk.list("").await.unwrap();
    let shown: Vec<_> = entries.iter().map(|entry| (entry.name.clone(), entry.kind)).collect();
    let all = [entry("link", EntryKind::Link), entry("real.txt", EntryKind::File), entry("sub", EntryKind::Directory)];
    assert_eq!(shown, all);
    assert_eq!(entries[1].size, 4);
    let wrong = WorkspaceError::WrongKind { path: "real.txt".to_owned(), expected: "directory" };
    assert_eq!(disk.list("real.txt").await, Err(wrong));
}
