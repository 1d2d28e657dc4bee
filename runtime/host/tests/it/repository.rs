//! A repository in which everything that can name a program names one that leaves a trace.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use acp_runtime_host::exec::{ProgramEnd, ProgramOutput, ProgramRun};

pub struct Repository {
    folder: PathBuf,
    /// Each program that is run leaves a file in it.
    traces: tempfile::TempDir,
}

impl Repository {
    /// Makes it in `folder`: two commits, a changed file, a repository inside with its own settings, and a bare one.
    pub fn hostile(folder: &Path) -> Self {
        let traces = tempfile::tempdir().unwrap();
        let made = Self { folder: folder.to_owned(), traces };
        let evil = made.program();
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        made.honestly("init --quiet --initial-branch=main .");
        write("a.txt", "one\n");
        write("b.bin", "\0one\n");
        made.honestly("add .");
        made.honestly("commit --quiet --message=one");
        write("a.txt", "one\ntwo\n");
        write("b.bin", "\0two\n");
        made.honestly("commit --quiet --all --message=two");
        // A signature that nobody made, so that somebody is asked about it.
        made.sign();
        made.honestly("init --quiet sub");
        write("sub/x.txt", "x\n");
        made.honestly("-C sub add .");
        made.honestly("-C sub commit --quiet --message=x");
        made.honestly("-c advice.addEmbeddedRepo=false add sub");
        write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n");
        made.honestly("init --quiet --bare bare.git");
        write("a.txt", "one\ntwo\nthree\n");
        write("b.bin", "\0three\n");
        write("sub/x.txt", "changed\n");
        write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
        write(".git/info/attributes", "*.bin filter=more diff=more\n");
        write("sub/.gitattributes", "* filter=inner diff=inner\n");
        let more = "[filter \"more\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\trequired = true\n[diff \"more\"]\n\ttextconv = EVIL\n";
        write("more.config", &more.replace("EVIL", &evil));
        for (config, name) in [(".git/config", "evil"), ("sub/.git/config", "inner"), ("bare.git/config", "bare")] {
            let before = std::fs::read_to_string(folder.join(config)).unwrap();
            let include = folder.join("more.config").display().to_string();
            let own = SETTINGS.replace("EVIL", &evil).replace("NAME", name).replace("INCLUDE", &include);
            write(config, &format!("{before}{own}"));
        }
        for git in [".git", "sub/.git", "bare.git"] {
            for hook in HOOKS {
                let path = folder.join(git).join("hooks").join(hook);
                write(path.strip_prefix(folder).unwrap().to_str().unwrap(), &format!("#!/bin/sh\nexec {evil}\n"));
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        made
    }

    /// The program that leaves a trace.
    fn program(&self) -> String {
        let path = self.traces.path().join("evil");
        // A filter or a viewer that gives nothing would end git early.
        let script = format!("#!/bin/sh\n: > {}/trace.$$\nexit 0\n", self.traces.path().display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// Puts a signature on the last commit.
    fn sign(&self) {
        let commit = self.honestly("cat-file commit HEAD");
        let (head, message) = commit.split_once("\n\n").unwrap();
        let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abcd\n -----END PGP SIGNATURE-----";
        let object = self.folder.join(".git/signed");
        std::fs::write(&object, format!("{head}\n{signature}\n\n{message}")).unwrap();
        let id = self.honestly("hash-object -t commit -w .git/signed");
        self.honestly(&format!("update-ref refs/heads/main {}", id.trim()));
    }

    /// Git before it is led astray.
    fn honestly(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Git as anybody starts it, whatever comes of it.
    pub fn plainly(&self, line: &str) {
        self.command(line).output().unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("git");
        command.args(line.split(' ')).current_dir(&self.folder).env("HOME", &self.folder);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_NAME"), "Ada").env(format!("GIT_{name}_EMAIL"), "ada@example.com");
        }
        command
    }

    /// How many programs have left a trace since this was asked last.
    pub fn traces(&self) -> usize {
        let entries = std::fs::read_dir(self.traces.path()).unwrap().map(|entry| entry.unwrap().path());
        let traces = entries.filter(|path| path.file_name().is_some_and(|name| name != "evil"));
        traces.map(|path| std::fs::remove_file(path).unwrap()).count()
    }
}

/// Git with exactly what a run says.
pub fn git(run: &ProgramRun) -> ProgramOutput {
    let mut command = Command::new("git");
    command.args(&run.arguments).current_dir(&run.path).env_clear().envs(&run.variables);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    ProgramOutput {
        end: ProgramEnd::Exited(output.status.code().unwrap()),
        stdout: output.stdout,
        stderr: output.stderr,
    }
}

const HOOKS: [&str; 6] = [
    "post-index-change",
    "pre-commit",
    "post-checkout",
    "reference-transaction",
    "query-watchman",
    "fsmonitor-watchman",
];

const SETTINGS: &str = r#"
[core]
	fsmonitor = EVIL
	pager = EVIL
	editor = EVIL
	askPass = EVIL
	sshCommand = EVIL
	alternateRefsCommand = EVIL
	untrackedCache = true
[diff]
	external = EVIL
	submodule = diff
	ignoreSubmodules = none
[status]
	submoduleSummary = true
[submodule]
	recurse = true
[submodule "sub"]
	ignore = none
	update = !EVIL
[filter "NAME"]
	clean = EVIL
	smudge = EVIL
	required = true
[filter "Other Name"]
	process = EVIL
	required = true
[diff "NAME"]
	command = EVIL
	textconv = EVIL
	cachetextconv = true
[merge "NAME"]
	driver = EVIL
[pager]
	status = EVIL
	log = EVIL
	diff = EVIL
[alias]
	status = !EVIL
	st = !EVIL
[gpg]
	program = EVIL
[gpg "ssh"]
	program = EVIL
	defaultKeyCommand = EVIL
[log]
	showSignature = true
[credential]
	helper = !EVIL
[hook "NAME"]
	command = EVIL
	event = post-index-change
[trailer "NAME"]
	command = EVIL
	cmd = EVIL
[remote "origin"]
	url = ext::EVIL
	promisor = true
	partialclonefilter = blob:none
	uploadpack = EVIL
[protocol]
	allow = always
[uploadpack]
	packObjectsHook = EVIL
[include]
	path = INCLUDE
"#;
