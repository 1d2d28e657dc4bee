//! The sections of the user's file. Each key is read somewhere; its comment is what the documentation says of it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use acp_runtime_agent::capability::{EffectPattern, PathGlob, PluginId};
use acp_runtime_agent::gate::QUESTIONS;
use acp_runtime_agent::policy::{Mode, Policy};
use acp_runtime_agent::session::OnBusy;
use acp_runtime_host::limits::{LimitBook, LimitTable};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use super::exec::ExecSettings;
use super::limits::{ContextSettings, LimitSettings};
use super::log_filter::LogFilter;
use super::packages::{RegistrySettings, SignatureSettings};
use super::plugin_limits::PluginLimits;
use super::shell::ShellSettings;
use super::whose::Whose;
use super::written::Written;
use crate::mcp::ServerSettings;
use crate::models::ProviderSettings;
use crate::redaction::masked;
use crate::secrets::Keeping;

/// All settings of a process.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "acp-runtime configuration")]
pub struct Settings {
    /// The model of new sessions: `none`, `script:FILE`, a provider's name, or `provider/model`. Without it, the first
    /// provider's model.
    pub model: Option<String>,
    /// The mode of new sessions.
    #[schemars(schema_with = "modes")]
    pub mode: Mode,
    /// How sessions are held.
    pub session: SessionSettings,
    /// How prompts are taken.
    pub prompt: PromptSettings,
    /// How permission is given.
    pub permission: PermissionSettings,
    /// Which files nobody may touch.
    pub files: FilesSettings,
    /// How commands run.
    pub shell: ShellSettings,
    /// How the programs run that plugins were granted.
    pub exec: ExecSettings,
    /// Which plugins there are.
    pub plugins: PluginSettings,
    /// What the model is shown beside the conversation.
    pub context: ContextSettings,
    /// How far things may go.
    pub limits: LimitSettings,
    /// What is logged.
    pub log: LogSettings,
    /// Where secrets are kept.
    pub secrets: SecretSettings,
    /// The model providers, by name.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// The MCP servers of every session, by name.
    pub mcp: BTreeMap<String, ServerSettings>,
    /// Whether the command line or the environment has set the mode, so that no project changes it.
    #[serde(skip)]
    pub(super) mode_is_fixed: bool,
    /// The user's file, whether it is there or not.
    #[serde(skip)]
    pub(super) file: PathBuf,
    /// Where the MCP servers are written that are not in the user's file.
    #[serde(skip)]
    pub(super) server_files: ServerFiles,
    /// The limits of plugins that a project has narrowed.
    #[serde(skip)]
    pub(super) narrowed: LimitTable,
}

/// The files of the command line that name MCP servers.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerFiles {
    /// The file of each server.
    pub(super) of: BTreeMap<String, PathBuf>,
    /// Servers that have given way to others of their name, and the files in which they were; none is the user's.
    pub(super) gave_way: Vec<(String, Option<PathBuf>)>,
}

/// `[session]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionSettings {
    /// Seconds without use after which an open session is no longer held in memory; it is there again when it is needed.
    /// 0 holds it as long as it is open.
    pub unload_after: Timeout,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { unload_after: Timeout(1800.0) }
    }
}

/// `[prompt]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PromptSettings {
    /// What to do with a prompt that comes while another one runs.
    pub on_busy: BusyPolicy,
    /// How many prompts may wait.
    pub queue: usize,
    /// Whether the client is told of the person's own messages while they are answered. Most clients show what was typed
    /// by themselves.
    pub echo: bool,
}

/// What to do with a prompt that comes while another one runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BusyPolicy {
    /// Let it wait.
    #[default]
    Queue,
    /// Refuse it.
    Reject,
}

impl Default for PromptSettings {
    fn default() -> Self {
        Self { on_busy: BusyPolicy::Queue, queue: 16, echo: false }
    }
}

impl PromptSettings {
    /// Both keys as the session takes them.
    pub fn on_busy(&self) -> OnBusy {
        match self.on_busy {
            BusyPolicy::Queue => OnBusy::Queue(self.queue),
            BusyPolicy::Reject => OnBusy::Reject,
        }
    }
}

/// `[permission]`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionSettings {
    /// How many seconds to wait for an answer before it counts as a no; 0 waits for as long as it takes.
    pub timeout: Timeout,
    /// Effects that are always denied, such as `run` or `write:migrations/**`.
    pub deny: Vec<Written<EffectPattern>>,
    /// How often one plugin may have the person asked in one turn; what it wants beyond that is refused.
    pub questions: Questions,
}

/// Questions of one plugin in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(extend("minimum" = 1, "maximum" = 1000))]
pub struct Questions(NonZeroU32);

impl Default for Questions {
    fn default() -> Self {
        Self(QUESTIONS)
    }
}

impl TryFrom<u32> for Questions {
    type Error = String;

    fn try_from(questions: u32) -> Result<Self, String> {
        match NonZeroU32::new(questions) {
            Some(some) if questions <= 1000 => Ok(Self(some)),
            Some(_) | None => Err(format!("`{questions}` is out of its range: expected 1 to 1000 questions")),
        }
    }
}

impl From<Questions> for u32 {
    fn from(questions: Questions) -> Self {
        questions.0.get()
    }
}

impl From<Questions> for NonZeroU32 {
    fn from(questions: Questions) -> Self {
        questions.0
    }
}

/// Seconds to wait; 0 is without end.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0))]
pub struct Timeout(f64);

impl Timeout {
    /// The time to wait; none where there is no end.
    pub fn duration(self) -> Option<Duration> {
        (self.0 > 0.0).then(|| Duration::try_from_secs_f64(self.0).ok()).flatten()
    }
}

impl TryFrom<f64> for Timeout {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        match Duration::try_from_secs_f64(seconds) {
            Ok(_) => Ok(Self(seconds)),
            Err(_) => Err(format!("`{seconds}` is not a time to wait: expected seconds, or 0 to wait without end")),
        }
    }
}

impl From<Timeout> for f64 {
    fn from(timeout: Timeout) -> Self {
        timeout.0
    }
}

/// `[files]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FilesSettings {
    /// Paths that nobody may read or write, beside the built-in list.
    pub deny: Vec<Written<PathGlob>>,
    /// Whether the built-in list holds: keys, certificates, credentials, git's hooks, this program's own configuration.
    pub builtin_deny: bool,
}

impl Default for FilesSettings {
    fn default() -> Self {
        Self { deny: Vec::new(), builtin_deny: true }
    }
}

impl FilesSettings {
    /// What is denied unless the user says otherwise: what holds secrets, and what would run or loosen something.
    pub const BUILTIN: [&str; 16] = [
        "**/.env",
        "**/.env.{local,dev,development,ci,qa,stage,staging,prod,production,test}",
        "**/.env.*.local",
        "**/*.{pem,key,p12,pfx,jks,keystore}",
        "**/id_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk}",
        "**/id_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk}.*",
        "**/.ssh/**",
        "**/.gnupg/**",
        "**/{.aws/credentials,.docker/config.json,.kube/config,.config/gh/hosts.yml,.cargo/credentials,.cargo/credentials.toml}",
        "**/{.netrc,.pypirc,.pgpass,.vault-token,.envrc,.git-credentials}",
        "**/*.git/{config,config.worktree,commondir,hooks}",
        "**/*.git/hooks/**",
        "**/*.git/{modules,worktrees}/**/{config,config.worktree,commondir,gitdir,hooks}",
        "**/*.git/{modules,worktrees}/**/hooks/**",
        "**/.acp-runtime/config.toml",
        "**/acp-runtime/{config.toml,secrets.json}",
    ];

    /// What is beside these not changed, but may be read. `.git` is a file where a repository is elsewhere, which it names.
    /// A lockfile says what is installed of a project's plugins.
    pub const BUILTIN_FIXED: [&str; 4] = [
        "write:**/.git",
        "write:**/*.git/{modules,worktrees}",
        "write:**/*.git/{modules,worktrees}/**",
        "write:**/acp-plugins.lock",
    ];

    /// All paths that are denied. Cheap: the built-in list is compiled once in a process. On some disks a name is the same
    /// in capitals.
    pub fn denied(&self) -> Vec<PathGlob> {
        static BUILTIN: LazyLock<Vec<PathGlob>> = LazyLock::new(|| {
            let globs = FilesSettings::BUILTIN.iter();
            globs.filter_map(|glob| PathGlob::parse_in_any_case(glob).ok()).collect()
        });
        let builtin = self.builtin_deny.then(|| BUILTIN.iter().cloned()).into_iter().flatten();
        builtin.chain(self.deny.iter().map(|glob| glob.0.clone())).collect()
    }

    /// All that is forbidden of single effects; as cheap.
    pub fn fixed(&self) -> impl Iterator<Item = EffectPattern> {
        static FIXED: LazyLock<Vec<EffectPattern>> = LazyLock::new(|| {
            let patterns = FilesSettings::BUILTIN_FIXED.iter();
            patterns.filter_map(|pattern| EffectPattern::parse_in_any_case(pattern).ok()).collect()
        });
        self.builtin_deny.then(|| FIXED.iter().cloned()).into_iter().flatten()
    }
}

/// `[plugins]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PluginSettings {
    /// Whether the plugins that come with the program are loaded.
    pub bundled: bool,
    /// Ids of bundled plugins with hooks that are used; those that are not named here are not.
    #[schemars(with = "Vec<String>")]
    pub enabled: Vec<PluginId>,
    /// Ids of plugins that are not loaded.
    #[schemars(with = "Vec<String>")]
    pub disabled: Vec<PluginId>,
    /// More plugins: component files, or folders of them. Relative to this file.
    pub paths: Vec<PathBuf>,
    /// Limits of single plugins, by id, in the place of those of `limits.plugin` and of what they ask for themselves.
    #[schemars(with = "BTreeMap<String, PluginLimits<false>>")]
    pub limits: BTreeMap<PluginId, PluginLimits<false>>,
    /// Where packages of plugins come from.
    pub registry: RegistrySettings,
    /// Who must have signed what is installed.
    pub signatures: SignatureSettings,
    /// Whose plugins are loaded. Where it names somebody, all others' are left out, but for those that come with the program.
    pub allow: Whose,
    /// Whose plugins are not loaded, whatever else is said of them.
    pub deny: Whose,
    /// Each plugin's own settings, by id. Shown as `****` where their names say that they are secrets.
    #[serde(serialize_with = "without_secrets")]
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub settings: BTreeMap<PluginId, serde_json::Map<String, serde_json::Value>>,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            bundled: true,
            enabled: Vec::new(),
            disabled: Vec::new(),
            paths: Vec::new(),
            limits: BTreeMap::new(),
            registry: RegistrySettings::default(),
            signatures: SignatureSettings::default(),
            allow: Whose::default(),
            deny: Whose::default(),
            settings: BTreeMap::new(),
        }
    }
}

/// `[log]`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`, and `room=level` pairs between commas for single rooms of the
    /// program: `warn,host=debug,mcp=trace`. Libraries that write down what is sent to a provider, keys included, are only
    /// heard by name: `genai=debug`.
    pub level: Written<LogFilter>,
    /// Where to log, instead of the standard error stream. Relative to this file.
    pub file: Option<PathBuf>,
}

/// `[secrets]`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretSettings {
    /// Where `acp-runtime login` and `acp-runtime secret set` keep what they are told.
    pub store: Keeping,
}

impl Settings {
    /// What the gate judges by.
    pub fn policy(&self) -> Policy {
        let denied = self.permission.deny.iter().map(|pattern| pattern.0.clone());
        Policy::new(self.files.denied()).forbid(self.files.fixed()).forbid(denied)
    }

    /// The limits of all plugins of the process.
    pub fn plugin_limits(&self) -> LimitBook {
        let single = self.plugins.limits.iter().map(|(id, limits)| (id.clone(), limits.table().clone()));
        LimitBook::new(self.limits.plugin.table().clone(), single.collect())
    }

    /// What no plugin passes in the project in which these settings hold.
    pub fn narrowed_limits(&self) -> &LimitTable {
        &self.narrowed
    }
}

fn without_secrets<S: Serializer>(
    settings: &BTreeMap<PluginId, serde_json::Map<String, serde_json::Value>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let shown = settings.iter().map(|(id, own)| (id, masked(&own.clone().into())));
    shown.collect::<BTreeMap<_, _>>().serialize(serializer)
}

fn modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": Mode::ALL.map(Mode::id) })
}
