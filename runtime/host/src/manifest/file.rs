//! The forms in which a manifest is written, and the check that turns one into a [`Manifest`].

mod exec;
mod net;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use acp_runtime_agent::capability::{Grant, HookEvent, OwnFolder, PathGlob, PluginId};
use acp_runtime_agent::hook::Subscription;
use acp_runtime_agent::model::InputSchema;
use acp_runtime_agent::plain;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use self::exec::RunLine;
use super::{
    About, AskedLimits, Capability, Inventory, Lifecycle, MOST_BYTES, Manifest, ManifestError, SCHEMA, at_most, unique,
};
use crate::limits::{self, CPU_RANGE, FOLDER_RANGE, MEMORY_RANGE, WALL_RANGE};

/// `plugin.toml`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ManifestFile {
    id: PluginId,
    #[serde(deserialize_with = "version")]
    version: semver::Version,
    title: String,
    description: String,
    license: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    homepage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minimum_host: Option<semver::Version>,
    #[serde(default)]
    lifecycle: Lifecycle,
    #[serde(default)]
    capabilities: Capabilities,
    #[serde(default)]
    limits: BTreeMap<LimitName, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<Value>,
}

/// The section: a `plugin.toml` and what the component offers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section<F, I> {
    schema: u32,
    plugin: F,
    inventory: I,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LimitName {
    Memory,
    Wall,
    Cpu,
    Data,
    Tmp,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capabilities {
    #[serde(default)]
    fs: Files,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kv: Option<Reason>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    net: Vec<Hosts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<SecretUse>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exec: Vec<RunLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Session>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Reason>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<HookLine>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read: Vec<ReadPaths>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    write: Vec<WritePaths>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Reason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tmp: Option<Reason>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{ glob = \"…\", reason = \"…\" }`")]
struct ReadPaths {
    glob: String,
    reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{ glob = \"…\", reason = \"…\" }`")]
struct WritePaths {
    glob: String,
    reason: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    preopen: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{ event = \"…\", reason = \"…\" }`")]
struct HookLine {
    event: HookEvent,
    /// Its place among the hooks of that event: the lowest goes first.
    #[serde(default = "middle", skip_serializing_if = "is_middle")]
    priority: u16,
    reason: String,
}

/// The reader's own words say where in the text a number is missing, and not what a version is.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<semver::Version, D::Error> {
    let text = String::deserialize(deserializer)?;
    semver::Version::parse(&text).map_err(|error| {
        D::Error::custom(format!("`{}` is no version such as `1.0.0`: {error}", plain::line(&text, 40)))
    })
}

/// The place of a hook that asks for none.
fn middle() -> u16 {
    500
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_middle(priority: &u16) -> bool {
    *priority == middle()
}

/// The places that a hook can ask for.
const PRIORITIES: RangeInclusive<u16> = 0..=1000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Session {
    read: Reason,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{ host = \"…\", reason = \"…\" }`")]
struct Hosts {
    host: String,
    reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `name`, `audience` and `reason`")]
struct SecretUse {
    name: String,
    audience: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{ reason = \"…\" }`")]
struct Reason {
    reason: String,
}

impl ManifestFile {
    pub(super) fn read_toml(text: &str) -> Result<Self, ManifestError> {
        bounded(text.len())?;
        toml::from_str(text).map_err(|error| form(&error))
    }

    pub(super) fn read_section(bytes: &[u8]) -> Result<(Self, Inventory), ManifestError> {
        bounded(bytes.len())?;
        let section: Section<Self, Inventory> = serde_json::from_slice(bytes).map_err(form)?;
        if section.schema != SCHEMA {
            let problem = format!("{} is not known; this version reads {SCHEMA}", section.schema);
            return Err(ManifestError::value("schema", problem));
        }
        Ok((section.plugin, section.inventory))
    }

    pub(super) fn write_section(&self, inventory: &Inventory) -> Result<Vec<u8>, ManifestError> {
        let bytes = serde_json::to_vec(&Section { schema: SCHEMA, plugin: self, inventory }).map_err(form)?;
        bounded(bytes.len())?;
        Ok(bytes)
    }

    pub(super) fn check(self, inventory: Inventory) -> Result<Manifest, ManifestError> {
        check_host(self.minimum_host)?;
        let about = About {
            title: required("title", &self.title, 80)?,
            description: required("description", &self.description, 400)?,
            license: required("license", &self.license, 120)?,
            homepage: self.homepage.as_deref().map(|url| web("homepage", url)).transpose()?,
            source: self.source.as_deref().map(|url| web("source", url)).transpose()?,
        };
        let id = self.id;
        Ok(Manifest {
            version: self.version,
            about,
            lifecycle: self.lifecycle,
            hooks: check_hooks(&self.capabilities.hooks)?,
            capabilities: self.capabilities.check(&id)?,
            id,
            limits: check_limits(&self.limits)?,
            settings: self.settings.map(check_settings).transpose()?,
            inventory: inventory.check()?,
        })
    }
}

impl Capabilities {
    fn check(self, plugin: &PluginId) -> Result<Vec<Capability>, ManifestError> {
        at_most("capabilities.fs.read", self.fs.read.len(), 64)?;
        at_most("capabilities.fs.write", self.fs.write.len(), 64)?;
        let mut checked = Vec::new();
        for ReadPaths { glob, reason } in self.fs.read {
            let field = "capabilities.fs.read";
            let grant = Grant::Read(pattern(field, &glob)?);
            checked.push(Capability {
                grant,
                reason: required(&format!("{field}.reason"), &reason, 200)?,
                preopen: false,
            });
        }
        for WritePaths { glob, reason, preopen } in self.fs.write {
            let field = "capabilities.fs.write";
            let glob = pattern(field, &glob)?;
            if preopen && (!glob.is_subtree() || glob.base().is_empty()) {
                let problem =
                    format!("`{glob}` cannot be preopened: only a folder and all below it, such as `notes/**`");
                return Err(ManifestError::value(field, problem));
            }
            let reason = required(&format!("{field}.reason"), &reason, 200)?;
            checked.push(Capability { grant: Grant::Write(glob), reason, preopen });
        }
        checked.extend(net::hosts(self.net)?);
        checked.extend(net::secrets(self.secrets, plugin)?);
        checked.extend(exec::check(self.exec)?);
        for (class, grant, asked) in [
            ("fs.data", Grant::OwnFiles(OwnFolder::Data), self.fs.data),
            ("fs.tmp", Grant::OwnFiles(OwnFolder::Tmp), self.fs.tmp),
            ("kv", Grant::Kv, self.kv),
            ("session.read", Grant::ReadSession, self.session.map(|session| session.read)),
            ("prompt", Grant::Prompt, self.prompt),
        ] {
            let Some(Reason { reason }) = asked else { continue };
            let reason = required(&format!("capabilities.{class}.reason"), &reason, 200)?;
            checked.push(Capability { grant, reason, preopen: false });
        }
        for HookLine { event, priority: _, reason } in self.hooks {
            let reason = required("capabilities.hooks.reason", &reason, 200)?;
            checked.push(Capability { grant: Grant::Hook(event), reason, preopen: false });
        }
        Ok(checked)
    }
}

fn check_host(needed: Option<semver::Version>) -> Result<(), ManifestError> {
    let Some(needed) = needed else { return Ok(()) };
    let running = semver::Version::parse(env!("CARGO_PKG_VERSION"))
        .map_err(|error| ManifestError::value("minimum-host", error.to_string()))?;
    if needed > running { Err(ManifestError::HostTooOld { needed, running }) } else { Ok(()) }
}

fn check_hooks(lines: &[HookLine]) -> Result<Vec<Subscription>, ManifestError> {
    const FIELD: &str = "capabilities.hooks";
    unique(FIELD, lines.iter().map(|line| line.event.as_str()))?;
    let subscription = |line: &HookLine| {
        let field = format!("{FIELD}.priority");
        let priority = within(&field, &line.priority.to_string(), line.priority, &PRIORITIES, ToString::to_string)?;
        Ok(Subscription { event: line.event, priority })
    };
    lines.iter().map(subscription).collect()
}

fn check_limits(written: &BTreeMap<LimitName, String>) -> Result<AskedLimits, ManifestError> {
    let mut asked = AskedLimits::default();
    for (name, text) in written {
        match name {
            LimitName::Memory => asked.memory = Some(space("limits.memory", text, &MEMORY_RANGE)?),
            LimitName::Data => asked.data = Some(space("limits.data", text, &FOLDER_RANGE)?),
            LimitName::Tmp => asked.tmp = Some(space("limits.tmp", text, &FOLDER_RANGE)?),
            LimitName::Wall => asked.wall = Some(time("limits.wall", text, &WALL_RANGE)?),
            LimitName::Cpu => asked.cpu = Some(time("limits.cpu", text, &CPU_RANGE)?),
        }
    }
    Ok(asked)
}

fn space(field: &str, text: &str, range: &RangeInclusive<u64>) -> Result<u64, ManifestError> {
    let value = limits::parse_bytes(text).map_err(|problem| ManifestError::value(field, problem))?;
    within(field, text, value, range, |&end| limits::show_bytes(end))
}

fn time(field: &str, text: &str, range: &RangeInclusive<Duration>) -> Result<Duration, ManifestError> {
    let value = limits::parse_duration(text).map_err(|problem| ManifestError::value(field, problem))?;
    within(field, text, value, range, |end| format!("{end:?}"))
}

fn within<T: PartialOrd>(
    field: &str,
    text: &str,
    value: T,
    range: &RangeInclusive<T>,
    show: impl Fn(&T) -> String,
) -> Result<T, ManifestError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let problem = format!("`{text}` is out of range: {} to {}", show(range.start()), show(range.end()));
    Err(ManifestError::value(field, problem))
}

fn check_settings(schema: Value) -> Result<InputSchema, ManifestError> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(ManifestError::value("settings", "must be a JSON Schema with `type = \"object\"`"));
    }
    Ok(InputSchema::new(schema))
}

fn pattern(field: &str, glob: &str) -> Result<PathGlob, ManifestError> {
    PathGlob::parse(glob).map_err(|error| ManifestError::value(field, error.to_string()))
}

fn required(field: &str, text: &str, most: usize) -> Result<String, ManifestError> {
    at_most(field, text.chars().count(), most)?;
    let line = plain::line(text, most);
    if line.is_empty() { Err(ManifestError::value(field, "must not be empty")) } else { Ok(line) }
}

fn web(field: &str, url: &str) -> Result<String, ManifestError> {
    let url = required(field, url, 400)?;
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(url);
    }
    Err(ManifestError::value(field, format!("`{url}` is not a web address: it must begin with `https://`")))
}

fn bounded(size: usize) -> Result<(), ManifestError> {
    if size > MOST_BYTES { Err(ManifestError::TooLarge(size)) } else { Ok(()) }
}

fn form(error: impl Display) -> ManifestError {
    let told = error.to_string();
    let told = told.trim_end();
    let cut = plain::cut(told, 2000);
    ManifestError::Form(if cut.len() < told.len() { format!("{cut}…") } else { cut.to_owned() })
}
