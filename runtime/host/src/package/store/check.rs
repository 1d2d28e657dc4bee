//! Whether what is kept is what was approved.

use acp_runtime_agent::capability::PluginId;

use super::{Installed, Kept, PackageStore};
use crate::package::{Package, capability_hash};

impl PackageStore {
    /// What is wrong with what is kept of a plugin, as sentences without their ends; none where all is as it was approved.
    /// All its files are hashed, and none is run.
    pub fn verify(&self, id: &PluginId, kept: &Kept) -> Vec<String> {
        let mut problems = Vec::new();
        for (version, which) in [
            (Some(&kept.active), ""),
            (kept.previous.as_ref(), "the version before, "),
            (kept.waiting.as_ref(), "the version that waits, "),
        ] {
            let found = version.and_then(|version| self.fault(id, version).map(|fault| (version, fault)));
            problems.extend(found.map(|(version, fault)| format!("{which}{}: {fault}", version.version)));
        }
        problems
    }

    fn fault(&self, id: &PluginId, installed: &Installed) -> Option<String> {
        let read = self.package(installed).and_then(|package| package.bytes().map(|(bytes, _)| (package, bytes)));
        let (package, bytes): (Package, Vec<u8>) = match read {
            Err(error) => return Some(error.to_string()),
            Ok(read) => read,
        };
        let manifest = package.manifest();
        if manifest.id != *id {
            return Some(format!("its file is of `{}`", manifest.id));
        }
        if installed.size.is_some_and(|size| size != bytes.len() as u64) {
            return Some("its file has another size than was noted".to_owned());
        }
        let hash = capability_hash(manifest);
        if installed.capabilities.is_some_and(|noted| noted != hash) {
            return Some(format!("it asks for other rights ({hash}) than was noted"));
        }
        let ceiling: Vec<String> = manifest.ceiling().iter().map(ToString::to_string).collect();
        let beyond = installed.granted.iter().find(|right| !ceiling.contains(right));
        beyond.map(|right| format!("it was granted `{right}`, which it does not ask for"))
    }
}
