//! `acp-runtime plugin dev`: a project's plugin in every session of the user's agents, as long as somebody works on it.
//!
//! Running agents see where it lies, and open their sessions anew with it as soon as nothing runs in them. What is granted
//! holds until this ends; what a later build asks for beyond that is not granted.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_runtime_host::install::Candidate;
use acp_runtime_host::package::read_whole;

use super::super::arguments::plugin::DevArguments;
use super::super::failure::Failure;
use super::install::{consent, show_rights};
use super::project::build;
use crate::authoring::{Sight, Working};
use crate::compose::{Origin, Runtime};
use crate::process::Stops;

/// How often it is looked whether the source has changed.
const PAUSE: Duration = Duration::from_millis(300);

pub(super) async fn dev(runtime: &Runtime, arguments: DevArguments) -> Result<(), Failure> {
    let DevArguments { folder, watch, yes } = arguments;
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    let mut stops = Stops::listen().map_err(|error| Failure::new(format!("no signals can be heard: {error}")))?;
    let mut sight = look(&folder).await?;
    let begun = begin(runtime, &folder, yes);
    let mut work = tokio::select! {
        begun = begun => begun?,
        // Nothing was begun.
        _ = stops.next() => return Ok(()),
    };
    loop {
        tokio::select! {
            _ = stops.next() => return Ok(()),
            seen = changed(&folder, &sight), if watch => sight = seen?,
        }
        tokio::select! {
            _ = stops.next() => return Ok(()),
            again = work.again(runtime, &folder) => if let Err(error) = again {
                // What was there before stays, and the next change may mend it.
                let _ = error.report();
            },
        }
    }
}

/// A plugin that is worked on.
struct Work {
    working: Working,
    granted: Vec<String>,
}

async fn begin(runtime: &Runtime, folder: &Path, yes: bool) -> Result<Work, Failure> {
    let (plugin, candidate) = built(runtime, folder).await?;
    let manifest = candidate.manifest();
    let id = manifest.id.clone();
    show_rights(&mut io::stderr(), manifest, None)?;
    let granted: Vec<String> = consent(manifest, None, yes, "begun")?.iter().map(ToString::to_string).collect();
    let working = runtime.developments().begin(&id).map_err(|error| unkept(&error))?;
    let working = working.ok_or_else(|| {
        Failure::new(format!("another process works on `{id}` already")).hint("end that `acp-runtime plugin dev` first")
    })?;
    let mut work = Work { working, granted };
    work.publish(&candidate, &plugin, folder)?;
    let version = &candidate.manifest().version;
    writeln!(
        io::stderr(),
        "`{id}` {version} (DEV) is in every session of your agents until this ends: Ctrl-C ends it"
    )?;
    Ok(work)
}

/// Builds it, and checks it like one that is installed. What no agent would load is not begun.
async fn built(runtime: &Runtime, folder: &Path) -> Result<(PathBuf, Candidate), Failure> {
    let plugin = build(runtime, folder, None).await?;
    let candidate = Candidate::check(runtime.shelf().host(), &plugin).await?;
    let id = &candidate.manifest().id;
    match runtime.shelf().refusal(id, None, Origin::Development) {
        Some(why) => {
            Err(Failure::new(format!("`{id}` cannot be worked on: {why}")).hint("see `acp-runtime config path`"))
        }
        None => Ok((plugin, candidate)),
    }
}

impl Work {
    /// Builds it anew.
    async fn again(&mut self, runtime: &Runtime, folder: &Path) -> Result<(), Failure> {
        let (plugin, candidate) = built(runtime, folder).await?;
        let asked = candidate.manifest().ceiling();
        for right in asked.iter().map(ToString::to_string).filter(|right| !self.granted.contains(right)) {
            writeln!(
                io::stderr(),
                "not granted {right}: `plugin dev` was begun without it; begin it again to grant it"
            )?;
        }
        self.publish(&candidate, &plugin, folder)?;
        let manifest = candidate.manifest();
        writeln!(io::stderr(), "`{}` {} (DEV) is now as it was just built", manifest.id, manifest.version)?;
        Ok(())
    }

    fn publish(&mut self, candidate: &Candidate, plugin: &Path, folder: &Path) -> Result<(), Failure> {
        let manifest = candidate.manifest();
        let bytes = read_whole(plugin, acp_runtime_host::limits::COMPONENT)?;
        let asked: Vec<String> = manifest.ceiling().iter().map(ToString::to_string).collect();
        let granted = self.granted.iter().filter(|right| asked.contains(right)).cloned().collect();
        let source = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).display().to_string();
        self.working.publish(&manifest.id, &bytes, granted, source).map_err(|error| unkept(&error))
    }
}

fn unkept(error: &io::Error) -> Failure {
    Failure::new(format!("nobody can be told of it: {error}"))
        .hint("see `acp-runtime config path --all` for the folder `plugins`, beside which it is kept")
}

async fn look(folder: &Path) -> Result<Sight, Failure> {
    let folder = folder.to_owned();
    let seen = tokio::task::spawn_blocking(move || Sight::of(&folder)).await;
    seen.map_err(|error| Failure::new(format!("the source cannot be looked at: {error}")))
}

/// Waits until the source is another than `before`, and no longer changes.
async fn changed(folder: &Path, before: &Sight) -> Result<Sight, Failure> {
    let mut last = look(folder).await?;
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = look(folder).await?;
        if now == last && now != *before {
            return Ok(now);
        }
        last = now;
    }
}
