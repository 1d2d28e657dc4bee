//! A plugin as an OCI artifact: the CNCF's form for WebAssembly (TAG Runtime, "Wasm OCI Artifact layout" v0), with one
//! layer.
//!
//! ```text
//! manifest   application/vnd.oci.image.manifest.v1+json    annotations: title, version, …, the hash of the capabilities
//!   config   application/vnd.wasm.config.v0+json           what the component exports and imports
//!   layers   application/wasm                              the component, once
//! ```
//! Nothing else is accepted, and the error names what came and what is. Writing is reproducible: the same plugin always
//! has the same manifest. Tested by tables.

use std::collections::BTreeMap;

use acp_runtime_agent::plain;
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasmparser::{Parser, Payload};

use super::{Digest, capability_hash};
use crate::limits::COMPONENT;
use crate::manifest::Manifest;

/// The media type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an index: a list of manifests.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of the config.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The media type of the layer.
pub const LAYER: &str = "application/wasm";
/// The media type of a config that says nothing.
pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// The annotation with the hash of the capabilities.
pub const CAPABILITIES: &str = "dev.acp-runtime.plugin.capabilities";
/// The annotation with the version.
pub const VERSION: &str = "org.opencontainers.image.version";
/// The annotation with the plugin's id.
const ID: &str = "dev.acp-runtime.plugin.id";

/// A blob, or another manifest, that a manifest names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
    /// What more is said of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What kind of artifact it is, where it is a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

impl Descriptor {
    /// Of these bytes.
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            annotations: BTreeMap::new(),
            artifact_type: None,
        }
    }
}

/// What a manifest of a plugin says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The config.
    pub config: Descriptor,
    /// The component.
    pub layer: Descriptor,
    /// The version that it names, where it is one.
    pub version: Option<Version>,
    /// The hash of the capabilities that it names.
    pub capabilities: Option<Digest>,
}

/// The files of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The manifest.
    pub manifest: Vec<u8>,
    /// The config.
    pub config: Vec<u8>,
    /// The component's descriptor.
    pub layer: Descriptor,
}

/// Why a manifest is none of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    /// Not JSON of the right form.
    #[error("the manifest cannot be read: {0}")]
    Form(String),
    /// A list of manifests.
    #[error("it is an index (`{0}`), which names several packages")]
    Index(String),
    /// Something else.
    #[error("its {what} has the media type `{found}`; expected `{expected}`")]
    MediaType {
        /// `manifest`, `config` or `layer`.
        what: &'static str,
        /// What it has.
        found: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// The transport says something else than the manifest.
    #[error("it was sent as `{sent}`, and says of itself that it is `{said}`")]
    TwoTypes {
        /// The `Content-Type`.
        sent: String,
        /// The `mediaType`.
        said: String,
    },
    /// Not one layer.
    #[error("it has {0} layers; expected one of `{LAYER}`")]
    Layers(usize),
    /// Too large a component.
    #[error("its component has {0} bytes; at most {COMPONENT} are accepted")]
    TooLarge(u64),
}

impl ArtifactError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Index(_) => "name one of its packages by digest: `oci://…@sha256:…`",
            Self::Form(_) | Self::TwoTypes { .. } => "nothing of it was kept; ask its publisher, or another mirror",
            Self::MediaType { .. } | Self::Layers(_) => {
                "it is no plugin: those are published with `acp-runtime plugin publish`, or with `wkg oci push`"
            }
            Self::TooLarge(_) => "ask its publisher for a smaller build",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestForm {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    manifests: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Artifact {
    /// Reads a manifest that was sent with that `Content-Type`.
    pub fn read(bytes: &[u8], sent_as: Option<&str>) -> Result<Self, ArtifactError> {
        let form: ManifestForm =
            serde_json::from_slice(bytes).map_err(|error| ArtifactError::Form(plain::line(&error.to_string(), 200)))?;
        let shown = |text: &str| plain::line(text, 120);
        let sent = sent_as.map(|sent| sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        // Where neither says what it is, it is taken for what it would have to be.
        let said = form.media_type.or_else(|| sent.clone()).unwrap_or_else(|| MANIFEST.to_owned());
        if form.manifests.is_some() || said == INDEX || said.ends_with(".manifest.list.v2+json") {
            return Err(ArtifactError::Index(shown(&said)));
        }
        if let Some(sent) = sent.filter(|sent| *sent != said) {
            return Err(ArtifactError::TwoTypes { sent: shown(&sent), said: shown(&said) });
        }
        require("manifest", &said, MANIFEST)?;
        if form.schema_version != 2 {
            return Err(ArtifactError::Form(format!("its schema version is {}, not 2", form.schema_version)));
        }
        let config = form.config.ok_or_else(|| ArtifactError::Form("it has no config".to_owned()))?;
        require("config", &config.media_type, CONFIG)?;
        let [layer] = <[Descriptor; 1]>::try_from(form.layers).map_err(|layers| ArtifactError::Layers(layers.len()))?;
        require("layer", &layer.media_type, LAYER)?;
        if layer.size > COMPONENT {
            return Err(ArtifactError::TooLarge(layer.size));
        }
        let annotation = |name: &str| form.annotations.get(name).map(String::as_str);
        Ok(Self {
            version: annotation(VERSION).and_then(|version| Version::parse(version).ok()),
            capabilities: annotation(CAPABILITIES).and_then(|hash| hash.parse().ok()),
            config,
            layer,
        })
    }
}

fn require(what: &'static str, found: &str, expected: &'static str) -> Result<(), ArtifactError> {
    if found == expected {
        return Ok(());
    }
    Err(ArtifactError::MediaType { what, found: plain::line(found, 120), expected })
}

/// The artifact of a plugin whose manifest was read. The error is a part of a sentence.
pub fn write(plugin: &[u8], manifest: &Manifest) -> Result<Written, String> {
    let layer = Descriptor::of(LAYER, plugin);
    let (imports, exports) = names(plugin)?;
    // The form requires a time. The same plugin is to be the same package, so it is always the same time.
    let config = json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [layer.digest],
        "component": { "exports": exports, "imports": imports },
    });
    let config = config.to_string().into_bytes();
    let about = &manifest.about;
    let annotations = [
        (ID, Some(manifest.id.to_string())),
        (CAPABILITIES, Some(capability_hash(manifest).to_string())),
        ("org.opencontainers.image.title", Some(about.title.clone())),
        ("org.opencontainers.image.description", Some(about.description.clone())),
        ("org.opencontainers.image.licenses", Some(about.license.clone())),
        ("org.opencontainers.image.source", about.source.clone()),
        ("org.opencontainers.image.url", about.homepage.clone()),
        (VERSION, Some(manifest.version.to_string())),
    ];
    let annotations: BTreeMap<&str, String> =
        annotations.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": Descriptor::of(CONFIG, &config),
        "layers": [layer],
        "annotations": annotations,
    });
    Ok(Written { manifest: manifest.to_string().into_bytes(), config, layer })
}

/// The names of what a component imports and exports, in its order.
fn names(component: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut imports, mut exports, mut depth) = (Vec::new(), Vec::new(), 0_usize);
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(|error| error.to_string())? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.push(import.map_err(|error| error.to_string())?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.push(export.map_err(|error| error.to_string())?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(media_type: &str, size: u64) -> serde_json::Value {
        json!({ "mediaType": media_type, "digest": Digest::of(b"x"), "size": size })
    }

    fn manifest(config: &str, layers: &[&str]) -> serde_json::Value {
        let layers: Vec<_> = layers.iter().map(|layer| descriptor(layer, 1)).collect();
        json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(config, 1), "layers": layers })
    }

    fn read(manifest: &serde_json::Value, sent_as: Option<&str>) -> Result<Artifact, String> {
        Artifact::read(manifest.to_string().as_bytes(), sent_as).map_err(|error| {
            assert!(!error.hint().is_empty());
            error.to_string()
        })
    }

    #[test]
    fn a_package_is_one_component() {
        let mut good = manifest(CONFIG, &[LAYER]);
        let hash = Digest::of(b"caps");
        good["annotations"] = json!({ VERSION: "1.2.3", CAPABILITIES: hash, "other": "x" });
        for sent_as in [None, Some(MANIFEST), Some("application/vnd.oci.image.manifest.v1+json; charset=utf-8")] {
            let artifact = read(&good, sent_as).unwrap();
            assert_eq!((artifact.version, artifact.capabilities), (Some(Version::new(1, 2, 3)), Some(hash)));
        }
        good.as_object_mut().unwrap().remove("mediaType");
        assert!(read(&good, None).is_ok());
    }

    #[test]
    fn whatever_else_it_is_is_named() {
        const DOCKER: &str = "application/vnd.docker.distribution.manifest.v2+json";
        const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] });
        let unnamed = json!({ "schemaVersion": 2, "manifests": [] });
        let mut docker = manifest(CONFIG, &[LAYER]);
        docker["mediaType"] = DOCKER.into();
        let mut large = manifest(CONFIG, &[LAYER]);
        large["layers"][0]["size"] = (COMPONENT + 1).into();
        let mut first = manifest(CONFIG, &[LAYER]);
        first["schemaVersion"] = 1.into();
        let mut other = manifest(CONFIG, &[LAYER]);
        other["layers"][0]["digest"] = "sha512:00".into();
        let gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
        let too_large = format!("at most {COMPONENT} are accepted");
        for (manifest, sent_as, why) in [
            (json!([]), None, "cannot be read"),
            (json!({ "schemaVersion": 2 }), None, "it has no config"),
            (first, None, "schema version is 1"),
            (other, None, "`sha512:00` is not a digest"),
            (index, None, "it is an index (`application/vnd.oci.image.index.v1+json`)"),
            (unnamed, None, "it is an index"),
            (json!({ "schemaVersion": 2 }), Some(LIST), "it is an index"),
            (docker, None, "its manifest has the media type `application/vnd.docker"),
            (manifest(CONFIG, &[LAYER]), Some("text/html"), "it was sent as `text/html`, and says of itself"),
            (manifest("application/vnd.oci.image.config.v1+json", &[LAYER]), None, "its config has the media type"),
            (manifest(CONFIG, &[]), None, "it has 0 layers; expected one of `application/wasm`"),
            (manifest(CONFIG, &[LAYER, LAYER]), None, "it has 2 layers"),
            (manifest(CONFIG, &[gzip]), None, "its layer has the media type `application/vnd.oci.image.layer"),
            (large, None, too_large.as_str()),
        ] {
            let error = read(&manifest, sent_as).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let deep = "[".repeat(100_000);
        assert!(Artifact::read(deep.as_bytes(), None).is_err());
    }
}
