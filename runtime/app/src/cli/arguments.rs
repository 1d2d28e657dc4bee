//! What can be typed. Every comment here is shown by `--help`.

use std::ffi::OsString;
use std::path::PathBuf;

use acp_runtime_agent::capability::{EffectPattern, NameError, SecretName};
use acp_runtime_agent::policy::Mode;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::exit;
use crate::settings::{LogFilter, Overrides, SettingsError, variable};

const AFTER_HELP: &str = "\
Without a command it is an ACP agent on stdin and stdout.

Environment:
  ACP_RUNTIME_CONFIG, ACP_RUNTIME_MODEL, ACP_RUNTIME_MODE, ACP_RUNTIME_LOG  stand in for the options
  ACP_RUNTIME_HOME                                                          one folder for all files

Rooms of the log:
  acp agent audit cli compose host mcp models plugin process programs request runtime
  secrets settings store terminal tools transport workspace

A path or a name that begins with `-` goes behind `--`; the value of an option may begin with it.";

const AFTER_RUN: &str = "\
Answers go to stdout, on a terminal with their Markdown rendered; what is done, and errors, go to \
stderr. What is piped in is context: the model is shown it beside the prompt. Ctrl-C cancels what \
runs and keeps it; once more it quits at once.

With `--json` each line of stdout is what an editor is told: the parameters of an ACP \
`session/update`, and as the last line the `result` or `error` of the `session/prompt`.";

const AFTER_INSTALL: &str = "\
The plugin is checked, and the rights that it asks for are shown before anything is installed. \
Without a terminal nobody can be asked, and `--yes` is needed to grant them. What was decided about a right holds for \
another version of the plugin: only what it newly asks for is asked about.";

const AFTER_LIST: &str = "\
The columns: id, version, where it is from, rights, description. A right with a `?` was not granted, and is asked for \
when it is used.";

const AFTER_COMPLETIONS: &str = "\
For bash: acp-runtime completions bash > ~/.local/share/bash-completion/completions/acp-runtime
For fish: acp-runtime completions fish > ~/.config/fish/completions/acp-runtime.fish
For zsh, into a folder of `$fpath`: acp-runtime completions zsh > FOLDER/_acp-runtime";

const AFTER_MODELS: &str = "\
Beside those of the configuration, a vendor's model can be named as it is: `claude-…` is asked of Anthropic, `gpt-…` and \
`o3` of OpenAI, `gemini-…` of Google, each at its own address and with the key of `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, \
`GEMINI_API_KEY` or `acp-runtime login`; any other name of Ollama on this machine. `anthropic/…`, `openai/…`, `gemini/…` \
and `ollama/…` say so.";

/// An ACP agent whose tools, commands and panels are sandboxed WASM components
#[derive(Debug, Parser)]
#[command(name = "acp-runtime", version, after_help = with_exit_codes(AFTER_HELP))]
pub(super) struct Arguments {
    /// Be an ACP agent on stdin and stdout: what an editor starts
    #[arg(long)]
    pub(super) acp: bool,

    /// Log in, as `acp-runtime login` does: editors put it behind the arguments that they start the agent with
    #[arg(long, global = true, hide = true)]
    pub(super) login: bool,

    #[command(flatten)]
    pub(super) settings: SettingsArguments,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct SettingsArguments {
    /// The configuration file, in place of the one that `acp-runtime config path` names
    #[arg(long, value_name = "FILE", global = true, allow_hyphen_values = true)]
    config: Option<PathBuf>,

    /// The model of new sessions: `none`, `script:FILE`, a provider, `provider/model`, or a vendor's model such as
    /// `claude-opus-4-8`; by default the configured one
    #[arg(long, value_name = "MODEL", global = true)]
    model: Option<String>,

    /// The mode of new sessions; by default the configured one, or else `review`
    #[arg(long, value_name = "MODE", global = true, value_parser = modes())]
    mode: Option<Mode>,

    /// What to log: `off`, `error`, `warn`, `info`, `debug` or `trace`, and others for single rooms: `warn,host=debug`;
    /// by default `warn`
    #[arg(long, value_name = "LEVEL", global = true)]
    log_level: Option<LogFilter>,

    /// Where to log, instead of stderr
    #[arg(long, value_name = "FILE", global = true, allow_hyphen_values = true)]
    log_file: Option<PathBuf>,

    /// A JSON file with MCP servers (`mcpServers`), for every session. May be repeated
    #[arg(long, value_name = "FILE", global = true, allow_hyphen_values = true)]
    mcp: Vec<PathBuf>,
}

fn with_exit_codes(text: &str) -> String {
    format!("{text}\n\n{}", exit::TABLE)
}

/// Reads what was typed.
pub(super) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let mut matches = definition().try_get_matches_from(words)?;
    Arguments::from_arg_matches_mut(&mut matches)
}

/// All that can be typed. The settings, which go with every command, are explained once: in the help of the program.
pub(super) fn definition() -> clap::Command {
    let program = Arguments::command();
    let settings: Vec<Arg> = program.get_arguments().filter(|argument| argument.is_global_set()).cloned().collect();
    program.mut_subcommands(|command| with_settings(command, &settings))
}

fn with_settings(command: clap::Command, settings: &[Arg]) -> clap::Command {
    let shown = settings.iter().filter(|argument| !argument.is_hide_set());
    let names: Vec<String> = shown.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
    let pointer = format!("Settings (see `acp-runtime --help`): {}", names.join(", "));
    let after = match command.get_after_help() {
        Some(own) => format!("{own}\n\n{pointer}"),
        None => pointer,
    };
    let hidden = settings.iter().map(|argument| argument.clone().hide(true));
    command.args(hidden).after_help(after).mut_subcommands(|command| with_settings(command, settings))
}

fn modes() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::id)).try_map(|id| Mode::from_id(&id).ok_or("an unknown mode"))
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Be an ACP agent on stdin and stdout: what an editor starts
    Acp,
    /// Answer one prompt and exit
    #[command(after_help = with_exit_codes(AFTER_RUN))]
    Run(RunArguments),
    /// See, export and delete the sessions that were kept
    #[command(subcommand)]
    Session(SessionCommand),
    /// See, install, remove and build plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// See and check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Keep a provider's API key; it is asked for, or read from stdin
    Login {
        /// The provider, by its name in the configuration; you are asked if there are several
        provider: Option<String>,
    },
    /// Forget the API keys that were kept
    Logout {
        /// The provider; all of them by default
        provider: Option<String>,
    },
    /// Keep, list and remove secrets
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Trust the plugins and steering files that a project brings along, or not
    #[command(subcommand)]
    Trust(TrustCommand),
    /// List the models to choose from, what they cost and where their keys are
    #[command(after_help = AFTER_MODELS)]
    Models {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Check that everything is in order: configuration, folders, plugins, MCP servers, model and system
    #[command(after_help = with_exit_codes("A warning is no failure."))]
    Doctor {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the completions of a shell
    #[command(after_help = AFTER_COMPLETIONS)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// The project's folder; the current one by default
    #[arg(long, value_name = "FOLDER", allow_hyphen_values = true)]
    pub(super) cwd: Option<PathBuf>,

    /// Go on with the latest session of the folder
    #[arg(long = "continue")]
    pub(super) resume: bool,

    /// Go on with that session, in its own folder
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "cwd"])]
    pub(super) session: Option<String>,

    /// Print every event as a line of JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Allow what would be asked for: a class of effects (`write`, `run`, … or `all`), with a pattern where wanted
    /// (`write:notes/**`). May be repeated
    #[arg(long, value_name = "EFFECT")]
    pub(super) allow: Vec<EffectPattern>,

    /// Deny effects, whatever else allows them. May be repeated
    #[arg(long, value_name = "EFFECT")]
    pub(super) deny: Vec<EffectPattern>,

    /// The prompt; `-` reads it from stdin
    pub(super) prompt: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionCommand {
    /// List the sessions, newest first
    List {
        /// Only those of this folder
        #[arg(long, value_name = "FOLDER", allow_hyphen_values = true)]
        cwd: Option<PathBuf>,

        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print what was said and done in a session
    Show {
        /// The session; the newest by default
        id: Option<String>,

        /// Print every event as a line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a session as one document
    Export {
        /// The session; the newest by default
        id: Option<String>,

        /// Markdown is for people, JSON for programs; by default JSON for a file `*.json`, else Markdown
        #[arg(long, value_name = "FORMAT")]
        format: Option<ExportFormat>,

        /// Where it goes, instead of stdout
        #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
        output: Option<PathBuf>,
    },
    /// Delete sessions for good
    Delete {
        /// The sessions
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,

        /// Delete without a question
        #[arg(long)]
        yes: bool,

        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// The form of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    Markdown,
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    /// List the plugins, and what each may do
    #[command(after_help = AFTER_LIST)]
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Say what a plugin offers and what it asks for
    Info {
        /// Its id, its name where only one has that, or a component file
        plugin: String,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a plugin, or another version of one, and grant what it asks for
    #[command(after_help = AFTER_INSTALL)]
    Install {
        /// A component file, or the folder with it
        source: PathBuf,

        /// Grant all that it asks for without a question
        #[arg(long)]
        yes: bool,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove an installed plugin
    Remove {
        /// Its id, or its name where only one has that
        plugin: String,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a manifest into a component
    Build {
        /// The component, as the compiler made it
        #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
        component: PathBuf,

        /// The plugin's `plugin.toml`
        #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
        manifest: PathBuf,

        /// Where the plugin goes
        #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
        output: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SecretCommand {
    /// Keep a secret; its value is asked for, or read from stdin
    Set {
        /// Its name
        #[arg(value_parser = secret_name)]
        name: SecretName,
    },
    /// List the names of the secrets, and where each is kept
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret
    Remove {
        /// Its name
        #[arg(value_parser = secret_name)]
        name: SecretName,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TrustCommand {
    /// Trust a project's own plugins and steering files, as they are now
    Add {
        /// The project's folder; the current one by default
        folder: Option<PathBuf>,
        /// Do not ask whether that is meant
        #[arg(long)]
        yes: bool,
    },
    /// List the projects that were answered about
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Forget what was said of a project: it is not trusted any more, and asked about again
    Remove {
        /// The project's folder; the current one by default
        folder: Option<PathBuf>,
    },
}

fn secret_name(text: &str) -> Result<SecretName, NameError> {
    SecretName::new(text)
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print the settings as they hold in the current folder, defaults included and secrets as `****`
    Show,
    /// Print where the configuration file is, or would be
    Path {
        /// Print where all files are: a name and a path on each line
        #[arg(long)]
        all: bool,
    },
    /// Check the configuration of the user and of the current folder
    Check,
    /// Print the JSON Schema of the configuration file
    Schema,
}

impl Arguments {
    /// What overrides the settings of the files.
    pub(super) fn overrides(&self) -> Result<Overrides, SettingsError> {
        let SettingsArguments { config, model, mode, log_level, log_file, mcp } = &self.settings;
        let deny = match &self.command {
            Some(Command::Run(run)) => run.deny.clone(),
            _ => Vec::new(),
        };
        let typed = Overrides {
            config: config.clone(),
            model: model.clone(),
            mode: *mode,
            log_level: log_level.clone(),
            log_file: log_file.clone(),
            deny,
            mcp: mcp.clone(),
        };
        typed.or_environment(variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        let words = std::iter::once("acp-runtime").chain(line.split(' ').filter(|word| !word.is_empty()));
        read(words.map(Into::into))
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
        definition().debug_assert();
    }

    #[test]
    fn what_is_typed_is_read() {
        for line in [
            "",
            "--acp",
            "acp",
            "acp --log-level debug --log-file /tmp/x",
            "acp --log-level warn,host=debug,mcp=trace",
            "--acp --mcp a.json --mcp b.json",
            "run --mcp a.json hello",
            "--acp --config c.toml --model script:x.toml --mode auto",
            "run hello",
            "run --cwd /p --mode plan --model lab/m --json --allow write:notes/** --allow run --deny fetch -- --hello",
            "run -",
            "run --continue --cwd /p hello",
            "run --session abc hello",
            "run --cwd --odd hello",
            "session list --cwd -x",
            "plugin install -- --odd",
            "--config -c config check",
            "session list --cwd /p --json",
            "session show",
            "session show abc --json",
            "session export",
            "session export abc --format json --output a.md",
            "session delete a b --yes --json",
            "plugin list --json",
            "plugin info aar:notes",
            "plugin install ./x.wasm --yes",
            "plugin remove aar:notes",
            "plugin build --component a --manifest b --output c",
            "config show",
            "config path --all",
            "config check",
            "config schema",
            "doctor --json",
            "models",
            "models --json",
            "login",
            "login lab",
            "logout lab",
            "--acp --login",
            "acp --login",
            "secret set lab",
            "secret list --json",
            "secret remove lab",
            "completions zsh",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
        }
        for line in [
            "--apc",
            "run",
            "run a b",
            "run --continue --session abc x",
            "run --session abc --cwd /p x",
            "run --mode yolo x",
            "run --allow wirte x",
            "run --allow kv:x x",
            "--log-level loud",
            "--log-level warn,hots=debug",
            "session",
            "plugin install",
            "plugin build --component a",
            "completions tcsh",
            "session list --deny run",
            "session delete",
            "session export --format html",
            "secret set",
            "secret set lab value",
            "secret set a.b",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_overrides_the_files() {
        let overrides = parse("run --mode auto --deny run --deny write:a x").unwrap().overrides().unwrap();
        assert_eq!(overrides.mode, Some(Mode::Auto));
        assert_eq!(overrides.deny.iter().map(ToString::to_string).collect::<Vec<_>>(), ["run", "write:a"]);
        assert_eq!(overrides.log_level, None);
    }
}
