//! The command line as people and scripts see it: exit code, stdout, stderr.
#![expect(clippy::disallowed_methods, reason = "lays out files that the binary is given")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Finished, Runtime};
use expect_test::{Expect, expect};

/// The whole outcome as text, with the test's own folders named.
fn outcome(runtime: &Runtime, arguments: &[&str]) -> String {
    let Finished { code, stdout, stderr } = runtime.run(arguments);
    let code = code.map_or("signal".to_owned(), |code| code.to_string());
    format!("exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
        .replace(&runtime.home().display().to_string(), "HOME")
        .replace(&runtime.project().display().to_string(), "PROJECT")
}

fn check(runtime: &Runtime, arguments: &[&str], expected: &Expect) {
    expected.assert_eq(&outcome(runtime, arguments));
}

#[test]
fn help_and_version() {
    let runtime = Runtime::new();
    assert_eq!(runtime.run(&["--version"]).stdout, concat!("acp-runtime ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = runtime.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for command in ["--acp", "run", "session", "plugin", "config", "doctor"] {
        assert!(help.stdout.contains(command), "`{command}` is not in {}", help.stdout);
    }
}

#[test]
fn what_is_typed_wrong_is_exit_code_2() {
    for arguments in [&["--no-such-flag"][..], &["no-such-command"], &["run"], &["plugin", "install"]] {
        let finished = Runtime::new().run(arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.starts_with("error: ") && finished.stdout.is_empty(), "{arguments:?}: {finished:?}");
    }
}

#[test]
fn run_prints_statistics_without_configuration_and_key() {
    let runtime = Runtime::new().file("src/main.rs", "fn main() {}\n");
    let finished = runtime.run(&["run", "/call code-stats {}"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("Rust"), "{}", finished.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_unicode_hides_nothing_else() {
    use std::os::unix::ffi::OsStrExt as _;
    let runtime = Runtime::new().file("src/main.rs", "fn main() {}\n").file("other.rs", "fn other() {}\n");
    let odd = runtime.project().join(std::ffi::OsStr::from_bytes(b"odd-\xff.rs"));
    fs::copy(runtime.project().join("other.rs"), odd).expect("the file system takes any name");
    let finished = runtime.run(&["run", "/call code-stats {}"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("| Rust | 2 | 2 |"), "{}", finished.stdout);
    let told = "Names that could not be read, since they are no Unicode: 1.";
    assert!(finished.stdout.contains(told), "{}", finished.stdout);
}

#[test]
fn run_without_a_person_refuses_what_would_be_asked() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [{ call = { tool = "write_file", arguments = { path = "a.txt", content = "x" } } }]
        [[reply]]
        when = "tool-succeeded"
        steps = [{ text = "Written." }]
        [[reply]]
        when = "tool-failed"
        steps = [{ text = "Refused." }]
    "#;
    let runtime = Runtime::scripted(scenario);
    let refused = runtime.run(&["run", "Write"]);
    assert!(refused.stdout.contains("Refused."), "{refused:?}");
    assert!(!runtime.project().join("a.txt").exists());
    let denied = runtime.run(&["run", "--allow", "write", "--deny", "write", "Write"]);
    assert!(denied.stdout.contains("Refused."), "deny wins: {denied:?}");
    let allowed = runtime.run(&["run", "--allow", "write", "Write"]);
    assert!(allowed.stdout.contains("Written."), "{allowed:?}");
    assert_eq!(runtime.read("a.txt"), "x");
}

#[test]
fn a_failed_model_is_exit_code_1() {
    let scenario =
        "quiet = true\n[[reply]]\nsteps = [{ error = { kind = \"auth\", message = \"the key is wrong\" } }]\n";
    let runtime = Runtime::scripted(scenario);
    let finished = runtime.run(&["run", "Hi"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("error: ") && finished.stderr.contains("the key is wrong"), "{}", finished.stderr);
}

/// A provider that gives its one client this answer, whatever it asks; its address.
fn provider(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut request = BufReader::new(&mut client);
        let (mut line, mut length) = (String::new(), 0);
        while request.read_line(&mut line).expect("a request") > 2 {
            let header = line.to_ascii_lowercase();
            length = header.strip_prefix("content-length: ").map_or(length, |size| size.trim().parse().unwrap());
            line.clear();
        }
        request.read_exact(&mut vec![0; length]).expect("the whole request");
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
        client.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).expect("it listens");
    });
    address
}

#[test]
fn a_key_in_a_provider_s_error_is_not_told() {
    const BODY: &str = r#"{"error":{"message":"Incorrect API key provided: sk-secret-7","code":"invalid_api_key"}}"#;
    for wire in ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"] {
        for (status, log) in [("401 Unauthorized", "warn"), ("400 Bad Request", "warn"), ("401 Unauthorized", "trace")]
        {
            let runtime = Runtime::new().config(&format!(
                "[providers.lab]\nwire = \"{wire}\"\nbase_url = \"http://{}/\"\napi_key = \"sk-secret-7\"\n\
                 model = \"m\"\nretries = {{ attempts = 1 }}\n",
                provider(status, BODY)
            ));
            let finished = runtime.run(&["run", "--log-level", log, "Hi"]);
            assert_eq!(finished.code, Some(1), "{wire}: {finished:?}");
            assert!(finished.stderr.contains("error: `lab` does not accept"), "{wire}: {}", finished.stderr);
            let told = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!told.contains("sk-secret-7"), "{wire} {status} {log}: {told}");
        }
    }
}

#[test]
fn broken_configuration_names_the_key_and_the_place() {
    for (text, code, named) in [
        ("modell = \"none\"\n", 2, "modell"),
        ("model = 5\n", 2, "model"),
        ("model = \n", 2, "config.toml:1:"),
        ("model = \"script:/no/such/file.toml\"\n", 2, "/no/such/file.toml"),
    ] {
        let runtime = Runtime::new().config(text);
        let finished = runtime.run(&["run", "Hi"]);
        assert_eq!(finished.code, Some(code), "{text}: {finished:?}");
        assert!(finished.stderr.starts_with("error: ") && finished.stderr.contains(named), "{text}: {finished:?}");
        assert_eq!(finished.stdout, "", "{text}");
    }
}

#[test]
fn paths_are_below_the_home_that_was_given() {
    let runtime = Runtime::new();
    let finished = runtime.run(&["config", "path"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    assert!(finished.stdout.starts_with(&runtime.home().display().to_string()), "{}", finished.stdout);
}

/// A file of the project that is `bytes` with the one `from` of its manifest as `to`.
fn changed(runtime: &Runtime, name: &str, bytes: &[u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len(), "the section keeps its length");
    let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).expect("it is in the manifest");
    let mut bytes = bytes.to_vec();
    bytes.splice(at..at + from.len(), to.bytes());
    fs::write(runtime.project().join(name), bytes).expect("it is written");
}

#[test]
fn a_plugin_that_is_not_sound_is_refused_with_a_reason() {
    let runtime = Runtime::new().config("[plugins]\nbundled = false\n").file("broken.wasm", "this is no component");
    let tasks = fs::read(bundled("tasks")).expect("it was built");
    fs::write(runtime.project().join("cut.wasm"), &tasks[..tasks.len() / 2]).expect("it is written");
    fs::create_dir(runtime.project().join("empty")).expect("it is made");
    changed(&runtime, "unknown.wasm", &tasks, "\"kv\":{", "\"xy\":{");
    for (plugin, code, error, hint) in [
        ("broken.wasm", 1, "`broken.wasm` is not a WebAssembly component: it does not begin like one", "wasm32-wasip2"),
        (
            "cut.wasm",
            1,
            "plugin `aar:tasks` cannot be run: the component cannot be compiled: ",
            "ask the plugin's author",
        ),
        ("no-such-folder", 2, "`no-such-folder` cannot be read: No such file or directory", "check the path"),
        ("empty", 1, "`empty` has 0 `.wasm` files", "name the plugin's `.wasm` file itself"),
        ("unknown.wasm", 1, "`unknown.wasm`: unknown field `xy`, expected one of `fs`", "correct"),
    ] {
        let finished = runtime.run(&["plugin", "install", "--yes", plugin]);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(code), ""), "{plugin}: {finished:?}");
        assert!(finished.stderr.starts_with(&format!("error: {error}")), "{plugin}: {}", finished.stderr);
        assert!(
            finished.stderr.contains("\nhint: ") && finished.stderr.contains(hint),
            "{plugin}: {}",
            finished.stderr
        );
    }
    assert_eq!(runtime.run(&["plugin", "list"]).stdout, "", "nothing was installed");
}

#[test]
fn what_is_not_there_is_named() {
    let runtime = Runtime::new().file("file", "");
    for (arguments, expected) in [
        (
            &["run", "--cwd", "missing", "Hi"][..],
            "error: `PROJECT/missing` cannot be opened as a folder of the session: it does not exist; give the path of \
             an existing folder\nhint: name an existing folder with `--cwd`\n",
        ),
        (
            &["run", "--cwd", "file", "Hi"],
            "error: `PROJECT/file` cannot be opened as a folder of the session: it is not a folder\n\
             hint: name an existing folder with `--cwd`\n",
        ),
        (
            &["run", "--config", "missing.toml", "Hi"],
            "error: `missing.toml` does not exist\nhint: check the path, or leave the option out\n",
        ),
        #[cfg(target_os = "linux")]
        (
            &["run", "--cwd", "/proc/self", "Hi"],
            "error: `/proc/self` cannot be opened as a folder of the session: it is not on a disk, the kernel makes up \
             what is there; give the path of a project's folder\nhint: name an existing folder with `--cwd`\n",
        ),
    ] {
        assert_eq!(
            outcome(&runtime, arguments),
            format!("exit 2\n--- stdout\n--- stderr\n{expected}"),
            "{arguments:?}"
        );
    }
}

/// A package that was built, of a bundled plugin.
fn bundled(name: &str) -> String {
    build_folder().join(format!("plugins/{name}.wasm")).display().to_string()
}

#[test]
fn a_plugin_is_found_by_its_name_where_only_one_has_it() {
    let runtime = Runtime::new();
    let whole = runtime.run(&["plugin", "info", "aar:tasks"]);
    assert_eq!(runtime.run(&["plugin", "info", "tasks"]), whole);
    assert!(whole.code == Some(0) && whole.stdout.starts_with("aar:tasks "), "{whole:?}");
    let refused = |arguments: &[&str], error: &str, hint: &str| {
        let told = outcome(&runtime, arguments);
        assert_eq!(told, format!("exit 2\n--- stdout\n--- stderr\nerror: {error}\nhint: {hint}\n"));
    };
    refused(&["plugin", "info", "taks"], "there is no plugin `taks`", "did you mean `tasks`?");
    refused(&["plugin", "info", "me:nothing"], "there is no plugin `me:nothing`", "see `acp-runtime plugin list`");
    let missing = runtime.run(&["plugin", "info", "./tasks"]);
    assert!(missing.code == Some(2) && missing.stderr.starts_with("error: `./tasks` "), "{missing:?}");
    let removed = runtime.run(&["plugin", "remove", "tasks"]);
    assert!(removed.stderr.starts_with("error: `aar:tasks` is not installed, it is bundled"), "{removed:?}");

    // Another publisher's plugin of that name.
    changed(&runtime, "mine.wasm", &fs::read(bundled("tasks")).unwrap(), "aar:tasks", "abc:tasks");
    let path = runtime.project().join("mine.wasm").display().to_string();
    let runtime = Runtime::new().config(&format!("plugins.paths = ['{path}']\n"));
    for command in ["info", "remove"] {
        let told = outcome(&runtime, &["plugin", command, "tasks"]);
        let error = "error: several plugins have the name `tasks`\nhint: name `aar:tasks` or `abc:tasks`\n";
        assert_eq!(told, format!("exit 2\n--- stdout\n--- stderr\n{error}"));
    }
    assert!(runtime.run(&["plugin", "info", "abc:tasks"]).stdout.starts_with("abc:tasks "));
    let typed = runtime.run(&["run", "/plugins off tasks"]);
    assert!(
        typed.stderr.contains("several plugins have the name `tasks`\nhint: type `aar:tasks` or `abc:tasks`"),
        "{typed:?}"
    );
}

#[test]
fn a_plugin_that_would_never_be_loaded_is_not_installed() {
    let runtime = Runtime::new();
    let tasks = bundled("tasks");
    let outcome = |runtime: &Runtime, arguments: &[&str]| outcome(runtime, arguments).replace(&tasks, "TASKS");
    expect![[r"
        exit 1
        --- stdout
        --- stderr
        error: `aar:tasks` comes with this program (`TASKS`), and an installed one would never be loaded beside it
        hint: set `plugins.bundled = false` to do without all bundled plugins, then install it
    "]]
    .assert_eq(&outcome(&runtime, &["plugin", "install", "--yes", &tasks]));
    expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `aar:tasks` is not installed, it is bundled (`TASKS`)
        hint: leave it out with `plugins.disabled = ["aar:tasks"]`, or set `plugins.bundled = false` to do without all bundled plugins
    "#]]
    .assert_eq(&outcome(&runtime, &["plugin", "remove", "aar:tasks"]));

    let named = Runtime::new().config(&format!("[plugins]\nbundled = false\npaths = [\"{tasks}\"]\n"));
    let refused = outcome(&named, &["plugin", "install", "--yes", &tasks]);
    assert!(refused.contains("error: `aar:tasks` is named in `plugins.paths` (`TASKS`)"), "{refused}");

    let alone = Runtime::new().config("[plugins]\nbundled = false\n").file("other.toml", "");
    let installed = outcome(&alone, &["plugin", "install", "--yes", &tasks]);
    assert!(installed.starts_with("exit 0\n--- stdout\ninstalled aar:tasks 0.1.0"), "{installed}");
    for (runtime, origin) in [(&runtime, "bundled"), (&named, "named"), (&alone, "installed")] {
        let info = outcome(runtime, &["plugin", "info", "aar:tasks"]);
        assert!(info.contains(&format!("aar:tasks 0.1.0 ({origin})\n")) && info.contains("\nfrom: TASKS\n"), "{info}");
        let list = outcome(runtime, &["plugin", "list", "--json"]);
        let told = format!("\"origin\":\"{origin}\",");
        assert!(list.contains(&told) && list.contains("\"source\":\"TASKS\""), "{list}");
        assert!(outcome(runtime, &["plugin", "list"]).contains(&format!("aar:tasks  0.1.0  {origin}  ")));
    }
    let list = outcome(&alone, &["--config", "other.toml", "plugin", "list"]);
    let left_out = "warning: plugin `aar:tasks`: the bundled one at `TASKS` is there already, so the installed one from \
                    `TASKS` is left out";
    assert!(list.contains(left_out) && list.contains("aar:tasks  0.1.0  bundled"), "{list}");
}

#[test]
fn nothing_yet() {
    let runtime = Runtime::new();
    check(
        &runtime,
        &["session", "list", "--json"],
        &expect![[r"
        exit 0
        --- stdout
        --- stderr
    "]],
    );
    check(
        &runtime,
        &["session", "show"],
        &expect![[r"
        exit 1
        --- stdout
        --- stderr
        error: there are no sessions yet
        hint: make one with `acp-runtime run PROMPT`
    "]],
    );
    for arguments in [
        &["session", "show", "no-such"][..],
        &["session", "export", "no-such"],
        &["session", "delete", "--yes", "no-such"],
    ] {
        check(
            &runtime,
            arguments,
            &expect![[r"
            exit 2
            --- stdout
            --- stderr
            error: unknown session `no-such`
            hint: see `acp-runtime session list`
        "]],
        );
    }
}

/// By the XDG rules relative paths are left out; a home that is one would put files wherever the program is started.
#[cfg(target_os = "linux")]
#[test]
fn relative_places_are_not_used() {
    const XDG: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
    let by_convention = || Runtime::new().env("ACP_RUNTIME_HOME", "");
    let relative = XDG.into_iter().fold(by_convention(), |runtime, name| runtime.env(name, "rel"));
    let paths = relative.run(&["config", "path", "--all"]);
    assert_eq!(paths.code, Some(0), "{paths:?}");
    let home = relative.outside(".config").display().to_string();
    assert!(paths.stdout.starts_with(&format!("config    {home}/acp-runtime/config.toml\n")), "{}", paths.stdout);
    assert!(!paths.stdout.contains("rel/") && paths.stdout.contains("/.local/share/"), "{}", paths.stdout);

    let homeless = by_convention().env("HOME", "foo");
    for arguments in [&["run", "/help"][..], &["--acp"], &["config", "path"], &["doctor"]] {
        check(
            &homeless,
            arguments,
            &expect![[r"
            exit 2
            --- stdout
            --- stderr
            error: `HOME` in the environment: `foo` is not an absolute path
            hint: correct `HOME`, or leave it out
        "]],
        );
    }
    assert!(!homeless.project().join("foo").exists());
    let anywhere = homeless.outside("anywhere").display().to_string();
    let elsewhere = XDG.into_iter().fold(homeless, |runtime, name| runtime.env(name, &anywhere));
    let finished = elsewhere.run(&["run", "/help"]);
    assert_eq!(finished.code, Some(0), "the home is not needed then: {finished:?}");
    assert!(elsewhere.outside("anywhere/acp-runtime/sessions.db").exists());
    let tilde = elsewhere.file("own.toml", "plugins.paths = ['~/plugins']\n");
    let refused = tilde.run(&["--config", "own.toml", "run", "/help"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("`foo` is not an absolute path"), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_is_an_error_and_not_a_loss() {
    let runtime = Runtime::new().file("in-the-way", "a file");
    let runtime = runtime.env("ACP_RUNTIME_HOME", "/proc/no-such-home");
    let finished = runtime.run(&["run", "/help"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("error: ") && finished.stderr.contains("hint: "), "{}", finished.stderr);
}
