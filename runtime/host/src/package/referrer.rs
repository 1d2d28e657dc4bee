//! A signature as an artifact that refers to its package (OCI image specification 1.1, `subject` and `artifactType`).

use serde::Deserialize;
use serde_json::json;

use super::signature::MINISIGN;
use super::{Descriptor, Digest, EMPTY, MANIFEST};

/// The files of a signature's artifact, beside the signature itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The manifest.
    pub manifest: Vec<u8>,
    /// The config, which says nothing.
    pub config: Vec<u8>,
}

/// The artifact of a signature of that package.
pub fn attach(signature: &str, package: &Descriptor) -> Attached {
    let config = b"{}".to_vec();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": MINISIGN,
        "config": Descriptor::of(EMPTY, &config),
        "layers": [Descriptor::of(MINISIGN, signature.as_bytes())],
        "subject": package,
    });
    Attached { manifest: manifest.to_string().into_bytes(), config }
}

/// The signature that a manifest has, where it is the artifact of one of that package.
pub fn attached_to(manifest: &[u8], package: Digest) -> Option<Descriptor> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Form {
        artifact_type: String,
        layers: Vec<Descriptor>,
        subject: Descriptor,
    }
    let form: Form = serde_json::from_slice(manifest).ok()?;
    let [layer] = <[Descriptor; 1]>::try_from(form.layers).ok()?;
    let fits = form.artifact_type == MINISIGN && layer.media_type == MINISIGN && form.subject.digest == package;
    fits.then_some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_belongs_to_its_package_alone() {
        let package = Descriptor::of(MANIFEST, b"package");
        let Attached { manifest, config } = attach("signature", &package);
        assert_eq!(attached_to(&manifest, package.digest), Some(Descriptor::of(MINISIGN, b"signature")));
        assert_eq!(attached_to(&manifest, Digest::of(b"another")), None);
        assert_eq!(attached_to(&config, package.digest), None);
        let other = String::from_utf8(manifest).unwrap().replace("minisign.v1", "other.v1");
        assert_eq!(attached_to(other.as_bytes(), package.digest), None);
    }
}
