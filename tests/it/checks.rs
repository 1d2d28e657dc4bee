//! `doctor` and `config check` find what would fail later, and nothing that is shown has a secret in it.
#![expect(clippy::disallowed_methods, reason = "lays out what is in the way")]

use std::path::Path;

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{Finished, Runtime};
use expect_test::expect;
use serde_json::json;

/// Takes the machine's own names out.
fn plain(text: &str, runtime: &Runtime) -> String {
    let home = runtime.home().display().to_string();
    text.replace(&home, "HOME").replace(&runtime.project().display().to_string(), "PROJECT")
}

/// `config check` must end with this exit code and complaint, and `doctor` must fail with the same.
fn refused(runtime: &Runtime, code: i32, error: &str, hint: &str) {
    let check = runtime.run(&["config", "check"]);
    assert_eq!(plain(&check.stderr, runtime), format!("error: {error}\nhint: {hint}\n"), "{check:?}");
    assert_eq!(check.code, Some(code), "{check:?}");
    let doctor = runtime.run(&["doctor"]);
    let told = plain(&doctor.stdout, runtime);
    let line = told.lines().skip_while(|line| !line.starts_with("fail") || !line.ends_with(error)).nth(1);
    assert_eq!(line.map(str::trim), Some(format!("hint: {hint}").as_str()), "{told}");
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
}

#[cfg(unix)]
fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn a_key_that_cannot_be_sent() {
    let provider = "[providers.lab]\nwire = 'openai-chat'\nmodel = 'm'\n";
    let hint = "see `model` and `[providers]` in the file of `acp-runtime config path`";
    for (key, problem) in [
        ("\"sk-secret-1\\n\"", "it has a line end in it; write it without"),
        ("'schlüssel'", "it has characters that a header cannot carry; a key is plain ASCII"),
    ] {
        let runtime = Runtime::new().config(&format!("{provider}api_key = {key}\n"));
        refused(&runtime, 2, &format!("`api_key` cannot be sent: {problem}, in `[providers.lab]`"), hint);
    }
    let runtime = Runtime::new().config(&format!("{provider}api_key_env = 'KEY'\n")).env("KEY", "sk-secret-1\nx");
    let doctor = runtime.run(&["doctor"]);
    let problem = "fail  model     the API key of `lab` cannot be fetched (the one from the environment variable `KEY` \
                   cannot be sent: it has a line end in it; write it without)\n";
    assert!(doctor.stdout.contains(problem) && !doctor.stdout.contains("sk-secret"), "{doctor:?}");
    let run = runtime.run(&["run", "Hi"]);
    assert!(run.code == Some(1) && run.stderr.contains("it has a line end in it"), "{run:?}");
}

#[test]
fn a_key_that_is_too_short_to_be_masked() {
    let runtime = Runtime::new().config("[providers.lab]\nwire = 'openai-chat'\nmodel = 'm'\napi_key = 'x'\n");
    let doctor = runtime.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("warn  model     `lab/m`, with the key from `api_key`, which is so short"),
        "{doctor:?}"
    );
    let check = runtime.run(&["config", "check"]);
    let warning = "warning: `api_key` in `[providers.lab]` is so short that it is not masked where others repeat it\n";
    assert_eq!((check.code, check.stderr.as_str()), (Some(0), warning));
}

/// What is known of a key without fetching it: no program is started for that.
#[test]
fn keys_that_cannot_be_had() {
    let provider = "[providers.lab]\nwire = 'openai-chat'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1/v1'\n";
    let missing = Runtime::new().config(&format!("{provider}api_key_env = 'LAB_KEY'\n"));
    let check = missing.run(&["config", "check"]);
    let warning = "warning: `lab` needs an API key and none is set\nhint: run `acp-runtime login lab`, or set the \
                   environment variable `LAB_KEY`, or set `api_key` in `[providers.lab]`\n";
    assert_eq!((check.code, check.stderr.as_str()), (Some(0), warning));
    let named = Runtime::new().run(&["--model", "claude-opus-4-8", "config", "check"]);
    assert!(named.code == Some(0) && named.stderr.starts_with("warning: `anthropic` needs an API key"), "{named:?}");
    let unfit = missing.env("LAB_KEY", "sk-secret-1\nx").run(&["config", "check"]);
    let error = "error: the API key of `lab`: the one from the environment variable `LAB_KEY` cannot be sent: it has a \
                 line end in it; write it without\nhint: correct `LAB_KEY`, or unset it\n";
    assert_eq!((unfit.code, unfit.stderr.as_str()), (Some(1), error));

    for (command, problem, hint) in [
        ("['no-such-keeper']", "the program `no-such-keeper` was not found", "install it, or write its whole path"),
        ("['./text']", "`./text` may not be executed", "name a program, or make the file one with `chmod +x`"),
    ] {
        let runtime = Runtime::new().config(&format!("{provider}api_key_command = {command}\n"));
        // Relative paths begin in the person's own folder.
        std::fs::write(runtime.outside("text"), "").unwrap();
        let check = runtime.run(&["config", "check"]);
        let error = format!("error: the API key of `lab`: `api_key_command`: {problem}\nhint: {hint}\n");
        assert_eq!((check.code, check.stderr), (Some(1), error));
    }
    // Nor is one that is there; the doctor asks it.
    let asked = Runtime::new().config(&format!("{provider}api_key_command = ['touch', 'asked']\n"));
    assert_eq!(asked.run(&["config", "check"]).code, Some(0));
    assert!(!asked.outside("asked").exists(), "nothing is started");
    let spare = "[providers.spare]\nwire = 'anthropic'\nmodel = 'm'\n";
    let doctor = Runtime::new().config(&format!("model = 'none'\n{spare}")).run(&["doctor"]);
    assert!(doctor.stdout.contains("warn  key       `spare` needs an API key and none is set\n"), "{doctor:?}");
}

/// A folder that cannot be made is not in order, whoever asks.
#[cfg(target_os = "linux")]
#[test]
fn folders_that_cannot_be_made() {
    let runtime = Runtime::new();
    std::os::unix::fs::symlink(runtime.outside("nowhere"), runtime.home().join("plugins")).unwrap();
    std::os::unix::fs::symlink(runtime.outside("nowhere"), runtime.home().join("audit")).unwrap();
    let doctor = runtime.run(&["doctor"]);
    for (name, without) in [("plugins", "none can be installed"), ("audit", "decisions are not kept")] {
        let line = format!(
            "warn  folders   `HOME/{name}` cannot be written: `HOME/{name}` is a link that leads nowhere; {without}"
        );
        assert!(plain(&doctor.stdout, &runtime).contains(&line), "{doctor:?}");
    }
    assert!(!runtime.outside("nowhere").exists(), "nothing is made");
    let nowhere = Runtime::new().env("ACP_RUNTIME_HOME", "/proc/acp-runtime");
    let doctor = nowhere.run(&["doctor"]);
    assert!(doctor.stdout.contains("warn  folders   `/proc/acp-runtime/plugins` cannot be written: "), "{doctor:?}");
    assert!(!doctor.stdout.contains("ok    folders"), "{doctor:?}");
}

#[test]
fn files_that_cannot_be_written() {
    let log = Runtime::new().config("log.file = 'no/such/log'\n");
    let hint = "name another one with `--log-file` or `log.file`";
    let error = "`HOME/no/such/log` cannot be written: `HOME/no/such` is not a folder; nothing starts without its log";
    refused(&log, 1, error, hint);

    let audit = Runtime::new();
    std::fs::create_dir_all(audit.home().join("audit/decisions.jsonl")).unwrap();
    let error = "`HOME/audit/decisions.jsonl` cannot be written: it is a folder, not a file; decisions are not kept";
    refused(&audit, 1, error, "make it a file that you can write, or move it away");
}

#[test]
fn a_plugin_that_is_cut_off() {
    let runtime = Runtime::new().config("plugins.paths = ['cut.wasm']\n");
    std::fs::write(runtime.home().join("cut.wasm"), b"\0asm\x0d\0\x01\0\0\xff").unwrap();
    let check = runtime.run(&["config", "check"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stderr.contains("cut.wasm") && check.stderr.contains("\nhint: replace it or remove it"), "{check:?}");
    let doctor = runtime.run(&["doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("fail  plugins"), "{doctor:?}");
}

#[test]
fn settings_that_a_plugin_does_not_take() {
    let runtime = Runtime::new().config("[plugins.settings.'aar:tasks']\ncolour = 'red'\n");
    let error = "`aar:tasks` is left out: it has no settings, but the configuration has some for it: remove them";
    refused(&runtime, 1, error, "see `[plugins.settings.\"aar:tasks\"]`");
}

#[test]
fn plugins_that_are_not_there() {
    let runtime = Runtime::new().config("plugins.disabled = ['aar:nope']\n[plugins.settings.'aar:no']\nx = 1\n");
    let doctor = runtime.run(&["doctor"]);
    let warnings = doctor.stdout.lines().filter_map(|line| line.strip_prefix("warn  plugins   "));
    let told = [
        "`plugins.disabled` names `aar:nope`, which is not there",
        "`plugins.settings` names `aar:no`, which is not there",
    ];
    assert_eq!(warnings.collect::<Vec<_>>(), told);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
}

#[test]
fn publishers_that_cannot_be_read() {
    let runtime = Runtime::new();
    let found = runtime.run(&["config", "path", "--all"]);
    let path = found.stdout.lines().find_map(|line| line.strip_prefix("trust")).expect("a line of it").trim();
    std::fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
    std::fs::write(path, "[publishers.acme]\nnamespace = ['acme']\n").unwrap();
    let error = "cannot be read: line 2, column 1: unknown field `namespace`, expected `namespaces` or `keys`";
    let path = plain(path, &runtime);
    let hint = "correct the file; until then nothing that needs a signature is installed";
    refused(&runtime, 1, &format!("`{path}` {error}"), hint);
}

#[test]
fn addresses_in_the_place_of_a_registry_s_host() {
    for (line, place, host) in [
        ("default = 'https://registry.example'", "2:11: `default`", "https://registry.example"),
        ("namespaces = { acme = 'registry.example/acme' }", "2:14: `namespaces`", "registry.example/acme"),
        ("plain_http = ['http://lan:5000']", "2:14: `plain_http`", "http://lan:5000"),
        ("default = ''", "2:11: `default`", ""),
    ] {
        let runtime = Runtime::new().config(&format!("[plugins.registry]\n{line}\n"));
        let checked = runtime.run(&["config", "check"]);
        let told =
            format!("{place}: `{host}` is no host: write it alone, such as `registry.example` or `localhost:5000`\n");
        assert!(checked.code == Some(2) && checked.stderr.contains(&told), "{line}: {checked:?}");
    }
}

#[test]
fn plugins_that_are_off() {
    let runtime = Runtime::new().config("plugins.disabled = ['aar:notes']\n");
    let doctor = runtime.run(&["doctor"]);
    assert!(doctor.stdout.contains("ok    plugins   4 can be used; off: `aar:guard`, `aar:notes`\n"), "{doctor:?}");
}

/// All that can be known of servers without starting or asking any.
#[test]
fn servers_that_cannot_be_reached() {
    let runtime = Runtime::new()
        .file("text", "no program")
        .file("servers.json", r#"{"mcpServers": {"old": {"type": "sse", "url": "http://h"}}}"#);
    let with = |lines: &str| Runtime::new().config(lines);
    for (lines, error, hint) in [
        (
            "[mcp.a]\ncommand = 'no-such-program'",
            "`mcp.a.command` in `HOME/config.toml`: the program `no-such-program` was not found",
            "install it, or write its whole path",
        ),
        (
            "[mcp.a]\ncommand = '/etc/passwd'",
            "`mcp.a.command` in `HOME/config.toml`: `/etc/passwd` may not be executed",
            "name a program, or make the file one with `chmod +x`",
        ),
        (
            "[mcp.'two words']\ncommand = 'sh'\nargs = ['-c', '${NO_SUCH}']",
            "`mcp.\"two words\".args[1]` in `HOME/config.toml`: the variable `NO_SUCH` is not set",
            "set it, or write `${NO_SUCH:-}` where it may be empty",
        ),
        (
            "[mcp.a]\ncommand = 'sh'\nenv = { KEY = 'x${NO_SUCH}' }",
            "`mcp.a.env.KEY` in `HOME/config.toml`: the variable `NO_SUCH` is not set",
            "set it, or write `${NO_SUCH:-}` where it may be empty",
        ),
        (
            "[mcp.a]\nurl = 'host/mcp'",
            "`mcp.a.url` in `HOME/config.toml`: its address cannot be used: it does not begin with `http://` or `https://`",
            "write `https://HOST/PATH`, and secrets as `headers`",
        ),
        (
            "[mcp.a]\nurl = 'https://me:hunter2@host/mcp'",
            "`mcp.a.url` in `HOME/config.toml`: its address cannot be used: it has a name or a password in it",
            "write `https://HOST/PATH`, and secrets as `headers`",
        ),
        (
            "[mcp.a]\nurl = 'http://h'\nheaders = { 'X Key' = 'hunter2' }",
            "`mcp.a.headers.X Key` in `HOME/config.toml`: `X Key` in its headers is no header",
            "correct its name or value",
        ),
    ] {
        let runtime = with(lines);
        let told = runtime.run(&["config", "check"]);
        let expected = format!("error: {error}\nhint: {hint}\n");
        assert!(plain(&told.stderr, &runtime).ends_with(&expected), "{lines}: {told:?}");
        assert_eq!(told.code, Some(1), "{told:?}");
        let doctor = runtime.run(&["doctor"]);
        let line = format!("fail  mcp       {error}\n                hint: {hint}\n");
        assert!(plain(&doctor.stdout, &runtime).contains(&line), "{doctor:?}");
        assert!(doctor.code == Some(1) && !doctor.stdout.contains("hunter2"), "{doctor:?}");
    }

    let told = runtime.run(&["--mcp", "servers.json", "config", "check"]);
    let error = "error: `mcpServers.old.type` in `servers.json`: servers of the type `sse` are not supported\n";
    assert!(told.code == Some(1) && told.stderr.starts_with(error), "{told:?}");
}

#[test]
fn everything_that_is_wrong_with_servers_is_told() {
    let file = r#"{"mcpServers": {"shell": {"command": "sh"}, "gone": {"command": "no-such-program", "env": {"A": "${NO_SUCH}"}}}}"#;
    let runtime = Runtime::new().file("servers.json", file).config(
        "[mcp.shell]\ncommand = 'no-such-program'\n[mcp.'My Shell!']\ncommand = 'sh'\n[mcp.here]\ncommand = './gone.sh'\n\
         [mcp.off]\ncommand = 'no-such-program'\nenabled = false\n[mcp.far]\nurl = 'https://h/?key=hunter2'\n\
         [mcp.one]\ncommand = 'no-such-one'\n",
    );
    let doctor = runtime.run(&["--mcp", "servers.json", "doctor"]);
    let plainly = plain(&doctor.stdout, &runtime);
    let told: String = plainly.split_inclusive('\n').filter(|line| line.contains("  mcp   ")).collect();
    expect![[r#"
        warn  mcp       `mcp."My Shell!"` in `HOME/config.toml`: its tools are called `mcp__My_Shell__…`, and it is `server:My_Shell` in rules
        ok    mcp       `far`: an address
        fail  mcp       `mcpServers.gone.env.A` in `servers.json`: the variable `NO_SUCH` is not set
        warn  mcp       `mcp.here.command` in `HOME/config.toml`: the program `./gone.sh` was not found from this folder; it is looked for in each session's own
        fail  mcp       `mcp.one.command` in `HOME/config.toml`: the program `no-such-one` was not found
        ok    mcp       `shell`: the program `sh`
        warn  mcp       the server `shell` of `HOME/config.toml` is not used: `mcpServers.shell` in `servers.json` goes before it
    "#]]
    .assert_eq(&told);
    let check = runtime.run(&["--mcp", "servers.json", "config", "check"]);
    expect![[r#"
        warning: `mcp."My Shell!"` in `HOME/config.toml`: its tools are called `mcp__My_Shell__…`, and it is `server:My_Shell` in rules
        hint: use letters, digits, `-` and single `_`, at most 32, in a way that no other server's name is like it
        warning: `mcp.here.command` in `HOME/config.toml`: the program `./gone.sh` was not found from this folder; it is looked for in each session's own
        hint: write its whole path
        error: `mcpServers.gone.env.A` in `servers.json`: the variable `NO_SUCH` is not set
        hint: set it, or write `${NO_SUCH:-}` where it may be empty
        warning: the server `shell` of `HOME/config.toml` is not used: `mcpServers.shell` in `servers.json` goes before it
        hint: give each server a name of its own
        error: `mcp.one.command` in `HOME/config.toml`: the program `no-such-one` was not found
        hint: install it, or write its whole path
    "#]]
    .assert_eq(&plain(&check.stderr, &runtime));
    assert_eq!((check.code, doctor.code), (Some(1), Some(1)));
    assert!(!plainly.contains("hunter2"), "{plainly}");

    let none = Runtime::new().run(&["doctor"]);
    assert!(none.stdout.contains("ok    mcp       no servers are configured\n"), "{none:?}");
}

/// Nobody reads the pipe: whoever opened it would wait for ever.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_audit_stops_nothing() {
    let runtime = Runtime::new().file("a.txt", "hello");
    std::fs::create_dir_all(runtime.home().join("audit")).unwrap();
    pipe(&runtime.home().join("audit/decisions.jsonl"));
    let run = runtime.run(&["run", "/call read_file {\"path\": \"a.txt\"}"]);
    assert!(run.code == Some(0) && run.stdout.contains("hello"), "{run:?}");
}

/// Whoever makes a connection reads this file to its end.
#[cfg(unix)]
#[test]
fn certificates_without_an_end_are_refused() {
    let runtime = Runtime::new();
    let fifo = runtime.outside("pipe");
    pipe(&fifo);
    for path in [Path::new("/dev/zero"), &fifo, &runtime.project()] {
        let path = path.to_str().unwrap();
        let runtime = Runtime::new().env("SSL_CERT_FILE", path);
        for command in [&["run", "Hi"][..], &["--acp"], &["config", "check"]] {
            let Finished { code, stderr, .. } = runtime.run(command);
            let told = format!("error: `SSL_CERT_FILE` in the environment: `{path}` is not a file\n");
            assert_eq!((code, stderr), (Some(2), told + "hint: correct `SSL_CERT_FILE`, or leave it out\n"));
        }
        let doctor = runtime.run(&["doctor"]);
        assert!(doctor.code == Some(1) && doctor.stdout.contains("`SSL_CERT_FILE` in the environment"), "{doctor:?}");
    }
    let absent = Runtime::new().env("SSL_CERT_FILE", "/no/such/file").run(&["run", "/help"]);
    assert_eq!(absent.code, Some(0), "{absent:?}");
}

/// Whatever is wrong with them, and whoever tells of it: passwords and keys are not in it.
#[test]
fn addresses_and_keys_are_never_shown() {
    const SECRETS: [&str; 4] = ["hunter2", "sk-hidden", "47114711", "me:"];
    for lines in [
        "base_url = 'https://me:hunter2@host/v1'",
        "base_url = 'ftp://me:hunter2@host/v1'",
        "base_url = 'me:hunter2@host:x/v1'",
        "base_url = 'https://me:hunter2@host:port/v1'",
        "base_url = 'https://host/v1?key=sk-hidden'",
        "base_url = 'https://host/v1#sk-hidden'",
        "api_key = 47114711",
        "api_key = -4711.4711e0\nbase_url = 'x'",
        "headers = { X-Key = 47114711 }",
        "api_key = sk-hidden",
        "api_key = ['sk-hidden']",
        "api_key = { a = 'sk-hidden' }",
        "api_key = 'sk-hidden",
    ] {
        let runtime = Runtime::new().config(&format!("[providers.lab]\nwire = 'openai-chat'\nmodel = 'm'\n{lines}\n"));
        for command in
            [&["config", "show"][..], &["config", "check"], &["doctor"], &["doctor", "--json"], &["run", "x"]]
        {
            let Finished { code, stdout, stderr } = runtime.run(command);
            let found: Vec<_> =
                SECRETS.into_iter().filter(|secret| (stdout.clone() + &stderr).contains(secret)).collect();
            assert!(found.is_empty(), "{lines}: {command:?}: {found:?}\n{stdout}{stderr}");
            assert!(code != Some(0) || command == ["config", "show"], "{lines}: {command:?}\n{stdout}{stderr}");
        }
    }
    let server = "[mcp.far]\nurl = 'ftp://me:hunter2@host/mcp?key=sk-hidden'\nheaders = { X-Key = 'sk-hidden' }\n";
    let runtime = Runtime::new().config(server);
    for command in [&["config", "show"][..], &["run", "/mcp"]] {
        let Finished { code, stdout, stderr } = runtime.run(command);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(!SECRETS.into_iter().any(|secret| (stdout.clone() + &stderr).contains(secret)), "{stdout}{stderr}");
    }
}

/// What a provider writes to a terminal does not get there, and a long story is cut.
#[tokio::test]
async fn what_a_provider_says_is_quoted_plainly() {
    let says = format!("{}key sk-\u{200b}secret-1 \u{202e}", "\u{1b}[2J\u{7}".repeat(1000));
    let errors = [says.clone() + &"x".repeat(1 << 20), "\u{1b}".repeat(60_000)];
    let body = |message: &str| json!({ "error": { "message": message } }).to_string();
    let double = ModelDouble::start(errors.iter().map(|error| Reply::status(400).body(&body(error)))).await;
    let runtime = Runtime::new().config(&format!(
        "[providers.lab]\nwire = 'openai-chat'\nmodel = 'm'\nbase_url = '{}'\napi_key = 'sk-secret-1'\n",
        double.base_url()
    ));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for _ in errors {
        let prompt = editor.begin_prompt(&session, "Hi");
        let error = editor.turn(prompt).await.unwrap_err();
        let told = format!("{} {}", error.message, error.data);
        assert!(error.message.chars().count() < 500, "{}", error.message);
        assert!(!told.contains("secret-1") && !told.contains("\\u001b") && !told.contains('\u{202e}'), "{told}");
        assert!(!error.message.chars().any(char::is_control), "{}", error.message);
    }
    editor.close().await;
}
