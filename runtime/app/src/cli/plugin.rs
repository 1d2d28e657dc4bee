//! `acp-runtime plugin`: which plugins there are, and what they may do.
#![expect(clippy::disallowed_methods, reason = "`plugin build` reads and writes the files that it is given")]

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::{Grant, PluginId};
use acp_runtime_agent::near::near;
use acp_runtime_host::build::{BuildError, embed};
use acp_runtime_host::install::{Candidate, InstallError};
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::{Package, PackageError, StoreError};
use serde_json::{Value, json};

use super::arguments::PluginCommand;
use super::confirm::{can_ask, confirmed};
use super::failure::Failure;
use crate::compose::{KnownPlugin, Origin, Runtime};

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
    let shelf = runtime.shelf();
    match shelf.plugins().iter().find(|known| known.plugin.id().as_str() == plugin) {
        Some(KnownPlugin { plugin, grants, origin, source }) => {
            let granted: Vec<String> = grants.granted.iter().map(ToString::to_string).collect();
            describe(plugin.manifest(), &Whence { origin: origin.as_str(), source }, Some(&granted), json)
        }
        None if Path::new(plugin).exists() => {
            let whence = Whence { origin: "not installed", source: plugin };
            describe(Package::read(plugin)?.manifest(), &whence, None, json)
        }
        None => Err(unknown(runtime, plugin)),
    }
}

fn unknown(runtime: &Runtime, plugin: &str) -> Failure {
    let known = runtime.shelf().plugins().iter().map(|known| known.plugin.id().as_str());
    let hint = match near(plugin, known).first() {
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
            Some(_) => "not granted",
            None => "asked for",
        };
        writeln!(out, "{given} {right}: \"{}\"", asked.reason)?;
    }
    Ok(())
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

async fn install(runtime: &Runtime, source: &Path, yes: bool, json: bool) -> Result<(), Failure> {
    let candidate = Candidate::check(runtime.shelf().host(), source).await?;
    let id = candidate.manifest().id.clone();
    refuse_in_vain(runtime, &id)?;
    let granted = consent(candidate.manifest(), yes)?;
    let from = std::path::absolute(source).unwrap_or_else(|_| source.to_owned());
    let installed = candidate.install(runtime.shelf().installed(), &granted, &from.display().to_string())?;
    let mut out = io::stdout();
    if json {
        let line = json!({
            "id": id,
            "version": installed.version,
            "digest": installed.digest,
            "granted": installed.granted,
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "installed {id} {} ({})", installed.version, installed.digest)?;
    }
    Ok(())
}

/// Refuses to install what would never be loaded.
fn refuse_in_vain(runtime: &Runtime, id: &PluginId) -> Result<(), Failure> {
    let Some(KnownPlugin { origin, source, .. }) = runtime.shelf().fixed(id) else { return Ok(()) };
    let what = match origin {
        Origin::Bundled => "comes with this program",
        Origin::Named => "is named in `plugins.paths`",
        Origin::Installed => return Ok(()),
    };
    Err(Failure::new(format!("`{id}` {what} (`{source}`), and an installed one would never be loaded beside it"))
        .hint(format!("{}, then install it", without(*origin))))
}

/// How to do without a plugin that was not installed.
fn without(origin: Origin) -> &'static str {
    match origin {
        Origin::Bundled => "set `plugins.bundled = false` to do without all bundled plugins",
        Origin::Named => "take it out of `plugins.paths`",
        Origin::Installed => "remove it with `acp-runtime plugin remove`",
    }
}

/// What the person grants of the plugin's ceiling. Nothing where nobody can be asked.
fn consent(manifest: &Manifest, yes: bool) -> Result<Vec<Grant>, Failure> {
    let ceiling = manifest.ceiling();
    if ceiling.is_empty() || yes {
        return Ok(ceiling);
    }
    let mut err = io::stderr();
    if !can_ask() {
        writeln!(
            err,
            "warning: `{}` asks for rights and none was granted\nhint: pass `--yes` to grant them",
            manifest.id
        )?;
        return Ok(Vec::new());
    }
    writeln!(err, "`{}` {} asks for:", manifest.id, manifest.version)?;
    for asked in &manifest.capabilities {
        writeln!(err, "  {}: \"{}\"", asked.grant, asked.reason)?;
    }
    if confirmed("Grant this?")? {
        return Ok(ceiling);
    }
    Err(Failure::new(format!("`{}` was not installed: its rights were not granted", manifest.id)))
}

fn remove(runtime: &Runtime, plugin: &str, json: bool) -> Result<(), Failure> {
    let id = PluginId::new(plugin).map_err(|error| Failure::usage(error.to_string()).hint("such as `aar:notes`"))?;
    let removed = match (runtime.shelf().installed().remove(&id), runtime.shelf().fixed(&id)) {
        (Err(error @ StoreError::NotInstalled { .. }), Some(KnownPlugin { origin, source, .. })) => {
            return Err(Failure::new(format!("{error}, it is {} (`{source}`)", origin.as_str()))
                .hint(format!("leave it out with `plugins.disabled = [\"{id}\"]`, or {}", without(*origin))));
        }
        (removed, _) => removed?,
    };
    let mut out = io::stdout();
    if json {
        writeln!(out, "{}", json!({ "id": id, "version": removed.version, "digest": removed.digest }))?;
    } else {
        writeln!(out, "removed {id} {}", removed.version)?;
    }
    Ok(())
}

async fn build(runtime: &Runtime, component: &Path, manifest: &Path, output: &Path) -> Result<(), Failure> {
    let file = |path: &Path, what: &str, error: &io::Error| {
        Failure::new(format!("`{}` cannot be {what}: {error}", path.display()))
            .hint("check the path and its permissions")
    };
    let bytes = std::fs::read(component).map_err(|error| file(component, "read", &error))?;
    let toml = std::fs::read_to_string(manifest).map_err(|error| file(manifest, "read", &error))?;
    let plugin = embed(runtime.shelf().host(), &bytes, &toml).await.map_err(|error| {
        let place = if matches!(error, BuildError::Manifest(_)) { manifest } else { component };
        Failure::new(format!("`{}`: {error}", place.display())).hint(error.hint())
    })?;
    // Renamed into place, so that a program that looks there never sees a half.
    let unfinished = output.with_extension("new");
    std::fs::write(&unfinished, plugin)
        .and_then(|()| std::fs::rename(&unfinished, output))
        .map_err(|error| file(output, "written", &error))?;
    writeln!(io::stdout(), "{}", output.display())?;
    Ok(())
}

impl From<PackageError> for Failure {
    fn from(error: PackageError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = match error {
            StoreError::System { .. } => "check permissions, or set `ACP_RUNTIME_HOME` to another folder",
            StoreError::Index { .. } => "repair the file, or move it away and install the plugins again",
            StoreError::NotInstalled { .. } => "see `acp-runtime plugin list`",
        };
        Self::new(error.to_string()).hint(hint)
    }
}
