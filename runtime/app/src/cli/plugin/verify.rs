//! `acp-runtime plugin verify`: whether plugins are what was installed, or signed, and by whom. Asks nobody on the network.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::PluginId;
use acp_runtime_host::package::{Digest, Installed, Kept, LocalSource, PluginLock, manifest_of};
use acp_runtime_host::publishers::{Publishers, Standing};
use serde_json::json;

use super::super::arguments::VerifyArguments;
use super::super::failure::Failure;
use super::upkeep::named;
use super::vouch::Arrival;
use crate::compose::Runtime;

/// What became of one plugin.
struct Finding {
    name: String,
    version: Option<String>,
    digest: Option<Digest>,
    /// One sentence without its end.
    what: String,
    is_good: bool,
}

pub(super) fn verify(runtime: &Runtime, arguments: VerifyArguments) -> Result<(), Failure> {
    let VerifyArguments { plugin, all: _, json } = arguments;
    let publishers = runtime.publishers().read()?;
    let findings = if let Some(plugin) = plugin {
        vec![one(runtime, &publishers, plugin)?]
    } else {
        // What was stopped in the middle is put right by that, also where nothing is installed.
        let lock = runtime.shelf().installed().read_lock()?;
        let kept = runtime.shelf().installed().kept()?;
        let finding = |one| installed(runtime, &publishers, lock.as_ref(), one);
        kept.iter().map(finding).collect::<Result<_, _>>()?
    };
    let bad = findings.iter().filter(|finding| !finding.is_good).count();
    let mut out = io::stdout();
    for Finding { name, version, digest, what, is_good } in &findings {
        let word = if *is_good { "good" } else { "bad" };
        if json {
            let line =
                json!({ "plugin": name, "version": version, "digest": digest, "good": is_good, "finding": what });
            writeln!(out, "{line}")?;
        } else {
            let version = version.as_deref().unwrap_or("-");
            writeln!(out, "{word}  {name}  {version}  {what}")?;
        }
    }
    match bad {
        0 => Ok(()),
        1 => Err(Failure::new("one plugin is not as it should be")
            .hint("remove it, and install it again from its publisher")),
        bad => Err(Failure::new(format!("{bad} plugins are not as they should be"))
            .hint("remove them, and install them again from their publishers")),
    }
}

fn one(runtime: &Runtime, publishers: &Publishers, plugin: OsString) -> Result<Finding, Failure> {
    // A file that is there is meant before an installed plugin of its name, and not before one of its id.
    let is_id = |text: &str| PluginId::new(text).is_ok();
    let is_name = |text: &str| is_id(&format!("any:{text}")) && !Path::new(text).exists();
    if let Some(typed) = plugin.to_str().filter(|text| is_id(text) || is_name(text)) {
        let (id, kept) = named(&runtime.shelf().installed().kept()?, typed)?;
        let lock = runtime.shelf().installed().read_lock()?;
        return installed(runtime, publishers, lock.as_ref(), (&id, &kept));
    }
    let path = PathBuf::from(plugin);
    let fetched = LocalSource::read(&path)?;
    let manifest = manifest_of(&path, &fetched.bytes)?;
    let arrival =
        Arrival { manifest: &manifest, bytes: &fetched.bytes, digest: fetched.digest, signatures: &fetched.signatures };
    let (what, is_good) = judge(arrival, publishers);
    let (name, version) = (manifest.id.to_string(), Some(manifest.version.to_string()));
    Ok(Finding { name, version, digest: Some(fetched.digest), what, is_good })
}

/// An installed plugin: all files that are kept of it, what was noted of them, and the signatures that they came with.
fn installed(
    runtime: &Runtime,
    publishers: &Publishers,
    lock: Option<&PluginLock>,
    (id, kept): (&PluginId, &Kept),
) -> Result<Finding, Failure> {
    let store = runtime.shelf().installed();
    if let Some(difference) = lock.and_then(|lock| lock.differs(id, &kept.active)) {
        writeln!(io::stderr(), "warning: `{id}`: {difference}")?;
    }
    let problems = store.verify(id, kept);
    let (what, is_good) = if problems.is_empty() {
        [Some(&kept.active), kept.previous.as_ref(), kept.waiting.as_ref()]
            .into_iter()
            .flatten()
            .map(|version| signed(runtime, publishers, version))
            // What is used is told of; another version only where something is wrong with it.
            .reduce(|told, other| if told.1 && !other.1 { other } else { told })
            .unwrap_or_default()
    } else {
        (problems.join("; "), false)
    };
    let (version, digest) = (Some(kept.active.version.to_string()), Some(kept.active.digest));
    Ok(Finding { name: id.to_string(), version, digest, what, is_good })
}

/// The signature that a version came with.
fn signed(runtime: &Runtime, publishers: &Publishers, version: &Installed) -> (String, bool) {
    let store = runtime.shelf().installed();
    let read = store.package(version).and_then(|package| Ok((package.bytes()?.0, package)));
    match (read, store.signature(version)) {
        (Err(error), _) => (error.to_string(), false),
        (_, Err(error)) => (error.to_string(), false),
        (_, Ok(None)) if version.publisher.is_some() => ("its signature is gone".to_owned(), false),
        // It was installed so, by a person who was told.
        (_, Ok(None)) => ("as it was installed; nobody has signed it".to_owned(), true),
        (Ok((bytes, package)), Ok(Some(signature))) => {
            let (signatures, digest) = ([signature], version.digest);
            let arrival = Arrival { manifest: package.manifest(), bytes: &bytes, digest, signatures: &signatures };
            judge(arrival, publishers)
        }
    }
}

fn judge(arrival: Arrival<'_>, publishers: &Publishers) -> (String, bool) {
    match arrival.standing(publishers) {
        Ok(Standing::Trusted { publisher, key }) => {
            (format!("signed by the publisher `{publisher}` ({})", key.fingerprint()), true)
        }
        Ok(Standing::New { key, .. }) => {
            (format!("signed by a key that is not trusted ({})", key.fingerprint()), false)
        }
        Ok(Standing::Stranger { key }) => (format!("signed by a key that is not known ({key})"), false),
        Ok(Standing::Unsigned { .. }) => ("nobody has signed it".to_owned(), false),
        Err(distrust) => (distrust.to_string(), false),
    }
}
