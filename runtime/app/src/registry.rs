//! Packages from other machines: OCI registries, files on the web, names that a registry knows.
//!
//! This is the runtime's own business, not a plugin's: it happens at a person's command, nothing of it passes the gate,
//! and no plugin can bring it about. A peer is not trusted. Everything that it sends is bounded in size and time
//! ([`PeerLimits`]); what it hands over must have the digest that was resolved; a redirect never leads from TLS to plain
//! HTTP, and never takes credentials along; a host that asks for credentials in the name of another one does not get
//! them (`auth`). What a package says is judged elsewhere. Tested by tables, and against a registry with ill manners and a
//! real one in `tests/it/distribution`.
//!
//! Why there is no client library below it: `oci-client` 0.18 reads manifests, lists, tokens and errors into memory
//! whatever their size, follows redirects as its HTTP library does, sends credentials to whatever address a challenge
//! names, and lets neither be changed from outside. What is left of the protocol is a handful of requests.

mod auth;
mod docker;
mod http;
mod named;
mod oci;
mod publish;
mod web;

use std::collections::{BTreeMap, BTreeSet};

use acp_runtime_host::package::{
    Fetched, LocalSource, OciRef, PackageRef, PackageSource, PeerLimits, Progress, Resolved, SourceError,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use semver::Version;
use url::{Host, Url};

use self::auth::Tokens;
pub use self::docker::Credentials;
use self::http::Http;
pub use self::publish::{Publication, Published};

/// What the person has set.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The host that is asked for plugins that are named by their id alone.
    pub default: Option<String>,
    /// The host for single namespaces.
    pub namespaces: BTreeMap<String, String>,
    /// Hosts that are spoken to without TLS, beside this machine itself.
    pub plain_http: BTreeSet<String>,
    /// Hosts that may be given the credentials of registries that send there.
    pub token_hosts: BTreeSet<String>,
    /// What is taken from a peer.
    pub limits: PeerLimits,
}

/// All places that packages come from.
pub struct Registries {
    http: Http,
    tokens: Tokens,
    options: Options,
    local: LocalSource,
}

impl Registries {
    /// All places, with these credentials. Reads and asks nothing yet.
    pub fn new(options: Options, credentials: Credentials) -> Self {
        let tokens = Tokens::new(credentials, options.token_hosts.clone());
        Self { http: Http::new(options.limits.clone()), tokens, options, local: LocalSource }
    }

    /// The address of a host that is named with or without a port.
    fn base(&self, authority: &str) -> Result<Url, SourceError> {
        // This is where it is: the name under which it is known holds no files.
        let host = if authority == "docker.io" { "registry-1.docker.io" } else { authority };
        let scheme = if self.is_plain(authority) { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{host}/")).map_err(|error| SourceError::Refused {
            place: authority.to_owned(),
            problem: error.to_string(),
            hint: "name a host such as `registry.example` or `localhost:5000`".to_owned(),
        })
    }

    fn is_plain(&self, authority: &str) -> bool {
        let loopback = Url::parse(&format!("http://{authority}/")).is_ok_and(|url| is_loopback(&url));
        loopback || self.options.plain_http.contains(authority)
    }

    /// The place in a registry that a reference means.
    async fn located(&self, reference: &PackageRef) -> Result<OciRef, SourceError> {
        match reference {
            PackageRef::Oci(reference) => Ok(reference.clone()),
            PackageRef::Named(reference) => self.find(reference).await,
            PackageRef::Path(_) | PackageRef::Web(_) => Err(SourceError::Refused {
                place: reference.to_string(),
                problem: "it is no place in a registry".to_owned(),
                hint: "name it like `oci://registry.example/path/name:1.0.0`".to_owned(),
            }),
        }
    }
}

impl PackageSource for Registries {
    fn resolve<'a>(&'a self, reference: &'a PackageRef) -> BoxFuture<'a, Result<Resolved, SourceError>> {
        async move {
            match reference {
                PackageRef::Path(_) => self.local.resolve(reference).await,
                PackageRef::Web(web) => Ok(web::resolve(web)),
                PackageRef::Oci(_) | PackageRef::Named(_) => self.pin(&self.located(reference).await?).await,
            }
        }
        .boxed()
    }

    fn fetch<'a>(
        &'a self,
        resolved: &'a Resolved,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<Fetched, SourceError>> {
        async move {
            match &resolved.reference {
                PackageRef::Path(_) => self.local.fetch(resolved, progress).await,
                PackageRef::Web(web) => self.fetch_web(web, progress).await,
                PackageRef::Oci(_) | PackageRef::Named(_) => {
                    self.pull(&self.located(&resolved.reference).await?, resolved, progress).await
                }
            }
        }
        .boxed()
    }

    fn versions<'a>(&'a self, reference: &'a PackageRef) -> BoxFuture<'a, Result<Vec<Version>, SourceError>> {
        async move {
            match reference {
                PackageRef::Path(_) | PackageRef::Web(_) => Ok(Vec::new()),
                PackageRef::Oci(reference) => self.tagged(reference).await,
                PackageRef::Named(reference) => self.tagged(&self.place_of(&reference.id).await?).await,
            }
        }
        .boxed()
    }
}

/// Whether an address is one of this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
