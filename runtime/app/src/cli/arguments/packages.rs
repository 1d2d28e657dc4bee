//! What can be typed about packages: where they come from, and who stands for them.

use std::ffi::OsString;
use std::path::PathBuf;

use acp_runtime_host::package::Digest;
use acp_runtime_host::publishers::Moment;
use clap::{Args, Subcommand};

use super::upkeep::HeldArguments;

pub(super) const AFTER_INSTALL: &str = "\
SOURCE is a component file, the folder with it, a tar file of `acp-runtime plugin pack`, `oci://host/path:tag` (or \
`@sha256:…`), `namespace:name@version`, or `https://…#sha256=…`. The id of a plugin that came with the program means that \
plugin.

First the signature is checked; see `docs/distribution.md`. Then the plugin is compiled and checked, and you are shown the \
rights that it asks for. Nothing is installed before you agree. Without a terminal nobody can be asked, and `--yes` is needed \
to grant the rights. When you install another version of a plugin, you are asked only about what it newly asks for.";

pub(super) const AFTER_PUBLISH: &str = "\
Credentials come from the Docker configuration (`docker login`). The password of the key is asked for, or comes from \
ACP_RUNTIME_KEY_PASSWORD. Without `--key`, the signature beside the file or in the tar file is published.";

pub(super) const AFTER_KEYGEN: &str = "\
Writes the secret key to FILE, which only you can read, and the public key to FILE.pub, both as `minisign` does. Keep the \
secret key to yourself. Publish the public key and its fingerprint in a place of your own.";

/// `plugin install`
#[derive(Debug, Args)]
pub(in crate::cli) struct InstallArguments {
    /// What to install
    #[arg(required_unless_present_any = ["locked", "frozen"])]
    pub(in crate::cli) source: Option<OsString>,

    /// Grant all that it asks for without a question
    #[arg(long)]
    pub(in crate::cli) yes: bool,

    /// Trust its publisher, whose key has this fingerprint; the public key itself will do, too
    #[arg(long, value_name = "FINGERPRINT")]
    pub(in crate::cli) trust_publisher: Option<String>,

    /// Install the file with this digest even though nobody has signed it
    #[arg(long, value_name = "DIGEST")]
    pub(in crate::cli) allow_unsigned: Option<Digest>,

    #[command(flatten)]
    pub(in crate::cli) held: HeldArguments,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// `plugin pack`
#[derive(Debug, Args)]
pub(in crate::cli) struct PackArguments {
    /// The plugin: a component file with its manifest
    pub(in crate::cli) plugin: PathBuf,

    /// Where to write it; by default NAME-VERSION.tar here
    #[arg(short, long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) output: Option<PathBuf>,

    /// Sign it with this secret key; the signature is also written beside the plugin
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) key: Option<PathBuf>,
}

/// `plugin publish`
#[derive(Debug, Args)]
pub(in crate::cli) struct PublishArguments {
    /// The plugin: a component file with its manifest, or a tar file of `plugin pack`
    pub(in crate::cli) plugin: PathBuf,

    /// Where to: `oci://host/path`; the tag is the version, unless you name another one
    pub(in crate::cli) place: String,

    /// Sign it with this secret key
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::cli) key: Option<PathBuf>,

    /// Publish it without a signature: others must name its digest to install it
    #[arg(long, conflicts_with = "key")]
    pub(in crate::cli) unsigned: bool,

    /// Move the tag if it exists and means something else
    #[arg(long)]
    pub(in crate::cli) replace: bool,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// `plugin keygen`
#[derive(Debug, Args)]
pub(in crate::cli) struct KeygenArguments {
    /// Where to write the secret key
    pub(in crate::cli) file: PathBuf,

    /// Write it without a password: whoever has the file can sign
    #[arg(long)]
    pub(in crate::cli) no_password: bool,
}

/// `plugin verify`
#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArguments {
    /// An installed plugin, by its id or its name, or a file
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(in crate::cli) plugin: Option<OsString>,

    /// All installed plugins
    #[arg(long)]
    pub(in crate::cli) all: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// What is trusted beside projects.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TrustAdd {
    /// Trust a publisher of plugins, or add a key or a namespace to one
    Publisher {
        /// A name of your choice, such as their namespace
        name: String,

        /// Their public key, or the file with it
        #[arg(long, value_name = "KEY", required_unless_present = "namespace")]
        key: Option<String>,

        /// A namespace that is theirs, in addition to those that they have; by default the one of their name
        #[arg(long, value_name = "NAMESPACE")]
        namespace: Vec<String>,

        /// Until when the key is trusted: `2027-12-31`, or `2027-12-31T12:00:00Z`
        #[arg(long, value_name = "TIME", requires = "key")]
        until: Option<Moment>,
    },
}

/// What is not trusted any more.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TrustRemove {
    /// Trust a publisher of plugins no longer; their installed plugins stay
    Publisher {
        /// Their name
        name: String,

        /// Only this key of theirs, by its fingerprint
        #[arg(long, value_name = "FINGERPRINT")]
        key: Option<Digest>,
    },
}
