//! Where packages come from, with the person's settings and credentials, and whom they trust.

use acp_runtime_host::publishers::TrustStore;

use super::Runtime;
use crate::process::{Launcher, own_executable};
use crate::registry::{Credentials, Options, Registries};
use crate::settings::{environment, home, variable};

impl Runtime {
    /// All places that packages come from. Asks nobody yet.
    pub fn registries(&self) -> Registries {
        let settings = &self.settings.plugins.registry;
        let options = Options {
            default: settings.default.clone(),
            namespaces: settings.namespaces.clone(),
            plain_http: settings.plain_http.iter().cloned().collect(),
            token_hosts: settings.token_hosts.iter().cloned().collect(),
            limits: settings.limits(),
        };
        let docker = variable("DOCKER_CONFIG").map_or_else(|| home().join(".docker"), Into::into);
        let launcher = Launcher::new(own_executable(self.paths.program()), environment());
        Registries::new(options, Credentials::new(docker, launcher, home(), self.redaction().clone()))
    }

    /// The publishers that are trusted.
    pub fn publishers(&self) -> TrustStore {
        TrustStore::new(self.paths.trust())
    }
}
