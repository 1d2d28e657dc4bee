//! `acp-runtime plugin verify`: whether plugins are what was installed, or signed, and by whom. Asks nobody on the network.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use acp_runtime_agent::capability::PluginId;
use acp_runtime_host::package::{Digest, Installed, LocalSource, manifest_of};
use acp_runtime_host::publishers::{Publishers, Standing};
use serde_json::json;

use super::super::arguments::VerifyArguments;
use super::super::failure::Failure;
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
        let installed = runtime.shelf().installed().list()?;
        installed.iter().map(|(id, installed)| kept(runtime, &publishers, id, installed)).collect()
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
    if let Some(id) = plugin.to_str().and_then(|text| PluginId::new(text).ok()) {
        let installed = runtime.shelf().installed().list()?;
        let installed = installed.get(&id).ok_or_else(|| {
            Failure::usage(format!("`{id}` is not installed")).hint("see `acp-runtime plugin list`, or name a file")
        })?;
        return Ok(kept(runtime, publishers, &id, installed));
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

/// An installed plugin: its file, and the signature that it came with.
fn kept(runtime: &Runtime, publishers: &Publishers, id: &PluginId, installed: &Installed) -> Finding {
    let store = runtime.shelf().installed();
    let (what, is_good) = match store.package(installed).and_then(|package| Ok((package.bytes()?.0, package))) {
        Err(error) => (error.to_string(), false),
        Ok((_, package)) if package.manifest().id != *id || package.manifest().version != installed.version => {
            let manifest = package.manifest();
            (format!("its file is `{}` {}", manifest.id, manifest.version), false)
        }
        Ok((bytes, package)) => match store.signature(installed) {
            Err(error) => (error.to_string(), false),
            Ok(None) if installed.publisher.is_some() => ("its signature is gone".to_owned(), false),
            // It was installed so, by a person who was told.
            Ok(None) => ("as it was installed; nobody has signed it".to_owned(), true),
            Ok(Some(signature)) => {
                let signatures = [signature];
                let digest = installed.digest;
                let arrival = Arrival { manifest: package.manifest(), bytes: &bytes, digest, signatures: &signatures };
                judge(arrival, publishers)
            }
        },
    };
    Finding {
        name: id.to_string(),
        version: Some(installed.version.to_string()),
        digest: Some(installed.digest),
        what,
        is_good,
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
