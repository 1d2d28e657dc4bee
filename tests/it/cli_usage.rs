//! What the command line says of itself, and the exit codes of what makes no sense.

use acp_runtime_tests::{Finished, Runtime};
use expect_test::{Expect, expect};

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
        (&["plugin", "remove", "Nope"], 2, "`Nope` is not a valid plugin id"),
        (&["plugin", "install", "missing.wasm"], 2, "`missing.wasm` cannot be read"),
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

/// Every command, as `--help` is asked of it.
const COMMANDS: [&str; 30] = [
    "",
    "acp",
    "run",
    "session",
    "session list",
    "session show",
    "session export",
    "session delete",
    "plugin",
    "plugin list",
    "plugin info",
    "plugin install",
    "plugin remove",
    "plugin build",
    "config",
    "config show",
    "config path",
    "config check",
    "config schema",
    "login",
    "logout",
    "secret",
    "secret set",
    "secret list",
    "secret remove",
    "models",
    "doctor",
    "completions",
    "help",
    "help run",
];

fn help(runtime: &Runtime, command: &str) -> String {
    let mut arguments: Vec<&str> = command.split_whitespace().collect();
    if arguments.first() != Some(&"help") {
        arguments.push("--help");
    }
    let finished = runtime.run(&arguments);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{command}");
    finished.stdout
}

/// What is at the end of every page but the first.
const SETTINGS: &str =
    "\n\nSettings (see `acp-runtime --help`): --config, --model, --mode, --log-level, --log-file, --mcp\n";

/// The page without that.
fn own(page: &str) -> String {
    format!("{}\n", page.strip_suffix(SETTINGS).expect("it says where the settings are explained"))
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
        (&["plugin", "remove", "--", "--odd"], 2, "`--odd` is not a valid plugin id"),
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

#[test]
fn every_page_of_help_reads_well() {
    let runtime = Runtime::new();
    expect![[r#"
        An ACP agent whose tools, commands and panels are sandboxed WASM components

        Usage: acp-runtime [OPTIONS] [COMMAND]

        Commands:
          acp          Be an ACP agent on stdin and stdout: what an editor starts
          run          Answer one prompt and exit
          session      See, export and delete the sessions that were kept
          plugin       See, install, remove and build plugins
          config       See and check the configuration
          login        Keep a provider's API key; it is asked for, or read from stdin
          logout       Forget the API keys that were kept
          secret       Keep, list and remove secrets
          models       List the models to choose from, what they cost and where their keys are
          doctor       Check that everything is in order: configuration, folders, plugins, MCP servers,
                       model and system
          completions  Print the completions of a shell
          help         Print this message or the help of the given subcommand(s)

        Options:
              --acp      Be an ACP agent on stdin and stdout: what an editor starts
          -h, --help     Print help
          -V, --version  Print version

        Settings:
              --config <FILE>      The configuration file, in place of the one that `acp-runtime config
                                   path` names
              --model <MODEL>      The model of new sessions: `none`, `script:FILE`, a provider,
                                   `provider/model`, or a vendor's model such as `claude-opus-4-8`; by
                                   default the configured one
              --mode <MODE>        The mode of new sessions; by default the configured one, or else `review`
                                   [possible values: review, auto-edit, auto, read-only, plan]
              --log-level <LEVEL>  What to log: `off`, `error`, `warn`, `info`, `debug` or `trace`, and
                                   others for single rooms: `warn,host=debug`; by default `warn`
              --log-file <FILE>    Where to log, instead of stderr
              --mcp <FILE>         A JSON file with MCP servers (`mcpServers`), for every session. May be
                                   repeated

        Without a command it is an ACP agent on stdin and stdout.

        Environment:
          ACP_RUNTIME_CONFIG, ACP_RUNTIME_MODEL, ACP_RUNTIME_MODE, ACP_RUNTIME_LOG  stand in for the options
          ACP_RUNTIME_HOME                                                          one folder for all files

        Rooms of the log:
          acp agent audit cli compose host mcp models plugin process programs request runtime
          secrets settings store terminal tools transport workspace

        A path or a name that begins with `-` goes behind `--`; the value of an option may begin with it.

        Exit code:
          0  it was done
          1  it was tried and failed, or was refused: a turn, a tool, a file, a check
          2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
             command that is used in another way, a setting, a prompt where no model is configured
          130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP
    "#]]
    .assert_eq(&help(&runtime, ""));
    let pages: Vec<String> =
        COMMANDS[1..28].iter().map(|command| format!("# {command}\n{}", own(&help(&runtime, command)))).collect();
    let expected: Expect = expect![[r#"
        # acp
        Be an ACP agent on stdin and stdout: what an editor starts

        Usage: acp-runtime acp

        Options:
          -h, --help  Print help

        # run
        Answer one prompt and exit

        Usage: acp-runtime run [OPTIONS] <PROMPT>

        Arguments:
          <PROMPT>  The prompt; `-` reads it from stdin

        Options:
              --cwd <FOLDER>    The project's folder; the current one by default
              --continue        Go on with the latest session of the folder
              --session <ID>    Go on with that session, in its own folder
              --json            Print every event as a line of JSON
              --allow <EFFECT>  Allow what would be asked for: a class of effects (`write`, `run`, … or
                                `all`), with a pattern where wanted (`write:notes/**`). May be repeated
              --deny <EFFECT>   Deny effects, whatever else allows them. May be repeated
          -h, --help            Print help

        Answers go to stdout, on a terminal with their Markdown rendered; what is done, and errors, go to
        stderr. What is piped in is context: the model is shown it beside the prompt. Ctrl-C cancels what
        runs and keeps it; once more it quits at once.

        With `--json` each line of stdout is what an editor is told: the parameters of an ACP
        `session/update`, and as the last line the `result` or `error` of the `session/prompt`.

        Exit code:
          0  it was done
          1  it was tried and failed, or was refused: a turn, a tool, a file, a check
          2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
             command that is used in another way, a setting, a prompt where no model is configured
          130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP

        # session
        See, export and delete the sessions that were kept

        Usage: acp-runtime session <COMMAND>

        Commands:
          list    List the sessions, newest first
          show    Print what was said and done in a session
          export  Write a session as one document
          delete  Delete sessions for good
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # session list
        List the sessions, newest first

        Usage: acp-runtime session list [OPTIONS]

        Options:
              --cwd <FOLDER>  Only those of this folder
              --json          Print one JSON object a line
          -h, --help          Print help

        # session show
        Print what was said and done in a session

        Usage: acp-runtime session show [OPTIONS] [ID]

        Arguments:
          [ID]  The session; the newest by default

        Options:
              --json  Print every event as a line of JSON
          -h, --help  Print help

        # session export
        Write a session as one document

        Usage: acp-runtime session export [OPTIONS] [ID]

        Arguments:
          [ID]  The session; the newest by default

        Options:
              --format <FORMAT>  Markdown is for people, JSON for programs; by default JSON for a file
                                 `*.json`, else Markdown [possible values: markdown, json]
              --output <FILE>    Where it goes, instead of stdout
          -h, --help             Print help

        # session delete
        Delete sessions for good

        Usage: acp-runtime session delete [OPTIONS] <ID>...

        Arguments:
          <ID>...  The sessions

        Options:
              --yes   Delete without a question
              --json  Print one JSON object a line
          -h, --help  Print help

        # plugin
        See, install, remove and build plugins

        Usage: acp-runtime plugin <COMMAND>

        Commands:
          list     List the plugins, and what each may do
          info     Say what a plugin offers and what it asks for
          install  Install a plugin, or another version of one, and grant what it asks for
          remove   Remove an installed plugin
          build    Put a manifest into a component
          help     Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # plugin list
        List the plugins, and what each may do

        Usage: acp-runtime plugin list [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        The columns: id, version, where it is from, rights, description. A right with a `?` was not granted,
        and is asked for when it is used.

        # plugin info
        Say what a plugin offers and what it asks for

        Usage: acp-runtime plugin info [OPTIONS] <PLUGIN>

        Arguments:
          <PLUGIN>  Its id, its name where only one has that, or a component file

        Options:
              --json  Print JSON
          -h, --help  Print help

        # plugin install
        Install a plugin, or another version of one, and grant what it asks for

        Usage: acp-runtime plugin install [OPTIONS] <SOURCE>

        Arguments:
          <SOURCE>  A component file, or the folder with it

        Options:
              --yes   Grant all that it asks for without a question
              --json  Print JSON
          -h, --help  Print help

        The plugin is checked, and the rights that it asks for are shown before anything is installed.
        Without a terminal nobody can be asked, and `--yes` is needed to grant them. What was decided about
        a right holds for another version of the plugin: only what it newly asks for is asked about.

        # plugin remove
        Remove an installed plugin

        Usage: acp-runtime plugin remove [OPTIONS] <PLUGIN>

        Arguments:
          <PLUGIN>  Its id, or its name where only one has that

        Options:
              --json  Print JSON
          -h, --help  Print help

        # plugin build
        Put a manifest into a component

        Usage: acp-runtime plugin build --component <FILE> --manifest <FILE> --output <FILE>

        Options:
              --component <FILE>  The component, as the compiler made it
              --manifest <FILE>   The plugin's `plugin.toml`
              --output <FILE>     Where the plugin goes
          -h, --help              Print help

        # config
        See and check the configuration

        Usage: acp-runtime config <COMMAND>

        Commands:
          show    Print the settings as they hold in the current folder, defaults included and secrets as
                  `****`
          path    Print where the configuration file is, or would be
          check   Check the configuration of the user and of the current folder
          schema  Print the JSON Schema of the configuration file
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # config show
        Print the settings as they hold in the current folder, defaults included and secrets as `****`

        Usage: acp-runtime config show

        Options:
          -h, --help  Print help

        # config path
        Print where the configuration file is, or would be

        Usage: acp-runtime config path [OPTIONS]

        Options:
              --all   Print where all files are: a name and a path on each line
          -h, --help  Print help

        # config check
        Check the configuration of the user and of the current folder

        Usage: acp-runtime config check

        Options:
          -h, --help  Print help

        # config schema
        Print the JSON Schema of the configuration file

        Usage: acp-runtime config schema

        Options:
          -h, --help  Print help

        # login
        Keep a provider's API key; it is asked for, or read from stdin

        Usage: acp-runtime login [PROVIDER]

        Arguments:
          [PROVIDER]  The provider, by its name in the configuration; you are asked if there are several

        Options:
          -h, --help  Print help

        # logout
        Forget the API keys that were kept

        Usage: acp-runtime logout [PROVIDER]

        Arguments:
          [PROVIDER]  The provider; all of them by default

        Options:
          -h, --help  Print help

        # secret
        Keep, list and remove secrets

        Usage: acp-runtime secret <COMMAND>

        Commands:
          set     Keep a secret; its value is asked for, or read from stdin
          list    List the names of the secrets, and where each is kept
          remove  Remove a secret
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # secret set
        Keep a secret; its value is asked for, or read from stdin

        Usage: acp-runtime secret set <NAME>

        Arguments:
          <NAME>  Its name

        Options:
          -h, --help  Print help

        # secret list
        List the names of the secrets, and where each is kept

        Usage: acp-runtime secret list [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        # secret remove
        Remove a secret

        Usage: acp-runtime secret remove <NAME>

        Arguments:
          <NAME>  Its name

        Options:
          -h, --help  Print help

        # models
        List the models to choose from, what they cost and where their keys are

        Usage: acp-runtime models [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        Beside those of the configuration, a vendor's model can be named as it is: `claude-…` is asked of
        Anthropic, `gpt-…` and `o3` of OpenAI, `gemini-…` of Google, each at its own address and with the
        key of `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` or `acp-runtime login`; any other
        name of Ollama on this machine. `anthropic/…`, `openai/…`, `gemini/…` and `ollama/…` say so.

        # doctor
        Check that everything is in order: configuration, folders, plugins, MCP servers, model and system

        Usage: acp-runtime doctor [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        A warning is no failure.

        Exit code:
          0  it was done
          1  it was tried and failed, or was refused: a turn, a tool, a file, a check
          2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
             command that is used in another way, a setting, a prompt where no model is configured
          130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP

        # completions
        Print the completions of a shell

        Usage: acp-runtime completions <SHELL>

        Arguments:
          <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

        Options:
          -h, --help  Print help

        For bash: acp-runtime completions bash > ~/.local/share/bash-completion/completions/acp-runtime
        For fish: acp-runtime completions fish > ~/.config/fish/completions/acp-runtime.fish
        For zsh, into a folder of `$fpath`: acp-runtime completions zsh > FOLDER/_acp-runtime
    "#]];
    expected.assert_eq(&pages.join("\n"));
    assert_eq!(help(&runtime, "help"), help(&runtime, ""));
    assert_eq!(help(&runtime, "help run"), help(&runtime, "run"));
    for page in COMMANDS.map(|command| help(&runtime, command)) {
        let long = page.lines().find(|line| line.chars().count() > 120);
        assert_eq!(long, None);
    }
}
