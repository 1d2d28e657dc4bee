//! `acp-runtime plugin list` and `info`: what a plugin offers, what it may do and use, and how it is set.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use acp_runtime_agent::capability::{EffectPattern, Grant, GrantSet, OwnFolder, PluginId};
use acp_runtime_agent::model::InputSchema;
use acp_runtime_agent::near::near;
use acp_runtime_agent::plain;
use acp_runtime_host::limits::{Limit, Limits, show_bytes};
use acp_runtime_host::manifest::{Lifecycle, Manifest};
use acp_runtime_host::package::{Digest, Package};
use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::grant::told;
use super::lent;
use crate::compose::{KnownPlugin, Origin, Runtime};
use crate::redaction::masked;
use crate::settings::PluginSettings;
use crate::store::{Answer, PluginIdentity};

/// Characters of a setting's value, and of what is said of it.
const SHOWN: usize = 200;
/// How long a list waits for a store that somebody else holds.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn list(runtime: &Runtime, wanted: &PluginSettings, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    // Those that hold wherever a plugin is used. Without them it is listed all the same.
    let answers = tokio::time::timeout(PATIENCE, runtime.memory().answers_everywhere()).await;
    let answers = match answers.map_err(|_| "the session store does not answer".to_owned()) {
        Ok(Ok(answers)) => answers,
        Ok(Err(error)) => unknown_answers(&error.to_string())?,
        Err(late) => unknown_answers(&late)?,
    };
    // What is wrong with the index is told with the other problems.
    let installed = runtime.shelf().installed().kept().unwrap_or_default();
    for known in &runtime.known() {
        let kept = installed.get(known.plugin.id()).filter(|_| known.origin == Origin::Installed);
        let KnownPlugin { plugin, origin, source, grants } = known;
        let manifest = plugin.manifest();
        let enabled = known.absence(wanted).is_none();
        let misfit = known.misfit(&runtime.settings().plugins);
        if json {
            let mut line = as_json(manifest);
            line["origin"] = origin.as_str().into();
            line["source"] = source.as_str().into();
            line["enabled"] = enabled.into();
            line["problem"] = misfit.as_deref().into();
            line["digest"] = json!(plugin.pinned());
            line["publisher"] = json!(kept.and_then(|kept| kept.active.publisher.as_ref()));
            line["previous"] = json!(kept.and_then(|kept| kept.previous.as_ref()).map(|previous| &previous.version));
            line["waiting"] = json!(kept.and_then(|kept| kept.waiting.as_ref()).map(|waiting| &waiting.version));
            line["rights"] = grants.granted.iter().map(ToString::to_string).collect();
            writeln!(out, "{line}")?;
        } else {
            let state = match &misfit {
                _ if !enabled => "disabled",
                Some(_) => "left out",
                None => origin.as_str(),
            };
            let (id, version, about) = (&manifest.id, &manifest.version, &manifest.about.description);
            let identity = known.identity();
            let own = answers.iter().filter(|answer| answer.is_about_plugin(id) && answer.counts_for(&identity));
            let own: Vec<&Answer> = own.collect();
            let digest = plugin.pinned().map_or_else(|| "-".to_owned(), short);
            writeln!(out, "{id}  {version}  {state}  {}  {digest}  {about}", rights(manifest, grants, &own))?;
        }
        if let Some(waiting) = kept.and_then(|kept| kept.waiting.as_ref()) {
            let id = known.plugin.id();
            writeln!(
                io::stderr(),
                "hint: `{id}` {} waits for approval: acp-runtime plugin update {id}",
                waiting.version
            )?;
        }
        warn_of_misfit(runtime, known)?;
    }
    for problem in &runtime.shelf().contents().problems {
        writeln!(io::stderr(), "warning: {}", problem.message)?;
    }
    Ok(())
}

fn unknown_answers(why: &str) -> io::Result<Vec<Answer>> {
    writeln!(io::stderr(), "warning: what you allowed and denied since is not known: {why}")?;
    Ok(Vec::new())
}

/// As much of a digest as tells files apart that one person has.
fn short(digest: Digest) -> String {
    digest.to_string().chars().take("sha256:".len() + 12).collect()
}

/// Says why sessions are without a plugin that the configuration does not fit.
fn warn_of_misfit(runtime: &Runtime, known: &KnownPlugin) -> io::Result<()> {
    let settings = runtime.settings();
    known.misfit(&settings.plugins).map_or(Ok(()), |problem| {
        let id = known.plugin.id();
        let hint = format!("hint: correct {}", settings.plugin_place(id));
        writeln!(io::stderr(), "warning: `{id}` is left out: {problem}\n{hint}")
    })
}

/// The classes of what it may do, in a few words; those with a `?` are asked for when they are used.
fn rights(manifest: &Manifest, grants: &GrantSet, answers: &[&Answer]) -> String {
    let about = |right: &Grant, allowed: bool| {
        let patterns = answers.iter().filter(|answer| answer.allowed == allowed);
        let mut patterns = patterns.filter_map(|answer| EffectPattern::parse(&answer.typed()).ok());
        // A no about some of it leaves the rest.
        patterns.any(|pattern| pattern.may_need(right) && (allowed || pattern.is_whole()))
    };
    let mut words: Vec<String> = Vec::new();
    for asked in &manifest.capabilities {
        let class = asked.grant.class().as_str();
        if about(&asked.grant, false) {
            continue;
        }
        let word = match standing(&asked.grant, Some(&grants.granted)) {
            Standing::Granted => class.to_owned(),
            Standing::AskedWhenUsed | Standing::NotGranted if about(&asked.grant, true) => class.to_owned(),
            Standing::AskedWhenUsed => format!("{class}?"),
            Standing::NotGranted | Standing::AskedFor => continue,
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { "no rights".to_owned() } else { words.join(" ") }
}

/// How a right that is asked for stands.
#[derive(Clone, Copy)]
enum Standing {
    Granted,
    /// To read is no more than a question.
    AskedWhenUsed,
    NotGranted,
    /// Nobody has decided.
    AskedFor,
}

impl Standing {
    fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::AskedWhenUsed => "asked for when used",
            Self::NotGranted => "not granted",
            Self::AskedFor => "asked for",
        }
    }
}

fn standing(right: &Grant, granted: Option<&Vec<Grant>>) -> Standing {
    match granted {
        Some(granted) if granted.contains(right) => Standing::Granted,
        Some(_) if matches!(right, Grant::Read(_)) => Standing::AskedWhenUsed,
        Some(_) => Standing::NotGranted,
        None => Standing::AskedFor,
    }
}

pub(super) async fn info(runtime: &Runtime, plugin: &str, json: bool) -> Result<(), Failure> {
    let is_file = || Path::new(plugin).is_file();
    let package;
    let known = runtime.known();
    let about = match meant(&known, plugin).as_slice() {
        [known] if known.plugin.id().as_str() == plugin || !is_file() => {
            let identity = known.identity();
            let KnownPlugin { plugin: known, grants, origin, source } = *known;
            About {
                manifest: known.manifest(),
                digest: known.digest()?,
                origin: origin.as_str(),
                source,
                granted: Some(&grants.granted),
                answers: runtime.memory().answers_about(known.id()).await?,
                identity: Some(identity),
            }
        }
        // What can be neither an id nor a name can only be meant as a file, whether it is there or not.
        _ if is_file() || !(PluginId::is_name(plugin) || PluginId::new(plugin).is_ok()) => {
            package = Package::read(plugin)?;
            let (_, digest) = package.bytes()?;
            let (manifest, origin) = (package.manifest(), "not installed");
            About { manifest, digest, origin, source: plugin, granted: None, answers: Vec::new(), identity: None }
        }
        [] => return Err(unknown(&known, plugin)),
        several => return Err(ambiguous(plugin, several)),
    };
    let limits = runtime.shelf().host().limits_of(about.manifest);
    let given = runtime.settings().plugins.settings.get(&about.manifest.id);
    let settings = settings(about.manifest, given);
    let mut out = io::stdout();
    if json {
        writeln!(out, "{:#}", about.as_json(&limits, &settings)?)?;
    } else {
        about.write(&mut out, &limits, &settings)?;
    }
    // A file that is not installed may have an id that is known.
    if let [known] = meant(&known, plugin).as_slice() {
        warn_of_misfit(runtime, known)?;
    }
    Ok(())
}

/// The plugins that can be meant by an id or a name.
pub(super) fn meant<'a>(known: &'a [KnownPlugin], plugin: &str) -> Vec<&'a KnownPlugin> {
    let ids = PluginId::meant_by(plugin, known.iter().map(|known| known.plugin.id()));
    known.iter().filter(|known| ids.contains(&known.plugin.id())).collect()
}

pub(super) fn ambiguous(plugin: &str, several: &[&KnownPlugin]) -> Failure {
    let ids: Vec<&str> = several.iter().map(|known| known.plugin.id().as_str()).collect();
    Failure::usage(format!("several plugins have the name `{plugin}`")).hint(format!("name `{}`", ids.join("` or `")))
}

pub(super) fn unknown(known: &[KnownPlugin], plugin: &str) -> Failure {
    let ids = known.iter().map(|known| known.plugin.id());
    let hint = match near(plugin, ids.flat_map(|id| [id.as_str(), id.name()])).first() {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "see `acp-runtime plugin list`".to_owned(),
    };
    Failure::usage(format!("there is no plugin `{plugin}`")).hint(hint)
}

/// A limit by the name that it is configured by: of things, of bytes, or of milliseconds.
fn of(limits: &Limits, name: &str) -> u64 {
    Limit::named(name).map_or(0, |limit| limit.of(limits))
}

/// One of a plugin's settings.
struct Setting {
    name: String,
    /// The types of its values, as its schema names them.
    kind: String,
    description: String,
    required: bool,
    default: Option<Value>,
    /// What is configured, without secrets.
    value: Option<Value>,
}

fn settings(manifest: &Manifest, given: Option<&Map<String, Value>>) -> Vec<Setting> {
    let Some(schema) = manifest.settings.as_ref().map(InputSchema::as_value) else { return Vec::new() };
    let given = given.map(|given| masked(&Value::Object(given.clone())));
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let setting = |(name, schema): (&String, &Value)| Setting {
        name: plain::line(name, SHOWN),
        kind: kind(schema),
        description: plain::line(schema["description"].as_str().unwrap_or_default(), SHOWN),
        required: required(name),
        default: schema.get("default").cloned(),
        value: given.as_ref().and_then(|given| given.get(name)).cloned(),
    };
    properties.map(setting).collect()
}

fn kind(schema: &Value) -> String {
    let kind = match (&schema["enum"], &schema["type"]) {
        (Value::Array(values), _) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or "),
        (_, Value::String(kind)) if kind == "array" => match schema["items"]["type"].as_str() {
            Some(items) => format!("list of {items}"),
            None => "list".to_owned(),
        },
        (_, Value::String(kind)) => kind.clone(),
        (_, Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "anything".to_owned(),
    };
    plain::line(&kind, SHOWN)
}

/// All that is said of one plugin.
struct About<'a> {
    manifest: &'a Manifest,
    digest: Digest,
    origin: &'a str,
    source: &'a str,
    /// Of its ceiling, where that was decided.
    granted: Option<&'a Vec<Grant>>,
    /// What a person answered about it for good, in whatever project.
    answers: Vec<Answer>,
    identity: Option<PluginIdentity>,
}

impl About<'_> {
    fn as_json(&self, limits: &Limits, settings: &[Setting]) -> Result<Value, Failure> {
        let manifest = self.manifest;
        let mut object = as_json(manifest);
        object["origin"] = self.origin.into();
        object["source"] = self.source.into();
        object["digest"] = self.digest.to_string().into();
        object["license"] = manifest.about.license.as_str().into();
        object["lifecycle"] = serde_json::to_value(manifest.lifecycle)?;
        object["tools"] = serde_json::to_value(&manifest.inventory.tools)?;
        object["limits"] = json!({
            "memory": of(limits, "memory"),
            "wallMs": of(limits, "wall_seconds"),
            "cpuMs": of(limits, "cpu_seconds"),
            "output": of(limits, "output"),
            "calls": of(limits, "calls"),
            "kv": of(limits, "kv_total"),
        });
        object["settings"] = settings
            .iter()
            .map(|Setting { name, kind, description, required, default, value }| {
                json!({
                    "name": name,
                    "type": kind,
                    "description": description,
                    "required": required,
                    "default": default,
                    "value": value,
                })
            })
            .collect();
        object["capabilities"] = manifest
            .capabilities
            .iter()
            .map(|asked| {
                let given = self.granted.map(|granted| granted.contains(&asked.grant));
                json!({ "right": asked.grant.to_string(), "reason": asked.reason, "granted": given })
            })
            .collect();
        object["answers"] = self
            .answers
            .iter()
            .map(|answer| {
                json!({
                    "effect": answer.typed(),
                    "allowed": answer.allowed,
                    "scope": answer.scope().as_str(),
                    "project": answer.project,
                    "counts": self.counts(answer),
                })
            })
            .collect();
        Ok(object)
    }

    /// Whether an answer is about the plugin as it is.
    fn counts(&self, answer: &Answer) -> bool {
        self.identity.as_ref().is_some_and(|identity| answer.counts_for(identity))
    }

    fn write(&self, out: &mut impl io::Write, limits: &Limits, settings: &[Setting]) -> io::Result<()> {
        let manifest = self.manifest;
        let (about, offers) = (&manifest.about, &manifest.inventory);
        writeln!(out, "{} {} ({})", manifest.id, manifest.version, self.origin)?;
        writeln!(out, "{}: {}", about.title, about.description)?;
        writeln!(out, "from: {}", self.source)?;
        writeln!(out, "digest: {}", self.digest)?;
        writeln!(out, "license: {}", about.license)?;
        for tool in &offers.tools {
            writeln!(out, "tool {}: {}", tool.name, tool.description.lines().next().unwrap_or_default())?;
        }
        for panel in &offers.panels {
            writeln!(out, "panel {}: {}", panel.name, panel.title)?;
        }
        for command in &offers.commands {
            writeln!(out, "command /{}: {}", command.name, command.description)?;
        }
        for hook in &manifest.hooks {
            writeln!(out, "hook {}: priority {}", hook.event, hook.priority)?;
        }
        for asked in &manifest.capabilities {
            let standing = standing(&asked.grant, self.granted).as_str();
            writeln!(out, "{standing} {}{}: \"{}\"", asked.grant, lent(asked), plain::quote(&asked.reason, SHOWN))?;
        }
        for answer in &self.answers {
            let verdict = if answer.allowed { "you allowed" } else { "you denied" };
            let holds = match (answer.allowed, self.counts(answer)) {
                (true, true) => "",
                (true, false) => ", which was of another version and counts no more",
                (false, _) => ", which holds for whatever has this id",
            };
            writeln!(out, "{verdict} {}{holds}", told(answer))?;
        }
        for setting in settings {
            writeln!(out, "{}", setting.line())?;
        }
        let lives = match manifest.lifecycle {
            Lifecycle::Call => "one call",
            Lifecycle::Session => "a session, as long as there is room",
        };
        writeln!(out, "an instance lives for: {lives}")?;
        writeln!(out, "limit of memory: {}", show_bytes(of(limits, "memory")))?;
        let time = |name| Duration::from_millis(of(limits, name));
        let (wall, cpu) = (time("wall_seconds"), time("cpu_seconds"));
        writeln!(out, "limit of a call: {wall:?}, of which it may compute {cpu:?}")?;
        writeln!(out, "limit of calls at once: {}", of(limits, "calls"))?;
        if !manifest.hooks.is_empty() {
            let (wall, cpu) = (time("hook_wall_milliseconds"), time("hook_milliseconds"));
            writeln!(out, "limit of a hook: {wall:?}, of which it may compute {cpu:?}")?;
        }
        for (grant, what, most) in [
            (Grant::Kv, "storage", of(limits, "kv_total")),
            (Grant::OwnFiles(OwnFolder::Data), "/data", of(limits, "data")),
            (Grant::OwnFiles(OwnFolder::Tmp), "/tmp", of(limits, "tmp")),
        ] {
            if manifest.capabilities.iter().any(|asked| asked.grant == grant) {
                writeln!(out, "limit of {what}: {}", show_bytes(most))?;
            }
        }
        Ok(())
    }
}

impl Setting {
    fn line(&self) -> String {
        let Self { name, kind, description, required, default, value } = self;
        let needed = if *required { ", required" } else { "" };
        let about = if description.is_empty() { String::new() } else { format!(": {description}") };
        let shown = |value: &Value| plain::line(&value.to_string(), SHOWN);
        let holds = match (value, default) {
            (Some(value), _) => format!("set to {}", shown(value)),
            (None, Some(default)) => format!("not set, so {}", shown(default)),
            (None, None) => "not set".to_owned(),
        };
        format!("setting {name} ({kind}{needed}){about} [{holds}]")
    }
}

fn as_json(manifest: &Manifest) -> Value {
    let offers = &manifest.inventory;
    json!({
        "id": manifest.id,
        "version": manifest.version,
        "title": manifest.about.title,
        "description": manifest.about.description,
        "tools": offers.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "panels": offers.panels.iter().map(|panel| &panel.name).collect::<Vec<_>>(),
        "commands": offers.commands.iter().map(|command| &command.name).collect::<Vec<_>>(),
        "hooks": manifest.hooks.iter().map(|hook| hook.event.as_str()).collect::<Vec<_>>(),
    })
}
