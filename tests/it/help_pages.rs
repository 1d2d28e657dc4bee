//! What `--help` says of every command, and what the bare name says.

mod packages;
mod plugins;

use acp_runtime_tests::Runtime;
use expect_test::{Expect, expect};

/// Every command, as `--help` is asked of it; those about plugins are in `plugins` and `packages`.
const COMMANDS: [&str; 31] = [
    "",
    "acp",
    "run",
    "session",
    "session list",
    "session show",
    "session export",
    "session delete",
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
    "trust",
    "trust add",
    "trust list",
    "trust remove",
    "audit",
    "audit show",
    "audit verify",
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

#[test]
fn every_page_of_help_reads_well() {
    let runtime = Runtime::new();
    expect![[r#"
        An agent for editors that speak the Agent Client Protocol (ACP), and a host for plugins that cannot
        do more than they were allowed to

        To begin:
          acp-runtime login anthropic   keep an API key; `acp-runtime models --help` says what else there is
          acp-runtime --acp             be the agent: what an editor starts
          acp-runtime run PROMPT        answer one prompt here; `acp-runtime run /help` needs no key
          acp-runtime doctor            see whether everything is in order

        Usage: acp-runtime [OPTIONS] [COMMAND]

        Commands:
          acp          Be an ACP agent on stdin and stdout: what an editor starts
          run          Answer one prompt and exit
          session      See, export and delete the sessions that were kept
          plugin       See, install, remove, write and test plugins, and say what they may do
          config       See and check the configuration
          login        Keep a provider's API key; it is asked for, or read from stdin
          logout       Forget the API keys that were kept
          secret       Keep, list and remove secrets
          trust        Trust the plugins and steering files that a project brings along, or not
          audit        See and verify what was decided
          models       List the models to choose from, what they cost and where their keys are
          doctor       Check that everything is in order: configuration, folders, plugins, MCP servers,
                       model and system
          completions  Print the completions of a shell
          help         Print this message or the help of the given subcommand(s)

        Options:
              --acp      Be an ACP agent on stdin and stdout: what an editor starts
              --login    Log in, as `acp-runtime login` does: editors put it behind the arguments that they
                         start the agent with
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
          acp agent audit authoring cli compose host mcp models plugin process programs registry
          request runtime secrets settings store terminal tools transport workspace

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
        COMMANDS[1..29].iter().map(|command| format!("# {command}\n{}", own(&help(&runtime, command)))).collect();
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
              --continue        Go on with the latest session of the folder in which a model was asked
              --session <ID>    Go on with that session, in its own folder; the beginning of its id is
                                enough
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
          [ID]  The session, or the beginning of its id; the newest by default

        Options:
              --json  Print every event as a line of JSON
          -h, --help  Print help

        # session export
        Write a session as one document

        Usage: acp-runtime session export [OPTIONS] [ID]

        Arguments:
          [ID]  The session, or the beginning of its id; the newest by default

        Options:
              --format <FORMAT>  Markdown is for people, JSON for programs; by default JSON for a file
                                 `*.json`, else Markdown [possible values: markdown, json]
              --output <FILE>    Where it goes, instead of stdout
              --force            Replace the file if it is there
          -h, --help             Print help

        # session delete
        Delete sessions for good

        Usage: acp-runtime session delete [OPTIONS] <ID>...

        Arguments:
          <ID>...  The sessions, or the beginnings of their ids

        Options:
              --yes   Delete without a question
              --json  Print one JSON object a line
          -h, --help  Print help

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
          list    List the names of the secrets, where each is kept, and for whose plugin
          remove  Remove a secret
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # secret set
        Keep a secret; its value is asked for, or read from stdin

        Usage: acp-runtime secret set <NAME>

        Arguments:
          <NAME>  Its name; a plugin's is called after it: `acme:weather/key`

        Options:
          -h, --help  Print help

        A plugin's secret is kept for the plugin of that id as you have it now: for who has signed it, or
        for the place that it is from. Another one of the same id, from somebody else, does not have it.

        # secret list
        List the names of the secrets, where each is kept, and for whose plugin

        Usage: acp-runtime secret list [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        # secret remove
        Remove a secret

        Usage: acp-runtime secret remove <NAME>

        Arguments:
          <NAME>  Its name; for plugins, whoever they are from

        Options:
          -h, --help  Print help

        # trust
        Trust the plugins and steering files that a project brings along, or not

        Usage: acp-runtime trust <COMMAND>

        Commands:
          add     Trust a project's own plugins and steering files, as they are now; or a publisher of
                  plugins
          list    List the projects that you have answered about, and the publishers that you trust
          remove  Forget your answer about a project, which is asked about again; or trust a publisher no
                  longer
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # trust add
        Trust a project's own plugins and steering files, as they are now; or a publisher of plugins

        Usage: acp-runtime trust add [OPTIONS] [FOLDER]
               acp-runtime trust add <COMMAND>

        Commands:
          publisher  Trust a publisher of plugins, or add a key or a namespace to one
          help       Print this message or the help of the given subcommand(s)

        Arguments:
          [FOLDER]  The project's folder; the current one by default

        Options:
              --yes   Do not ask whether that is meant
          -h, --help  Print help

        # trust list
        List the projects that you have answered about, and the publishers that you trust

        Usage: acp-runtime trust list [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        # trust remove
        Forget your answer about a project, which is asked about again; or trust a publisher no longer

        Usage: acp-runtime trust remove [FOLDER]
               acp-runtime trust remove <COMMAND>

        Commands:
          publisher  Trust a publisher of plugins no longer; their installed plugins stay
          help       Print this message or the help of the given subcommand(s)

        Arguments:
          [FOLDER]  The project's folder; the current one by default

        Options:
          -h, --help  Print help

        # audit
        See and verify what was decided

        Usage: acp-runtime audit <COMMAND>

        Commands:
          show    Print the decisions, the oldest first: what was wanted, by whom, and who allowed or
                  refused it
          verify  Look whether the audit is what was written, and say where it is not
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # audit show
        Print the decisions, the oldest first: what was wanted, by whom, and who allowed or refused it

        Usage: acp-runtime audit show [OPTIONS]

        Options:
              --session <ID>         Only those of this session; the beginning of its id is enough
              --plugin <PLUGIN>      Only what this plugin wanted, or was called for: its id, or its name
              --class <CLASS>        Only effects of this class; `grant` and `trust` are what was decided
                                     for longer than one time [possible values: read, write, delete, move,
                                     run, fetch, secret, plugin, server, session, kv, data, tmp, prompt,
                                     grant, trust]
              --decision <DECISION>  Only what was decided so [possible values: allow, deny]
              --since <TIME>         Only from then on: `2026-11-30`, `2026-11-30T10:00:00Z`, or how long
                                     ago: `90m`, `2h`, `7d`
              --json                 Print each as its line of JSON
          -h, --help                 Print help

        The columns: time, decision, by whom or what, class, what exactly, on whose behalf, session.

        # audit verify
        Look whether the audit is what was written, and say where it is not

        Usage: acp-runtime audit verify [OPTIONS]

        Options:
              --head <HASH>  A hash that was kept elsewhere: whether the line with it is still there
              --json         Print one JSON object a line
          -h, --help         Print help

        Each line of the audit has the hash of the line before it. What was changed, taken out, put in,
        moved or cut off is found with its line. Whoever can write the files can also write all hashes anew
        from some line on: keep the head that is printed here, or that of the log (`--log-level
        audit=info`), in another place, and pass it as `--head` later.

        Exit code:
          0  it was done
          1  it was tried and failed, or was refused: a turn, a tool, a file, a check
          2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
             command that is used in another way, a setting, a prompt where no model is configured
          130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP

        # models
        List the models to choose from, what they cost and where their keys are

        Usage: acp-runtime models [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        The list has the models of the configuration, and those that are known of each vendor for which
        there is a key; no vendor is asked. A vendor's model can also be named as it is: `claude-…` is a
        model of Anthropic, `gpt-…` and `o3` are models of OpenAI, and `gemini-…` is one of Google. Each is
        asked at the vendor's own address, with the key of `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`,
        `GEMINI_API_KEY` or `acp-runtime login`. Any other name is a model of Ollama on this machine. To
        name the provider, write `anthropic/…`, `openai/…`, `gemini/…` or `ollama/…`.

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
        assert_narrow(&page);
    }
}

/// As wide as help may be.
fn assert_narrow(page: &str) {
    let long = page.lines().find(|line| line.chars().count() > 120);
    assert_eq!(long, None);
}
