//! What can be typed. Every comment here is shown by `--help`.

mod packages;
pub(super) mod plugin;
pub(super) mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;

use acp_runtime_agent::capability::{CLASSES, EffectPattern, NameError, SecretName};
use acp_runtime_agent::policy::Mode;
use acp_runtime_host::package::Digest;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::{SignedDuration, Timestamp};

pub(super) use self::packages::{
    InstallArguments, KeygenArguments, PackArguments, PublishArguments, TrustAdd, TrustRemove, VerifyArguments,
};
use super::exit;
use crate::audit::CHANGES;
use crate::settings::{LogFilter, Overrides, SettingsError, variable};
use plugin::PluginCommand;

const ABOUT: &str = "\
An agent for editors that speak the Agent Client Protocol (ACP), and a host for plugins that cannot do more than they \
were allowed to

To begin:
  acp-runtime login anthropic   keep an API key; `acp-runtime models --help` says what else there is
  acp-runtime --acp             be the agent: what an editor starts
  acp-runtime run PROMPT        answer one prompt here; `acp-runtime run /help` needs no key
  acp-runtime doctor            see whether everything is in order";

const AFTER_HELP: &str = "\
Without a command it is an ACP agent on stdin and stdout.

Environment:
  ACP_RUNTIME_CONFIG, ACP_RUNTIME_MODEL, ACP_RUNTIME_MODE, ACP_RUNTIME_LOG  stand in for the options
  ACP_RUNTIME_HOME                                                          one folder for all files

Rooms of the log:
  acp agent audit authoring cli compose host mcp models plugin process programs registry
  request runtime secrets settings store terminal tools transport workspace

A path or a name that begins with `-` goes behind `--`; the value of an option may begin with it.";

/// The heading of what goes with every command.
const SETTINGS: &str = "Settings";

const AFTER_RUN: &str = "\
Answers go to stdout, on a terminal with their Markdown rendered; what is done, and errors, go to \
stderr. What is piped in is context: the model is shown it beside the prompt. Ctrl-C cancels what \
runs and keeps it; once more it quits at once.

With `--json` each line of stdout is what an editor is told: the parameters of an ACP \
`session/update`, and as the last line the `result` or `error` of the `session/prompt`.";

const AFTER_SHOW: &str = "\
The columns: time, decision, by whom or what, class, what exactly, on whose behalf, session.";

const AFTER_VERIFY: &str = "\
Each line of the audit has the hash of the line before it. What was changed, taken out, put in, moved or cut off is \
found with its line. Whoever can write the files can also write all hashes anew from some line on: keep the head that is \
printed here, or that of the log (`--log-level audit=info`), in another place, and pass it as `--head` later.";

const AFTER_COMPLETIONS: &str = "\
For bash: acp-runtime completions bash > ~/.local/share/bash-completion/completions/acp-runtime
For fish: acp-runtime completions fish > ~/.config/fish/completions/acp-runtime.fish
For zsh, into a folder of `$fpath`: acp-runtime completions zsh > FOLDER/_acp-runtime";

const AFTER_MODELS: &str = "\
The list has the models of the configuration, and those that are known of each vendor for which there is a key; no vendor is \
asked. A vendor's model can also be named as it is: `claude-…` is a model of Anthropic, `gpt-…` and `o3` are models of \
OpenAI, and `gemini-…` is one of Google. Each is asked at the vendor's own address, with the key of `ANTHROPIC_API_KEY`, \
`OPENAI_API_KEY`, `GEMINI_API_KEY` or `acp-runtime login`. Any other name is a model of Ollama on this machine. To name the \
provider, write `anthropic/…`, `openai/…`, `gemini/…` or `ollama/…`.";

/// The program as it is typed.
#[derive(Debug, Parser)]
#[command(name = "acp-runtime", version, about = ABOUT, after_help = with_exit_codes(AFTER_HELP))]
pub(super) struct Arguments {
    /// Be an ACP agent on stdin and stdout: what an editor starts
    #[arg(long)]
    pub(super) acp: bool,

    /// Log in, as `acp-runtime login` does: editors put it behind the arguments that they start the agent with
    #[arg(long, global = true)]
    pub(super) login: bool,

    #[command(flatten)]
    pub(super) settings: SettingsArguments,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = SETTINGS)]
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
    let shown = settings.iter().filter(|argument| argument.get_help_heading() == Some(SETTINGS));
    let names: Vec<String> = shown.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
    let pointer = format!("Settings (see `acp-runtime --help`): {}", names.join(", "));
    let after = match command.get_after_help() {
        Some(own) => format!("{own}\n\n{pointer}"),
        None => pointer,
    };
    let hidden = settings.iter().map(|argument| argument.clone().hide(true));
    command.args(hidden).after_help(after).mut_subcommands(|command| with_settings(command, settings))
}

/// The command that these words begin with, as far as there is one: `session list`. What follows may make no sense.
pub(super) fn command_of(words: impl IntoIterator<Item = OsString>) -> String {
    let (mut command, mut path) = (definition(), Vec::new());
    let mut words = words.into_iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next().filter(|word| word != "--") {
        if let Some(option) = word.strip_prefix("--") {
            let takes_next =
                |argument: &Arg| argument.get_long() == Some(option) && argument.get_action().takes_values();
            if command.get_arguments().any(takes_next) {
                words.next();
            }
        } else if let Some(next) = command.find_subcommand(&word).cloned() {
            path.push(word);
            command = next;
        } else if !word.starts_with('-') {
            break;
        }
    }
    path.join(" ")
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
    /// See, install, remove, write and test plugins, and say what they may do
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
    /// See and verify what was decided
    #[command(subcommand)]
    Audit(AuditCommand),
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

    /// Go on with the latest session of the folder in which a model was asked
    #[arg(long = "continue")]
    pub(super) resume: bool,

    /// Go on with that session, in its own folder; the beginning of its id is enough
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
        /// The session, or the beginning of its id; the newest by default
        id: Option<String>,

        /// Print every event as a line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a session as one document
    Export {
        /// The session, or the beginning of its id; the newest by default
        id: Option<String>,

        /// Markdown is for people, JSON for programs; by default JSON for a file `*.json`, else Markdown
        #[arg(long, value_name = "FORMAT")]
        format: Option<ExportFormat>,

        /// Where it goes, instead of stdout
        #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
        output: Option<PathBuf>,

        /// Replace the file if it is there
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Delete sessions for good
    Delete {
        /// The sessions, or the beginnings of their ids
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

const AFTER_SECRET_SET: &str = "\
A plugin's secret is kept for the plugin of that id as you have it now: for who has signed it, or for the place that it is \
from. Another one of the same id, from somebody else, does not have it.";

#[derive(Debug, Subcommand)]
pub(super) enum SecretCommand {
    /// Keep a secret; its value is asked for, or read from stdin
    #[command(after_help = AFTER_SECRET_SET)]
    Set {
        /// Its name; a plugin's is called after it: `acme:weather/key`
        #[arg(value_parser = secret_name)]
        name: SecretName,
    },
    /// List the names of the secrets, where each is kept, and for whose plugin
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret
    Remove {
        /// Its name; for plugins, whoever they are from
        #[arg(value_parser = secret_name)]
        name: SecretName,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TrustCommand {
    /// Trust a project's own plugins and steering files, as they are now; or a publisher of plugins
    #[command(args_conflicts_with_subcommands = true)]
    Add {
        #[command(subcommand)]
        what: Option<TrustAdd>,
        /// The project's folder; the current one by default
        folder: Option<PathBuf>,
        /// Do not ask whether that is meant
        #[arg(long)]
        yes: bool,
    },
    /// List the projects that you have answered about, and the publishers that you trust
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Forget your answer about a project, which is asked about again; or trust a publisher no longer
    #[command(args_conflicts_with_subcommands = true)]
    Remove {
        #[command(subcommand)]
        what: Option<TrustRemove>,
        /// The project's folder; the current one by default
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Print the decisions, the oldest first: what was wanted, by whom, and who allowed or refused it
    #[command(after_help = AFTER_SHOW)]
    Show {
        /// Only those of this session; the beginning of its id is enough
        #[arg(long, value_name = "ID")]
        session: Option<String>,

        /// Only what this plugin wanted, or was called for: its id, or its name
        #[arg(long, value_name = "PLUGIN")]
        plugin: Option<String>,

        /// Only effects of this class; `grant` and `trust` are what was decided for longer than one time
        #[arg(long, value_name = "CLASS", value_parser = PossibleValuesParser::new([&CLASSES[..], &CHANGES].concat()))]
        class: Option<String>,

        /// Only what was decided so
        #[arg(long, value_name = "DECISION", value_parser = PossibleValuesParser::new(["allow", "deny"]))]
        decision: Option<String>,

        /// Only from then on: `2026-11-30`, `2026-11-30T10:00:00Z`, or how long ago: `90m`, `2h`, `7d`
        #[arg(long, value_name = "TIME", value_parser = since)]
        since: Option<Timestamp>,

        /// Print each as its line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Look whether the audit is what was written, and say where it is not
    #[command(after_help = with_exit_codes(AFTER_VERIFY))]
    Verify {
        /// A hash that was kept elsewhere: whether the line with it is still there
        #[arg(long, value_name = "HASH")]
        head: Option<Digest>,

        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// A moment, a day in UTC, or how long ago.
fn since(text: &str) -> Result<Timestamp, String> {
    let wrong =
        || format!("expected `2026-11-30`, `2026-11-30T10:00:00Z`, or how long ago, such as `2h` or `7d`: `{text}`");
    let moment = text.parse::<Timestamp>().or_else(|_| format!("{text}T00:00:00Z").parse());
    if let Ok(moment) = moment {
        return Ok(moment);
    }
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let ago = days.map(|days| SignedDuration::from_hours(24 * i64::from(days))).map_or_else(|| text.parse().ok(), Some);
    ago.and_then(|ago: SignedDuration| Timestamp::now().checked_sub(ago).ok()).ok_or_else(wrong)
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
#[path = "arguments/tests.rs"]
mod tests;
