//! `acp-runtime plugin`: which plugins there are, and what they may do.
#![expect(clippy::disallowed_methods, reason = "`plugin build` writes the file that it is asked for")]

mod install;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::{Grant, PluginId};
use acp_runtime_agent::near::near;
use acp_runtime_host::build::{BuildError, embed};
use acp_runtime_host::limits::COMPONENT;
use acp_runtime_host::manifest::{Capability, MOST_BYTES, Manifest};
use acp_runtime_host::package::{Package, PackageError, read_whole};
use serde_json::{Value, json};

use self::install::{install, remove};
use super::arguments::PluginCommand;
use super::failure::Failure;
use crate::compose::{KnownPlugin, Runtime};

pub(super) async fn command(
    runtime: Arc<Runtime>,
    disabled: &[PluginId],
    command: PluginCommand,
) -> Result<(), Failure> {
    match command {
        PluginCommand::List { json } => list(&runtime, disabled, json),
        PluginCommand::Info { plugin, json } => info(&runtime, &plugin, json),
        PluginCommand::Install { source, yes, json } => install(&runtime, &source, yes, json).await,
        PluginCommand::Remove { plugin, json } => remove(&runtime, &plugin, json),
        PluginCommand::Build { component, manifest, output } => build(&runtime, &component, &manifest, &output).await,
    }
}

fn list(runtime: &Runtime, disabled: &[PluginId], json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    for known in runtime.shelf().plugins() {
        let manifest = known.plugin.manifest();
        let enabled = !disabled.contains(known.plugin.id());
        if json {
            let mut line = as_json(manifest);
            line["origin"] = known.origin.as_str().into();
            line["source"] = known.source.as_str().into();
            line["enabled"] = enabled.into();
            writeln!(out, "{line}")?;
        } else {
            let state = if enabled { known.origin.as_str() } else { "disabled" };
            writeln!(out, "{}  {}  {state}  {}", manifest.id, manifest.version, manifest.about.description)?;
        }
    }
    for problem in runtime.shelf().problems() {
        writeln!(io::stderr(), "warning: {}", problem.message)?;
    }
    Ok(())
}

fn info(runtime: &Runtime, plugin: &str, json: bool) -> Result<(), Failure> {
    let is_file = || Path::new(plugin).exists();
    let known = match meant(runtime, plugin).as_slice() {
        [known] if known.plugin.id().as_str() == plugin || !is_file() => *known,
        // What can be neither an id nor a name can only be meant as a file, whether it is there or not.
        _ if is_file() || !(PluginId::is_name(plugin) || PluginId::new(plugin).is_ok()) => {
            let whence = Whence { origin: "not installed", source: plugin };
            return describe(Package::read(plugin)?.manifest(), &whence, None, json);
        }
        [] => return Err(unknown(runtime, plugin)),
        several => return Err(ambiguous(plugin, several)),
    };
    let KnownPlugin { plugin, grants, origin, source } = known;
    let granted: Vec<String> = grants.granted.iter().map(ToString::to_string).collect();
    describe(plugin.manifest(), &Whence { origin: origin.as_str(), source }, Some(&granted), json)
}

/// The plugins that can be meant by an id or a name.
fn meant<'a>(runtime: &'a Runtime, plugin: &str) -> Vec<&'a KnownPlugin> {
    let known = runtime.shelf().plugins();
    let ids = PluginId::meant_by(plugin, known.iter().map(|known| known.plugin.id()));
    known.iter().filter(|known| ids.contains(&known.plugin.id())).collect()
}

fn ambiguous(plugin: &str, several: &[&KnownPlugin]) -> Failure {
    let ids: Vec<&str> = several.iter().map(|known| known.plugin.id().as_str()).collect();
    Failure::usage(format!("several plugins have the name `{plugin}`")).hint(format!("name `{}`", ids.join("` or `")))
}

fn unknown(runtime: &Runtime, plugin: &str) -> Failure {
    let known = runtime.shelf().plugins().iter().map(|known| known.plugin.id());
    let hint = match near(plugin, known.flat_map(|id| [id.as_str(), id.name()])).first() {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "see `acp-runtime plugin list`".to_owned(),
    };
    Failure::usage(format!("there is no plugin `{plugin}`")).hint(hint)
}

/// Where a plugin comes from.
struct Whence<'a> {
    origin: &'a str,
    source: &'a str,
}

/// What a plugin offers and asks for. `granted` are lines of its ceiling, where that was decided.
fn describe(manifest: &Manifest, whence: &Whence<'_>, granted: Option<&[String]>, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    if json {
        let mut object = as_json(manifest);
        object["origin"] = whence.origin.into();
        object["source"] = whence.source.into();
        object["license"] = manifest.about.license.as_str().into();
        object["tools"] = serde_json::to_value(&manifest.inventory.tools)?;
        object["capabilities"] = manifest
            .capabilities
            .iter()
            .map(|asked| {
                let right = asked.grant.to_string();
                let given = granted.map(|granted| granted.contains(&right));
                json!({ "right": right, "reason": asked.reason, "granted": given })
            })
            .collect();
        writeln!(out, "{object:#}")?;
        return Ok(());
    }
    let (about, offers) = (&manifest.about, &manifest.inventory);
    writeln!(out, "{} {} ({})", manifest.id, manifest.version, whence.origin)?;
    writeln!(out, "{}: {}", about.title, about.description)?;
    writeln!(out, "from: {}", whence.source)?;
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
    for asked in &manifest.capabilities {
        let right = asked.grant.to_string();
        let given = match granted {
            Some(granted) if granted.contains(&right) => "granted",
            // To read is no more than a question.
            Some(_) if matches!(asked.grant, Grant::Read(_)) => "asked for when used",
            Some(_) => "not granted",
            None => "asked for",
        };
        writeln!(out, "{given} {right}{}: \"{}\"", lent(asked), asked.reason)?;
    }
    Ok(())
}

/// What a right means beyond its name.
fn lent(asked: &Capability) -> &'static str {
    if asked.preopen {
        " (lent as a whole: writing single files in it is not asked about, deleting and moving are)"
    } else {
        ""
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
    })
}

async fn build(runtime: &Runtime, component: &Path, manifest: &Path, output: &Path) -> Result<(), Failure> {
    let bytes = read_whole(component, COMPONENT)?;
    let toml = String::from_utf8(read_whole(manifest, MOST_BYTES as u64)?).map_err(|error| {
        Failure::new(format!("`{}` is not text: {error}", manifest.display())).hint("name the plugin's `plugin.toml`")
    })?;
    let plugin = embed(runtime.shelf().host(), &bytes, &toml).await.map_err(|error| {
        let place = if matches!(error, BuildError::Manifest(_)) { manifest } else { component };
        Failure::new(format!("`{}`: {error}", place.display())).hint(error.hint())
    })?;
    // Renamed into place, so that a program that looks there never sees a half.
    let unfinished = output.with_extension("new");
    std::fs::write(&unfinished, plugin).and_then(|()| std::fs::rename(&unfinished, output)).map_err(|error| {
        Failure::new(format!("`{}` cannot be written: {error}", output.display()))
            .hint("check the path and its permissions")
    })?;
    writeln!(io::stdout(), "{}", output.display())?;
    Ok(())
}

impl From<PackageError> for Failure {
    fn from(error: PackageError) -> Self {
        let told = match &error {
            PackageError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::usage(error.to_string())
            }
            PackageError::Read { .. }
            | PackageError::NotAComponent { .. }
            | PackageError::NoManifest { .. }
            | PackageError::Manifest { .. }
            | PackageError::Changed { .. }
            | PackageError::Gone { .. }
            | PackageError::NotInstalled { .. }
            | PackageError::TooLarge { .. } => Self::new(error.to_string()),
        };
        told.hint(error.hint())
    }
}
