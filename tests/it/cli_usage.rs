//! What the command line says of itself, and the exit codes of what makes no sense.

use acp_runtime_tests::{Finished, Runtime};

/// What makes no sense is exit code 2, nothing on stdout, and an error that names it with a hint; what only fails is 1.
#[test]
fn what_makes_no_sense_is_told_apart_from_what_fails() {
    let runtime = Runtime::new().file("no-plugin.wasm", "x").file("broken.json", "{").file("file", "");
    for (arguments, code, error) in [
        // What is typed.
        (&["--no-such-flag"][..], 2, "unexpected argument '--no-such-flag'"),
        (&["no-such-command"], 2, "unrecognized subcommand 'no-such-command'"),
        (&["run"], 2, "the following required arguments were not provided"),
        (&["run", ""], 2, "the prompt is empty"),
        (&["run", "a", "b"], 2, "unexpected argument 'b'"),
        (&["run", "--allow", "wirte", "x"], 2, "invalid value 'wirte' for '--allow <EFFECT>'"),
        (&["--mode", "yolo", "run", "x"], 2, "invalid value 'yolo' for '--mode <MODE>'"),
        (&["--log-level", "loud", "doctor"], 2, "invalid value 'loud' for '--log-level <LEVEL>'"),
        (&["run", "--continue", "--session", "x", "x"], 2, "the argument '--continue' cannot be used with"),
        (&["session", "export", "--format", "html"], 2, "invalid value 'html' for '--format <FORMAT>'"),
        (&["plugin", "install"], 2, "the following required arguments were not provided"),
        (&["secret", "set", "a.b"], 2, "invalid value 'a.b' for '<NAME>'"),
        (&["completions", "tcsh"], 2, "invalid value 'tcsh' for '<SHELL>'"),
        // The configuration.
        (&["--config", "missing.toml", "run", "x"], 2, "`missing.toml` does not exist"),
        (&["--mcp", "missing.json", "run", "x"], 2, "`missing.json` does not exist"),
        (&["--mcp", "broken.json", "run", "x"], 2, "`broken.json` names no MCP servers"),
        (&["--log-file", "file/log", "session", "list"], 2, "the log file `file/log` cannot be written"),
        (&["--model", "nope/x", "run", "x"], 2, "no provider `nope` for the model `nope/x`"),
        (&["--model", "no name", "run", "x"], 2, "no provider `no name` for the model `no name`"),
        (&["--model", "anthropic", "run", "x"], 2, "`anthropic` is a provider without a model"),
        (&["--model", "script:missing.toml", "run", "x"], 2, "cannot play the scenario `missing.toml`"),
        (&["--model", "nope/x", "config", "check"], 2, "no provider `nope` for the model `nope/x`"),
        // Names that nothing has.
        (&["run", "--cwd", "missing", "x"], 2, "`PROJECT/missing` cannot be opened as a folder of the session"),
        (&["run", "--cwd", "file", "x"], 2, "`PROJECT/file` cannot be opened as a folder of the session"),
        (&["session", "show", "missing"], 2, "unknown session `missing`"),
        (&["session", "export", "missing"], 2, "unknown session `missing`"),
        (&["session", "delete", "--yes", "missing"], 2, "unknown session `missing`"),
        (&["plugin", "info", "missing.wasm"], 2, "`missing.wasm` cannot be read"),
        (&["plugin", "info", "nope:nope"], 2, "there is no plugin `nope:nope`"),
        (&["plugin", "remove", "nope:nope"], 2, "`nope:nope` is not installed"),
        (&["plugin", "remove", "aar:notes"], 2, "`aar:notes` is not installed, it is bundled"),
        (&["plugin", "remove", "Nope"], 2, "there is no plugin `Nope`"),
        (&["plugin", "install", "missing.wasm"], 2, "`missing.wasm` cannot be read"),
        (
            &["plugin", "install", "tasks"],
            2,
            "`tasks` cannot be read: No such file or directory (os error 2)\nhint: check the path; a plugin is named with \
             its namespace, as `aar:tasks`",
        ),
        (
            &["plugin", "build", "--component", "missing", "--manifest", "file", "--output", "x"],
            2,
            "`missing` cannot be read",
        ),
        (&["login", "nope"], 2, "no provider `nope` is configured"),
        (&["logout", "nope"], 2, "no provider `nope` is configured"),
        (&["secret", "remove", "nope"], 2, "there is no secret `nope`"),
        // What makes sense and fails.
        (&["session", "show"], 1, "there are no sessions yet"),
        (&["plugin", "install", "no-plugin.wasm"], 1, "`no-plugin.wasm` is not a WebAssembly component"),
    ] {
        let finished = runtime.run(arguments);
        let told = finished.stderr.replace(&runtime.project().display().to_string(), "PROJECT");
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(code), ""), "{arguments:?}: {told}");
        assert!(told.starts_with(&format!("error: {error}")), "{arguments:?}: {told}");
        assert!(code == 1 || told.contains("\nhint: "), "{arguments:?}: {told}");
    }
}

/// Whoever typed something wrong is led to the page of what they typed.
#[test]
fn a_usage_error_leads_to_the_help_of_its_command() {
    let runtime = Runtime::new();
    for (arguments, command) in [
        (&["--bogus"][..], ""),
        (&["sesion", "list"], ""),
        (&["run"], "run "),
        (&["session", "export", "--format", "html"], "session export "),
        (&["session", "lst"], "session "),
        (&["--mode", "plan", "plugin", "install"], "plugin install "),
    ] {
        let finished = runtime.run(arguments);
        let hint = format!("\nhint: see `acp-runtime {command}--help`\n");
        assert!(finished.code == Some(2) && finished.stderr.ends_with(&hint), "{arguments:?}: {}", finished.stderr);
    }
}

/// A path or a name that begins with `-` can be given: behind `--`, or as the value of an option.
#[test]
fn what_begins_with_a_dash_is_not_always_an_option() {
    let runtime = Runtime::new().file("--odd/a.txt", "x").file("-c.toml", "mode = 'plan'\n").file("-m.json", "{}");
    for (arguments, code, told) in [
        (&["run", "--cwd", "--odd", "/call list_directory {}"][..], 0, "a.txt"),
        (&["run", "--cwd=--odd", "/call list_directory {}"], 0, "a.txt"),
        (&["run", "--cwd", "--odd", "--", "--hello"], 2, "error: no model is configured"),
        (&["session", "list", "--cwd", "--odd"], 0, "/--odd"),
        (&["--config", "-c.toml", "config", "show"], 0, "mode = \"plan\""),
        (&["--config", "-c.toml", "config", "path"], 0, "-c.toml"),
        (&["--mcp", "-m.json", "config", "check"], 2, "`-m.json` names no MCP servers"),
        (&["--log-file", "-x.log", "config", "path"], 0, "config.toml"),
        (&["plugin", "info", "--", "--odd/a.txt"], 1, "`--odd/a.txt` is not a WebAssembly component"),
        (&["plugin", "install", "--", "--odd"], 1, "`--odd` has 0 `.wasm` files"),
        (&["plugin", "install", "--", "--no"], 2, "`--no` cannot be read"),
        (&["plugin", "remove", "--", "--odd"], 2, "there is no plugin `--odd`"),
        (
            &["plugin", "build", "--component", "--odd/a.txt", "--manifest", "-c.toml", "--output", "--out"],
            1,
            "error: `-c.toml`: ",
        ),
        (&["session", "export", "--output", "--odd/out.md"], 0, "--odd/out.md"),
        (&["session", "show", "--", "--odd"], 2, "unknown session `--odd`"),
        (&["session", "delete", "--yes", "--", "--odd"], 2, "unknown session `--odd`"),
        (&["login", "--", "--odd"], 2, "no provider `--odd` is configured"),
    ] {
        let Finished { code: ended, stdout, stderr } = runtime.run(arguments);
        assert_eq!(ended, Some(code), "{arguments:?}: {stdout}{stderr}");
        assert!((stdout.clone() + &stderr).contains(told), "{arguments:?}: {stdout}{stderr}");
    }
    assert!(runtime.read("--odd/out.md").starts_with("# "));
}

/// The bare name at a terminal says what the program is and what to begin with.
#[test]
fn the_bare_name_says_what_to_begin_with() {
    let (seen, code) = Runtime::new().at_a_terminal(&[], "");
    assert_eq!(code, Some(2), "{seen}");
    let begin = seen.split("Usage:").next().unwrap();
    for word in ["To begin:", "acp-runtime login", "acp-runtime --acp", "acp-runtime run", "acp-runtime doctor"] {
        assert!(begin.contains(word), "{seen}");
    }
}
