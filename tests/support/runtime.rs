//! A machine for one test: its own home, its own project folder, and the binary that was built.
//!
//! Nothing of the person's own configuration or environment gets in. Dropped, it takes everything with it.
#![expect(clippy::disallowed_methods, reason = "tests lay out folders and start processes")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::editor::{EditorDouble, EditorOptions, Served};

/// How long a command may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where one test runs the binary.
pub struct Runtime {
    place: Arc<TempDir>,
    environment: BTreeMap<String, String>,
    arguments: Vec<String>,
}

/// What a command left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime {
    /// An empty home, an empty project, no configuration.
    pub fn new() -> Self {
        let place = tempfile::Builder::new().prefix("acp-runtime-").tempdir().expect("a temporary folder");
        let runtime =
            Self { place: Arc::new(place), environment: BTreeMap::new(), arguments: vec!["--acp".to_owned()] };
        fs::create_dir(runtime.home()).expect("a folder for the home");
        fs::create_dir(runtime.project()).expect("a folder for the project");
        runtime
    }

    /// A runtime whose model plays `scenario`.
    pub fn scripted(scenario: &str) -> Self {
        let runtime = Self::new();
        let script = runtime.place.path().join("scenario.toml");
        fs::write(&script, scenario).expect("the scenario is written");
        runtime.config(&format!("model = \"script:{}\"\n", script.display()))
    }

    /// Writes `config.toml`, after what is there.
    #[must_use]
    pub fn config(self, text: &str) -> Self {
        let path = self.home().join("config.toml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, before + text).expect("the configuration is written");
        self
    }

    /// Writes a file of the project, with the folders above it.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("its folder is made");
        fs::write(path, text).expect("the file is written");
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// `ACP_RUNTIME_HOME`.
    pub fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// The working directory, and the first root of sessions.
    pub fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    /// A path beside the project, which is nobody's to reach.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// A file of the project.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap_or_else(|error| panic!("`{path}` is not there: {error}"))
    }

    /// The binary with `arguments`, in the project, ready to start.
    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(binary());
        self.furnish(&mut command);
        command.args(arguments);
        command
    }

    /// Gives another program this runtime's environment and folder.
    pub fn furnish(&self, command: &mut Command) {
        command.current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.place.path()).env("ACP_RUNTIME_HOME", self.home());
        command.envs(&self.environment);
    }

    /// Holds the session store's file for as long as the answer lives, as another program does that lets nobody else in.
    /// No process may have it open.
    pub fn hold_store(&self) -> fs::File {
        let path = self.home().join("sessions.db");
        let file = fs::File::options().read(true).write(true).create(true).truncate(false).open(path).expect("a file");
        let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::fcntl_lock(&file, lock).expect("nobody else has it");
        file
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        finish(self.command(arguments))
    }

    /// Runs the binary to its end with `input` on stdin.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Finished {
        end(self.command(arguments), Some(input), PATIENCE)
    }

    /// Keeps a secret as a person does.
    pub fn keep_secret(&self, name: &str, value: &str) {
        let kept = self.run_with(&["secret", "set", name], value);
        assert_eq!(kept.code, Some(0), "{kept:?}");
    }

    /// Installs a guest of `tests/guests` as the plugin `id`, with `rights` (TOML) at the end of its manifest, and grants it
    /// all that it asks for there. Answers what was said meanwhile.
    pub fn install_guest(&self, guest: &str, id: &str, rights: &str) -> String {
        let component = build_folder().join(format!("guests/{guest}.wasm"));
        assert!(component.is_file(), "{} is not there: `cargo xtask plugins` builds it", component.display());
        let manifest = format!(
            "id = \"{id}\"\nversion = \"0.1.0\"\ntitle = \"Guest\"\ndescription = \"Tries.\"\nlicense = \"MIT\"\n{rights}\n"
        );
        let (toml, package) = (self.outside("plugin.toml"), self.outside("guest.wasm"));
        fs::write(&toml, manifest).expect("the manifest is written");
        let [component, toml, package] = [component, toml, package].map(|path| path.display().to_string());
        let build = ["plugin", "build", "--component", &component, "--manifest", &toml, "--output", &package];
        let install = ["plugin", "install", "--yes", &package];
        let done = [&build[..], &install].map(|arguments| self.run(arguments));
        assert!(done.iter().all(|done| done.code == Some(0)), "{done:?}");
        done.map(|done| done.stdout + &done.stderr).concat()
    }

    /// What a person at a terminal sees of the binary who answers with `answer`, and the exit code.
    pub fn at_a_terminal(&self, arguments: &[&str], answer: &str) -> (String, Option<i32>) {
        let terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        let mut command = Command::new("python3");
        command.args(["-c", terminal]).arg(binary()).args(arguments);
        self.furnish(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python is there");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        stdin.write_all(answer.as_bytes()).expect("it listens");
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
    }

    /// An editor on a fresh process, initialized, that offers nothing and allows everything.
    pub async fn editor(&self) -> EditorDouble {
        self.editor_with(EditorOptions::default()).await
    }

    /// An editor on a fresh process, initialized.
    pub async fn editor_with(&self, options: EditorOptions) -> EditorDouble {
        let editor = self.spawn(options);
        editor.initialize().await;
        editor
    }

    /// An editor on a fresh process, to which nothing has been said yet.
    pub fn spawn(&self, options: EditorOptions) -> EditorDouble {
        EditorDouble::spawn(self.command(&self.arguments), self.project(), self.place.clone(), options)
    }

    /// An editor on a process that `sh` starts after `preparation`, a line of its language.
    pub fn spawn_prepared(&self, preparation: &str, options: EditorOptions) -> EditorDouble {
        let mut command = Command::new("sh");
        self.furnish(&mut command);
        command.args(["-c", &format!("{preparation}; exec \"$0\" \"$@\"")]).arg(binary()).args(&self.arguments);
        EditorDouble::spawn(command, self.project(), self.place.clone(), options)
    }

    /// An editor on a server in this process, to which nothing has been said yet.
    pub fn spawn_over(&self, served: Served, options: EditorOptions) -> EditorDouble {
        EditorDouble::over(served, self.project(), self.place.clone(), options)
    }

    /// Waits until no process of this runtime is left, nor one in its folders, and fails if one stays.
    pub fn assert_no_process_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        let entry = format!("ACP_RUNTIME_HOME={}", self.home().display());
        let ours = |process: &Process| {
            let variables = process.environment.split(|byte| *byte == 0);
            process.folder.starts_with(self.place.path())
                || variables.into_iter().any(|found| found == entry.as_bytes())
        };
        loop {
            let left: Vec<_> = processes().into_iter().filter(ours).map(|process| process.line).collect();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "processes were left behind: {left:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Runs a command to its end, with nothing on stdin; fails the test if it takes longer than a minute.
pub fn finish(command: Command) -> Finished {
    finish_within(command, PATIENCE)
}

/// The same for one that may take longer: a compiler.
pub fn finish_within(command: Command, patience: Duration) -> Finished {
    end(command, None, patience)
}

fn end(mut command: Command, input: Option<&str>, patience: Duration) -> Finished {
    let stdin = input.map_or_else(Stdio::null, |_| Stdio::piped());
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let pid = rustix::process::Pid::from_child(&child);
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // One that refuses at once does not read to the end.
        let _ = stdin.write_all(input.as_bytes());
    }
    let (done, waiting) = std::sync::mpsc::channel();
    let output = std::thread::spawn(move || {
        let output = child.wait_with_output();
        // The other side has given up when nobody listens.
        let _ = done.send(());
        output
    });
    if waiting.recv_timeout(patience).is_err() {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("{command:?} did not end");
    }
    let output = output.join().expect("no panic while waiting").expect("its output can be read");
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A test that cannot be made on this machine says so, and fails where everything must be: in CI.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    #[expect(clippy::print_stderr, reason = "whoever runs the tests by hand is told")]
    {
        eprintln!("skipped: {why}");
    }
}

/// The binary, which lies beside the folder that test programs are built into.
pub fn binary() -> PathBuf {
    let binary = build_folder().join("acp-runtime").with_extension(std::env::consts::EXE_EXTENSION);
    assert!(binary.is_file(), "{} is not there: `cargo xtask test` builds it", binary.display());
    binary
}

/// The folder of the build: `target/release`.
pub fn build_folder() -> PathBuf {
    let program = std::env::current_exe().expect("a test program knows its own path");
    program.ancestors().nth(2).map(Path::to_path_buf).expect("test programs lie in `deps`")
}

/// How many of the plugins that came with the program are used without a word from anybody: all but the guard.
pub fn bundled_plugins() -> usize {
    let entries = fs::read_dir(build_folder().join("plugins")).expect("`cargo xtask plugins` builds them");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let used = |path: &PathBuf| path.extension() == Some("wasm".as_ref()) && path.file_stem() != Some("guard".as_ref());
    paths.filter(used).count()
}

/// The memory that a process holds now, in bytes.
pub fn resident_bytes(process: rustix::process::Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("the process is running") * 1024
}

/// A process of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: i32,
    /// Its command line, between spaces.
    pub line: String,
    /// Its working directory.
    pub folder: PathBuf,
    /// Its environment, as it began.
    environment: Vec<u8>,
}

/// All processes whose working directory and environment can be seen.
pub fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let process = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(Process {
            id: entry.file_name().to_str()?.parse().ok()?,
            line: String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned(),
            folder: fs::read_link(entry.path().join("cwd")).ok()?,
            environment: fs::read(entry.path().join("environ")).ok()?,
        })
    };
    entries.flatten().filter_map(process).collect()
}
