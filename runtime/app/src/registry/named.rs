//! Plugins that are named by their id: the registry of their namespace says where it has them.
//!
//! `https://HOST/.well-known/wasm-pkg/registry.json` names the OCI registry and what stands before a namespace there; a
//! host without that file is an OCI registry itself. That is the convention of `wkg` (wasm-pkg-tools,
//! `docs/registry-metadata.md`), so what is published for one is found by the other.

use acp_runtime_agent::capability::PluginId;
use acp_runtime_host::package::{NamedRef, OciRef, PackageRef, SourceError, Unwatched};
use http::StatusCode;
use serde::Deserialize;

use super::Registries;
use super::http::Request;
use super::oci::read_json;

const WELL_KNOWN: &str = "/.well-known/wasm-pkg/registry.json";

/// What a host says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    preferred_protocol: Option<String>,
    oci: Option<Oci>,
    /// The same two in their older form.
    oci_registry: Option<String>,
    oci_namespace_prefix: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Oci {
    registry: Option<String>,
    namespace_prefix: Option<String>,
}

impl Registries {
    /// The place of a version; of the newest one where none was named.
    pub(super) async fn find(&self, named: &NamedRef) -> Result<OciRef, SourceError> {
        let place = self.place_of(&named.id).await?;
        let version = if let Some(version) = &named.version {
            version.clone()
        } else {
            let versions = self.tagged(&place).await?;
            let newest = versions.iter().find(|version| version.pre.is_empty()).or_else(|| versions.first());
            newest.cloned().ok_or_else(|| SourceError::NotFound {
                place: named.to_string(),
                problem: format!("no version of it is at `{}/{}`", place.registry, place.repository),
            })?
        };
        Ok(OciRef { tag: Some(OciRef::tag_for(&version)), ..place })
    }

    /// The repository of a plugin, without a tag.
    pub(super) async fn place_of(&self, id: &PluginId) -> Result<OciRef, SourceError> {
        let (place, options) = (id.to_string(), &self.options);
        let host = options.namespaces.get(id.namespace()).or(options.default.as_ref());
        let host = host.ok_or_else(|| SourceError::Refused {
            place: place.clone(),
            problem: "no registry is configured for its namespace".to_owned(),
            hint: format!(
                "set `plugins.registry.default`, or `plugins.registry.namespaces.{}`, to the host of one",
                id.namespace()
            ),
        })?;
        let mut url = self.base(host)?;
        url.set_path(WELL_KNOWN);
        let answer = self.http.send(Request::get(url), &Unwatched).await?;
        let metadata = match answer.status() {
            StatusCode::OK => {
                let body = answer.body("description", options.limits.token, &options.limits, &Unwatched).await?;
                read_json(&format!("{host}{WELL_KNOWN}"), "description", &body)?
            }
            _ => Metadata::default(),
        };
        metadata.place(host, id).map_err(|problem| SourceError::Refused {
            place,
            problem: format!("`{host}` says that {problem}"),
            hint: "ask whoever runs it, or name the plugin's place as `oci://…`".to_owned(),
        })
    }
}

impl Metadata {
    /// The error is a part of a sentence.
    fn place(self, host: &str, id: &PluginId) -> Result<OciRef, String> {
        if let Some(protocol) = self.preferred_protocol.filter(|protocol| protocol != "oci")
            && self.oci.is_none()
        {
            return Err(format!("its packages are not in an OCI registry, but `{protocol}`"));
        }
        let Oci { registry, namespace_prefix } = self.oci.unwrap_or_default();
        let registry = registry.or(self.oci_registry).unwrap_or_else(|| host.to_owned());
        let prefix = namespace_prefix.or(self.oci_namespace_prefix).unwrap_or_default();
        let text = format!("oci://{registry}/{prefix}{}/{}:0", id.namespace(), id.name());
        match text.parse::<PackageRef>() {
            Ok(PackageRef::Oci(place)) => Ok(OciRef { tag: None, ..place }),
            Ok(PackageRef::Path(_) | PackageRef::Named(_) | PackageRef::Web(_)) => Err("it is elsewhere".to_owned()),
            Err(error) => Err(format!("it is in a place that is none: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_says_where_its_packages_are() {
        let id = PluginId::new("acme:weather").unwrap();
        for (json, expected) in [
            ("{}", Ok("host.example/acme/weather")),
            (
                r#"{"preferredProtocol":"oci","oci":{"registry":"ghcr.io","namespacePrefix":"me/"}}"#,
                Ok("ghcr.io/me/acme/weather"),
            ),
            (
                r#"{"ociRegistry":"ghcr.io","ociNamespacePrefix":"webassembly/"}"#,
                Ok("ghcr.io/webassembly/acme/weather"),
            ),
            (r#"{"oci":{"registry":"ghcr.io"},"warg":{"url":"x"}}"#, Ok("ghcr.io/acme/weather")),
            (r#"{"preferredProtocol":"warg","warg":{"url":"x"}}"#, Err("not in an OCI registry, but `warg`")),
            (r#"{"oci":{"registry":"me:pw@ghcr.io"}}"#, Err("credentials do not belong")),
            (r#"{"oci":{"registry":"ghcr.io","namespacePrefix":"../"}}"#, Err("is no repository")),
        ] {
            let metadata: Metadata = serde_json::from_str(json).unwrap();
            let place = metadata.place("host.example", &id);
            match expected {
                Ok(expected) => {
                    let place = place.unwrap();
                    assert_eq!(format!("{}/{}", place.registry, place.repository), expected);
                }
                Err(expected) => assert!(place.unwrap_err().contains(expected), "{json}"),
            }
        }
    }
}
