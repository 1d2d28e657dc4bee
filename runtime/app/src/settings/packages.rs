//! `[plugins.registry]` and `[plugins.signatures]`: where packages come from, and who must stand for them.

use std::collections::BTreeMap;
use std::time::Duration;

use acp_runtime_host::package::{Installed, PackageRef, PeerLimits};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::exec::Within;

/// `[plugins.registry]`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrySettings {
    /// The host that is asked where plugins are that are named by their id alone; without it they must be named in full.
    #[serde(deserialize_with = "maybe_host")]
    pub default: Option<String>,
    /// The host to ask for single namespaces.
    #[serde(deserialize_with = "hosts_of_namespaces")]
    pub namespaces: BTreeMap<String, String>,
    /// Hosts of registries that are spoken to without TLS, beside this machine itself; with their port.
    #[serde(deserialize_with = "hosts")]
    pub plain_http: Vec<String>,
    /// Hosts that may be given the credentials of registries that send there for a token, beside their own.
    #[serde(deserialize_with = "hosts")]
    pub token_hosts: Vec<String>,
    /// Seconds that a registry may be silent.
    pub timeout: Within<1, 600, 30>,
}

/// An address in the place of a host would be asked for under a host's name that nobody has written.
fn host<E: Error>(text: String) -> Result<String, E> {
    if text.is_empty() || text.contains(['/', '@', ' ']) {
        let problem = format!("`{text}` is no host: write it alone, such as `registry.example` or `localhost:5000`");
        return Err(E::custom(problem));
    }
    Ok(text)
}

fn maybe_host<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)?.map(host).transpose()
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Vec::deserialize(deserializer)?.into_iter().map(host).collect()
}

fn hosts_of_namespaces<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let written = BTreeMap::<String, String>::deserialize(deserializer)?;
    written.into_iter().map(|(namespace, text)| Ok((namespace, host(text)?))).collect()
}

impl RegistrySettings {
    /// What is taken from a peer.
    pub fn limits(&self) -> PeerLimits {
        PeerLimits { idle: Duration::from_secs(u32::from(self.timeout).into()), ..PeerLimits::default() }
    }
}

/// `[plugins.signatures]`
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignatureSettings {
    /// For packages from registries and from the web.
    pub remote: Requirement,
    /// For files and folders of this machine.
    pub local: Requirement,
}

impl Default for SignatureSettings {
    fn default() -> Self {
        Self { remote: Requirement::Require, local: Requirement::Warn }
    }
}

impl SignatureSettings {
    /// What is required of what comes from another machine, or of what does not.
    pub fn of(&self, is_remote: bool) -> Requirement {
        if is_remote { self.remote } else { self.local }
    }

    /// Whether somebody must have signed what came from there.
    pub fn must_be_signed(&self, installed: &Installed) -> bool {
        let requirement = match installed.source.parse() {
            // By its id alone is named what came with this program, which stands for it.
            Ok(PackageRef::Named(_)) => Requirement::Warn,
            Ok(source @ (PackageRef::Path(_) | PackageRef::Oci(_) | PackageRef::Web(_))) => self.of(source.is_remote()),
            Err(_) => self.of(false),
        };
        requirement == Requirement::Require
    }
}

/// What becomes of a package that no trusted publisher has signed. A signature that does not hold is never accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Requirement {
    /// It is refused, unless its digest is named.
    Require,
    /// It is installed with a warning.
    Warn,
}
