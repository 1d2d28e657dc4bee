//! Keys, from where they are kept to the provider that gets them, and nowhere else.
#![expect(clippy::disallowed_methods, reason = "tests look at files, and start programs with something on stdin")]

use std::process::Command;

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::runtime::{binary, finish};
use acp_runtime_tests::{EditorOptions, Runtime};
use serde_json::{Value, json};

/// A runtime whose one provider, `lab`, is the double, with more lines of its table.
fn runtime(double: &ModelDouble, lines: &str) -> Runtime {
    Runtime::new().config(&format!(
        "[providers.lab]\nwire = \"openai-chat\"\nmodel = \"small\"\nbase_url = \"{}\"\nretries.attempts = 1\n{lines}\n",
        double.base_url()
    ))
}

/// Like [`runtime`], where the provider needs a key that is nowhere yet.
fn keyless(double: &ModelDouble) -> Runtime {
    runtime(double, "api_key_env = \"LAB_KEY\"")
}

/// Runs a command with this on its stdin.
/// The keys that the double was asked with.
fn keys(double: &ModelDouble) -> Vec<String> {
    double.asked().iter().map(|asked| asked.headers.get("authorization").cloned().unwrap_or_default()).collect()
}

#[test]
fn secrets_are_kept_listed_and_removed() {
    let runtime = Runtime::new();
    let set = runtime.run_with(&["secret", "set", "lab"], "sk-secret-1\n");
    assert_eq!((set.code, set.stdout.as_str()), (Some(0), ""), "{set:?}");
    assert!(set.stderr.starts_with("warning: the system's keyring was not used ("), "{}", set.stderr);
    assert!(set.stderr.contains("`lab` is kept in `") && !set.stderr.contains("sk-secret-1"), "{}", set.stderr);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = std::fs::metadata(runtime.home().join("secrets.json")).expect("it is there");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    let list = runtime.run(&["secret", "list"]);
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), "lab                       file\n"));
    let json = runtime.run(&["secret", "list", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&json.stdout).unwrap(), json!({ "name": "lab", "store": "file" }));

    assert_eq!(runtime.run(&["secret", "remove", "lab"]).code, Some(0));
    assert_eq!(runtime.run(&["secret", "list"]).stdout, "");
    let again = runtime.run(&["secret", "remove", "lab"]);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (Some(2), "error: there is no secret `lab`\nhint: see `acp-runtime secret list`\n")
    );
}

#[test]
fn a_value_is_never_an_argument_and_never_empty() {
    let runtime = Runtime::new();
    let argument = runtime.run(&["secret", "set", "lab", "sk-secret-1"]);
    assert_eq!(argument.code, Some(2), "{argument:?}");
    for input in ["", "\n", "\r\n"] {
        let empty = runtime.run_with(&["secret", "set", "lab"], input);
        assert_eq!(
            (empty.code, empty.stderr.lines().next()),
            (Some(2), Some("error: the value is empty")),
            "{input:?}"
        );
    }
    let long = runtime.run_with(&["secret", "set", "lab"], &"x".repeat(70_000));
    assert_eq!(long.code, Some(2), "{}", long.stderr);
    let name = runtime.run(&["secret", "set", "../lab"]);
    assert!(name.code == Some(2) && name.stderr.contains("is not a valid secret name"), "{name:?}");
}

/// What was kept is kept still.
#[cfg(unix)]
#[test]
fn without_room_no_secret_is_kept_and_none_is_lost() {
    let runtime = Runtime::new();
    runtime.keep_secret("lab", "sk-secret-1");
    let set = |name: &str| {
        let mut command = Command::new("sh");
        runtime.furnish(&mut command);
        let limited = "trap '' XFSZ; ulimit -f 0; printf sk-secret-2 | \"$0\" \"$@\"";
        command.args(["-c", limited]).arg(binary()).args(["secret", "set", name]);
        finish(command)
    };
    for name in ["other", "lab"] {
        let refused = set(name);
        assert!(
            refused.code == Some(1) && refused.stderr.contains("hint: make room on the disk"),
            "{name}: {refused:?}"
        );
    }
    let listed = runtime.run(&["secret", "list"]);
    assert!(listed.code == Some(0) && listed.stdout.contains("lab") && !listed.stdout.contains("other"), "{listed:?}");
}

#[cfg(unix)]
#[test]
fn secrets_that_others_could_read_are_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let runtime = Runtime::new();
    runtime.run_with(&["secret", "set", "lab"], "sk-secret-1");
    let file = runtime.home().join("secrets.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let list = runtime.run(&["secret", "list"]);
    assert_eq!(list.code, Some(1), "{list:?}");
    assert!(list.stderr.contains("its mode is 644 and should be 600"), "{}", list.stderr);
    assert!(list.stderr.contains(&format!("hint: make it yours alone: `chmod 600 {}`", file.display())));
}

/// A bus that takes connections and never says anything.
#[cfg(unix)]
#[test]
fn a_keyring_that_does_not_answer_is_given_up_soon() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("bus");
    let _bus = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let runtime = Runtime::new().env("DBUS_SESSION_BUS_ADDRESS", &format!("unix:path={}", socket.display()));
    let began = std::time::Instant::now();
    let set = runtime.run_with(&["secret", "set", "lab"], "sk-secret-1");
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(set.stderr.contains("it did not answer within 2 s"), "{}", set.stderr);
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());

    let strict = runtime.config("[secrets]\nstore = \"keyring\"\n");
    let set = strict.run_with(&["secret", "set", "other"], "sk-secret-2");
    assert_eq!(set.code, Some(1), "{set:?}");
    assert!(set.stderr.contains("error: the system's keyring cannot be used for `other`"), "{}", set.stderr);
    let asked = strict.config("").run(&["secret", "list"]);
    assert!(!asked.stdout.contains("other"), "{}", asked.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kept_key_is_sent_to_its_provider() {
    let double = ModelDouble::start([Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    let runtime = keyless(&double);
    let missing = runtime.run(&["run", "Hi"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let advice = "`lab` needs an API key and none is set; run `acp-runtime login lab`, or set the environment variable \
                  `LAB_KEY`, or set `api_key` in `[providers.lab]`";
    assert!(missing.stderr.contains(advice), "{}", missing.stderr);

    let login = runtime.run_with(&["login"], "sk-of-the-lab\n");
    assert_eq!(login.code, Some(0), "{login:?}");
    assert!(!login.stderr.contains("sk-of-the-lab"), "{}", login.stderr);
    assert_eq!(runtime.run(&["run", "Hi"]).code, Some(0));
    let variable = runtime.env("LAB_KEY", "sk-of-the-environment");
    assert_eq!(variable.run(&["run", "Hi"]).code, Some(0));
    let shadowed = variable.run_with(&["login", "lab"], "sk-newer");
    let warning = "warning: the environment variable `LAB_KEY` goes before it, so it is not used";
    assert!(shadowed.stderr.contains(warning), "{}", shadowed.stderr);
    assert_eq!(keys(&double), ["Bearer sk-of-the-lab", "Bearer sk-of-the-environment"]);

    let logout = variable.run(&["logout"]);
    assert_eq!(logout.code, Some(0), "{logout:?}");
    assert_eq!(
        logout.stderr,
        "the key of `lab` is removed\n`lab` still has a key from the environment variable `LAB_KEY`\n"
    );
    assert_eq!(variable.run(&["logout"]).code, Some(0), "once more is no error");
}

#[test]
fn a_login_that_cannot_be_says_why() {
    let several = "[providers.lab]\nwire = 'ollama'\nmodel = 'm'\n[providers.zoo]\nwire = 'ollama'\nmodel = 'm'\n";
    for (config, arguments, input, error) in [
        (
            "",
            &["login"][..],
            "k",
            "error: no provider is configured\nhint: name one: `acp-runtime login PROVIDER`, of `anthropic`, ",
        ),
        (
            several,
            &["login"],
            "k",
            "error: several providers are configured\nhint: name one: `acp-runtime login PROVIDER`",
        ),
        (several, &["login", "zo"], "k", "error: no provider `zo` is configured\nhint: did you mean `zoo`?"),
        (several, &["login", "zoo"], "two words", "error: this is no key: it has spaces or other odd characters"),
        ("[providers.'a.b']\nwire = 'ollama'\nmodel = 'm'\n", &["login"], "k", "error: no key can be kept for `a.b`"),
    ] {
        let runtime = Runtime::new().config(config);
        let login = runtime.run_with(arguments, input);
        assert_eq!(login.code, Some(2), "{login:?}");
        assert!(login.stderr.starts_with(error), "{}", login.stderr);
    }
    let runtime = Runtime::new().config(several);
    for arguments in [&["--acp", "--login"][..], &["acp", "--login"]] {
        let editor = runtime.run_with(arguments, "k");
        assert!(editor.code == Some(2) && editor.stderr.contains("several providers"), "{editor:?}");
    }
}

/// A model that needs no table needs none to log in for either: an editor starts what it started with `--login` behind it.
#[test]
fn a_login_is_for_the_model_that_was_named() {
    for arguments in [&["--model", "claude-opus-4-8", "login"][..], &["--acp", "--model", "claude-opus-4-8", "--login"]]
    {
        let runtime = Runtime::new();
        let login = runtime.run_with(arguments, "sk-of-the-vendor\n");
        assert_eq!(login.code, Some(0), "{login:?}");
        let kept = runtime.run(&["secret", "list"]);
        assert!(kept.stdout.starts_with("anthropic "), "{kept:?}");
        let models = runtime.run(&["--model", "claude-opus-4-8", "doctor"]);
        assert!(!models.stdout.contains("needs an API key"), "{models:?}");
    }
}

/// The editor's way: the session is refused, the person logs in elsewhere, and the same process goes on.
#[tokio::test]
async fn a_login_in_another_process_is_seen_at_once() {
    let double = ModelDouble::start([Reply::text("Hello"), Reply::status(401), Reply::text("Again")]).await;
    let runtime = keyless(&double);
    let capabilities = json!({ "auth": { "terminal": true } });
    let editor = runtime.spawn(EditorOptions { capabilities, ..EditorOptions::default() });
    let methods = editor.initialize().await["authMethods"].clone();
    let terminal = methods.as_array().unwrap().iter().find(|method| method["type"] == "terminal").expect("a terminal");
    let new = json!({ "cwd": runtime.project(), "mcpServers": [] });
    for method in ["session/new", "authenticate"] {
        let params = if method == "authenticate" { json!({ "methodId": "settings" }) } else { new.clone() };
        let error = editor.request(method, params).await.unwrap_err();
        assert_eq!(
            (error.code, &error.data["reason"], &error.data["provider"]),
            (-32000, &json!("auth"), &json!("lab"))
        );
        assert!(error.message.contains("run `acp-runtime login lab`"), "{error:?}");
    }

    let arguments: Vec<&str> = terminal["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let login = runtime.run_with(&[&["--acp"][..], &arguments].concat(), "sk-first-key");
    assert_eq!(login.code, Some(0), "{login:?}");
    let session = editor.new_session().await;
    assert_eq!(editor.prompt(&session, "Hi").await.text(), "Hello");

    // The key expires, and is replaced while the session is open.
    let refused = editor.turn(editor.begin_prompt(&session, "Hi")).await.unwrap_err();
    assert_eq!((refused.code, &refused.data["status"]), (-32000, &json!(401)));
    let advice =
        "`lab` does not accept the API key from the secret `lab`; run `acp-runtime login lab` with a valid one";
    assert_eq!(refused.message, advice);
    runtime.run_with(&["login"], "sk-second-key");
    assert_eq!(editor.prompt(&session, "Hi").await.text(), "Again");
    assert_eq!(keys(&double), ["Bearer sk-first-key", "Bearer sk-first-key", "Bearer sk-second-key"]);

    assert_eq!(editor.call("logout", json!({})).await, json!({}));
    assert_eq!(editor.request("session/new", new).await.unwrap_err().code, -32000);
    assert_eq!(editor.turn(editor.begin_prompt(&session, "Hi")).await.unwrap_err().code, -32000);
    assert!(!editor.stderr().contains("sk-"), "{}", editor.stderr());
    editor.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_prints_the_key() {
    // The key is the number of the call, so a key that is asked for again differs.
    let script = "n=$(cat $HOME/n 2>/dev/null || echo 0); echo $((n + 1)) > $HOME/n; echo sk-number-$((n + 1))";
    let replies = [Reply::text("one"), Reply::text("two"), Reply::status(401), Reply::text("three")];
    let double = ModelDouble::start(replies).await;
    let runtime = runtime(&double, &format!("api_key_command = [\"sh\", \"-c\", '''{script}''']"));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for text in ["one", "two", "three"] {
        assert_eq!(editor.prompt(&session, "Hi").await.text(), text);
    }
    let expected = ["Bearer sk-number-1", "Bearer sk-number-1", "Bearer sk-number-1", "Bearer sk-number-2"];
    assert_eq!(keys(&double), expected, "it runs again when its key is not accepted");
    editor.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_prints_no_key_is_told_of() {
    let double = ModelDouble::start([]).await;
    for (command, reason) in [
        ("['sh', '-c', 'echo not signed in >&2; exit 3']", "`sh` ended with exit status: 3 (not signed in)"),
        ("['sh', '-c', 'kill -9 $$']", "`sh` ended with signal: 9 (SIGKILL)"),
        ("['true']", "`true` printed nothing"),
        ("['printf', 'a\\nb']", "`printf` printed more than a key"),
        ("['no-such-program']", "the program `no-such-program` was not found"),
    ] {
        let runtime = runtime(&double, &format!("api_key_command = {command}"));
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let error = editor.turn(editor.begin_prompt(&session, "Hi")).await.unwrap_err();
        assert_eq!((error.code, &error.data["reason"]), (-32000, &json!("auth")), "{error:?}");
        assert!(
            error.message.starts_with("the API key of `lab` cannot be fetched (") && error.message.contains(reason),
            "{error:?}"
        );
        editor.close().await;
    }
    assert!(double.asked().is_empty(), "the provider is not asked without the key");
    let config = "[providers.lab]\nwire = 'ollama'\nmodel = 'm'\napi_key_command = []\n";
    let finished = Runtime::new().config(config).run(&["run", "Hi"]);
    assert!(finished.code == Some(2) && finished.stderr.contains("`api_key_command` is empty"), "{finished:?}");
}

#[test]
fn doctor_says_where_the_key_is_from() {
    let config = "[providers.lab]\nwire = 'anthropic'\nmodel = 'm'\napi_key_env = 'LAB_KEY'\n";
    let runtime = Runtime::new().config(config);
    let without = runtime.run(&["doctor"]);
    assert!(
        without.code == Some(1) && without.stdout.contains("fail  model     `lab` needs an API key"),
        "{without:?}"
    );
    let with = runtime.env("LAB_KEY", "sk-secret-1").run(&["doctor"]);
    let line = "ok    model     `lab/m`, with the key from the environment variable `LAB_KEY`\n";
    assert!(with.stdout.contains(line), "{}", with.stdout);
    assert!(!with.stdout.contains("sk-secret-1"), "{}", with.stdout);
}

/// A person at a terminal: what is typed there is not shown.
#[cfg(unix)]
#[test]
fn what_is_typed_at_a_terminal_is_not_shown() {
    const TYPIST: &str = r#"
import os, pty, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
def read():
    global seen
    try:
        chunk = os.read(terminal, 1024)
    except OSError:
        chunk = b""
    seen += chunk
    return chunk
def answer(question, line):
    while question not in seen:
        if not read():
            break
    os.write(terminal, line + b"\n")
answer(b"Which provider (1 to 2)?", b"2")
while b"(not shown):" not in seen and read():
    pass
while termios.tcgetattr(terminal)[3] & termios.ECHO:
    pass
answer(b"(not shown):", b"sk-typed-secret")
while read():
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(status))
"#;
    let config = "[providers.lab]\nwire = 'ollama'\nmodel = 'm'\n[providers.zoo]\nwire = 'anthropic'\nmodel = 'm'\n";
    let runtime = Runtime::new().config(config);
    let mut typist = Command::new("python3");
    runtime.furnish(&mut typist);
    typist.args(["-c", TYPIST]).arg(acp_runtime_tests::runtime::binary()).arg("login");
    let finished = finish(typist);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("1  lab (needs no key)") && finished.stdout.contains("2  zoo (has no key)"));
    assert!(finished.stdout.contains("`zoo` is kept in"), "{finished:?}");
    assert!(!finished.stdout.contains("sk-typed-secret"), "{finished:?}");
    let kept = std::fs::read_to_string(runtime.home().join("secrets.json")).expect("it is there");
    assert!(kept.contains("sk-typed-secret"));
}
