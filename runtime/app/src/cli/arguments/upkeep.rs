//! What can be typed to keep installed plugins up to date and in order. Every comment here is shown by `--help`.

use acp_runtime_host::package::Digest;
use clap::Args;

pub(in crate::cli) const AFTER_OUTDATED: &str = "\
The columns: id, installed version, available version, state, source. The states: `ready` is used by `acp-runtime plugin \
update` without a question; `waits` asks for more rights or offers something else than what was approved, so `acp-runtime \
plugin update` asks you; `refused` cannot be used, and the reason is shown; `failed` could not be looked for, and the \
exit code is 1.";

pub(in crate::cli) const AFTER_UPDATE: &str = "\
Each plugin is looked up where it came from, checked, and compared with what was approved. A version that asks for no more \
rights and offers nothing new is used at once. Otherwise you are shown what is different and asked. If nobody can be asked, \
the new version waits and the old one is used until somebody approves the new one: here, with `--accept-caps` and the hash \
that is shown, or in a session with `/plugins approve`. Sessions that are open keep the version that they began with. What was \
not granted before is not granted by an update.";

/// What installing is held to.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed by itself")]
pub(in crate::cli) struct HeldArguments {
    /// Install it even though a newer version is installed
    #[arg(long)]
    pub(in crate::cli) allow_downgrade: bool,

    /// Install exactly what the lockfile names, and change nothing in it; without a source, all of it
    #[arg(long)]
    pub(in crate::cli) locked: bool,

    /// Use nothing but what is on this machine
    #[arg(long)]
    pub(in crate::cli) offline: bool,

    /// `--locked` and `--offline`
    #[arg(long)]
    pub(in crate::cli) frozen: bool,

    /// The lockfile of the project in this folder, `.acp-runtime/acp-plugins.lock`, in place of your own; without
    /// `--locked` what is installed is noted in both
    #[arg(long)]
    pub(in crate::cli) project: bool,
}

impl HeldArguments {
    /// Whether only what is locked may be installed.
    pub(in crate::cli) fn is_locked(&self) -> bool {
        self.locked || self.frozen
    }

    /// Whether nothing may be fetched.
    pub(in crate::cli) fn is_offline(&self) -> bool {
        self.offline || self.frozen
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct OutdatedArguments {
    /// Use nothing but what is on this machine
    #[arg(long)]
    pub(in crate::cli) offline: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed by itself")]
pub(in crate::cli) struct UpdateArguments {
    /// Their ids, or their names where only one has that
    #[arg(value_name = "PLUGIN", required_unless_present = "all")]
    pub(in crate::cli) plugins: Vec<String>,

    /// All that are installed
    #[arg(long, conflicts_with = "plugins")]
    pub(in crate::cli) all: bool,

    /// Approve the version whose rights and offers have this hash, which is shown where it waits. May be repeated
    #[arg(long, value_name = "HASH")]
    pub(in crate::cli) accept_caps: Vec<Digest>,

    /// Also accept an older version than the installed one
    #[arg(long)]
    pub(in crate::cli) allow_downgrade: bool,

    /// Use nothing but what is on this machine
    #[arg(long)]
    pub(in crate::cli) offline: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RollbackArguments {
    /// Its id, or its name where only one has that
    pub(in crate::cli) plugin: String,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
