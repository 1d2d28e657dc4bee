//! What can be typed behind `acp-runtime plugin`. Every comment here is shown by `--help`.

use std::path::PathBuf;

use acp_runtime_agent::capability::EffectPattern;
use acp_runtime_agent::gate::Scope;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::packages::{
    AFTER_INSTALL, AFTER_KEYGEN, AFTER_PUBLISH, InstallArguments, KeygenArguments, PackArguments, PublishArguments,
    VerifyArguments,
};
use super::upkeep::{AFTER_OUTDATED, AFTER_UPDATE, OutdatedArguments, RollbackArguments, UpdateArguments};
use super::with_exit_codes;
use crate::authoring::Language;

const AFTER_GRANT: &str = "\
What you grant is no longer asked about, as far as the session's mode and the deny list allow it; only runs of programs still \
are, each time. It holds as long as the plugin has the same publisher and asks for the same rights. To grant something for one \
session, type `/permissions allow --scope session PLUGIN EFFECT` there. What the manifest does not ask for cannot be granted, \
and events of hooks are granted by installing the plugin.";

const AFTER_REVOKE: &str = "\
It holds at once and in all projects, also in sessions that are open. What was granted when the plugin was installed, or when it \
came with the program, is denied from then on; `plugin grant` with the same words takes that back.";

const AFTER_PLUGIN_DOCTOR: &str = "\
Nothing is sent and no secret is read: what is said comes from the manifest, what was granted and refused, the rules, the \
names of the secrets that are kept, and the audit.";

const AFTER_LIST: &str = "\
The columns: id, version, where it is from, rights, the beginning of the digest of a plugin that is installed or worked on \
(`DEV`), description. A right with a `?` was not granted, and is asked for when it is used.";

const AFTER_NEW: &str = "\
The SDK and the interfaces are put into the project, since no registry has them; the compiler is your own. A folder that is \
not empty is refused.";

const AFTER_BUILD: &str = "\
The language is recognised by a file of the project: `Cargo.toml`, `app.py`, `package.json` or `plugin.c`. The component is \
asked in the sandbox what it offers, and the answer becomes a part of its manifest. If a compiler or a part of it is missing, \
the error says how to get it.";

const AFTER_DEV: &str = "\
It takes precedence over an installed plugin of the same id, and whatever is asked or shown for it says `DEV`. Sessions that \
are open have it, and each later build, within a second, as soon as nothing runs in them. What is granted holds until this \
command ends, and no answer about the plugin is remembered. If a build fails, the one before stays in use.";

const AFTER_TEST: &str = "\
The project is built first. Each case has a session of its own in an empty folder. Nothing of yours is used, nothing is sent \
and no program is run: the case says what servers and programs answer, and what the person says yes to. docs/plugins.md \
explains everything that a case can say.";

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PluginCommand {
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
    Install(InstallArguments),
    /// Check that plugins are what was installed, and who has signed them
    Verify(VerifyArguments),
    /// Put a plugin and its signature into one file that can be installed
    Pack(PackArguments),
    /// Publish a plugin in an OCI registry
    #[command(after_help = AFTER_PUBLISH)]
    Publish(PublishArguments),
    /// Make a pair of keys to sign plugins with
    #[command(after_help = AFTER_KEYGEN)]
    Keygen(KeygenArguments),
    /// List the installed plugins of which there is another version
    #[command(after_help = AFTER_OUTDATED)]
    Outdated(OutdatedArguments),
    /// Update installed plugins from where they came
    #[command(after_help = AFTER_UPDATE)]
    Update(UpdateArguments),
    /// Go back to the version that was used before
    Rollback(RollbackArguments),
    /// Remove an installed plugin, and what it has kept
    Remove {
        /// Its id, or its name where only one has that
        plugin: String,

        /// Leave what it has kept, for when it is installed again
        #[arg(long)]
        keep_data: bool,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Grant a plugin more of what its manifest asks for
    #[command(after_help = AFTER_GRANT)]
    Grant {
        /// Its id, or its name where only one has that
        plugin: String,

        /// A class of effects (`read`, `write`, …), with a pattern where wanted (`write:notes/**`)
        effect: EffectPattern,

        /// Where it holds: in the project in the current folder, or in all of yours
        #[arg(long, value_name = "SCOPE", default_value = "project", value_parser = scopes())]
        scope: Scope,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take back what a plugin was allowed, also what was granted when it was installed
    #[command(after_help = AFTER_REVOKE)]
    Revoke {
        /// Its id, or its name where only one has that
        plugin: String,

        /// A class of effects, with a pattern where wanted; all by default
        effect: Option<EffectPattern>,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Say what keeps a plugin from its hosts and its secrets, and what did before
    #[command(after_help = AFTER_PLUGIN_DOCTOR)]
    Doctor {
        /// Its id, or its name where only one has that; all by default
        plugin: Option<String>,

        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Lay out the project of a new plugin, which builds and passes its tests
    #[command(after_help = AFTER_NEW)]
    New(NewArguments),
    /// Compile a project to a plugin: its component with its manifest inside
    #[command(after_help = with_exit_codes(AFTER_BUILD))]
    Build(BuildArguments),
    /// Play a project's cases, `tests/*.toml`, with the real component in the real host
    #[command(after_help = with_exit_codes(AFTER_TEST))]
    Test(TestArguments),
    /// Work on a plugin: have it in every session of your running agents, until this ends
    #[command(after_help = AFTER_DEV)]
    Dev(DevArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct NewArguments {
    /// The plugin: `namespace:name`; without a namespace it is one of your own, `my`
    pub(in crate::cli) name: String,

    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub(in crate::cli) lang: Language,

    /// The project's folder; by default a new one with the plugin's name
    #[arg(long, value_name = "FOLDER", allow_hyphen_values = true)]
    pub(in crate::cli) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BuildArguments {
    /// The project's folder; the current one by default
    pub(in crate::cli) folder: Option<PathBuf>,

    /// A component that was compiled already, in place of compiling the project
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) component: Option<PathBuf>,

    /// The manifest; by default the project's `plugin.toml`
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) manifest: Option<PathBuf>,

    /// Where the plugin goes; by default `dist/NAMESPACE-NAME.wasm` in the project
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TestArguments {
    /// The project's folder; the current one by default
    pub(in crate::cli) folder: Option<PathBuf>,

    /// A plugin that was built already, in place of building the project
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) built: Option<PathBuf>,

    /// Only the cases with this text in their names
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::cli) only: Option<String>,

    /// Keep what panels look like as it is now, in `tests/snapshots`
    #[arg(long)]
    pub(in crate::cli) update: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DevArguments {
    /// The project's folder; the current one by default
    pub(in crate::cli) folder: Option<PathBuf>,

    /// Build it anew whenever its source changes
    #[arg(long)]
    pub(in crate::cli) watch: bool,

    /// Grant all that it asks for without a question
    #[arg(long)]
    pub(in crate::cli) yes: bool,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::id))
        .try_map(|id| Language::from_id(&id).ok_or("an unknown language"))
}

fn scopes() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new([Scope::Project, Scope::User].map(Scope::as_str))
        .try_map(|id| Scope::from_id(&id).ok_or("an unknown scope"))
}
