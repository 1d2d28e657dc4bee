//! What is sent to a registry: a plugin as an artifact, and its signature as another that refers to it.

use acp_runtime_host::package::signature::MINISIGN;
use acp_runtime_host::package::{
    Descriptor, Digest, INDEX, MANIFEST, OciRef, Progress, SourceError, Unwatched, Written, attach,
};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use http::{Method, StatusCode};
use serde_json::json;

use super::Registries;
use super::auth::Access;
use super::http::{Request, check_hop};
use super::oci::referrers_tag;

/// A registry that knows of referrers says so with it.
const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

/// What is published.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The artifact.
    pub written: &'a Written,
    /// The component.
    pub plugin: &'a [u8],
    /// Its signature; none for a plugin that nobody stands for.
    pub signature: Option<&'a str>,
    /// Whether a tag that is there and means something else is moved.
    pub replace: bool,
}

/// What is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// Whether all of it was there before.
    pub was_there: bool,
}

impl Registries {
    /// Publishes a plugin under the tag of `place`. The tag is set last, so that nobody finds half of it.
    pub async fn publish(
        &self,
        place: &OciRef,
        what: Publication<'_>,
        progress: &dyn Progress,
    ) -> Result<Published, SourceError> {
        let Publication { written, plugin, signature, replace } = what;
        let tag = place.wanted();
        let package = Descriptor::of(MANIFEST, &written.manifest);
        let before = self.manifest(place, &tag).await?;
        let was_there = before.as_ref().is_some_and(|before| before.digest == package.digest);
        if let Some(before) = before.filter(|before| before.digest != package.digest && !replace) {
            return Err(SourceError::Refused {
                place: place.to_string(),
                problem: format!("the tag `{tag}` is there and means something else ({})", before.digest),
                hint: "give the plugin another version; `--replace` moves the tag, and whoever has the old one is told of a fault".to_owned(),
            });
        }
        progress.begin(&place.to_string(), Some(plugin.len() as u64));
        let sent = self.push_blob(place, plugin, progress).await;
        progress.end();
        sent?;
        self.push_blob(place, &written.config, &Unwatched).await?;
        if let Some(signature) = signature {
            // By its digest first: it is signed before anybody can find it by its tag.
            self.push_manifest(place, &package.digest.to_string(), MANIFEST, &written.manifest).await?;
            self.push_signature(place, &package, signature).await?;
        }
        self.push_manifest(place, &tag, MANIFEST, &written.manifest).await?;
        Ok(Published { manifest: package.digest, was_there })
    }

    async fn push_signature(&self, place: &OciRef, package: &Descriptor, signature: &str) -> Result<(), SourceError> {
        let attached = attach(signature, package);
        let mut descriptor = Descriptor::of(MANIFEST, &attached.manifest);
        descriptor.artifact_type = Some(MINISIGN.to_owned());
        self.push_blob(place, signature.as_bytes(), &Unwatched).await?;
        self.push_blob(place, &attached.config, &Unwatched).await?;
        let wanted = descriptor.digest.to_string();
        if self.push_manifest(place, &wanted, MANIFEST, &attached.manifest).await? {
            return Ok(());
        }
        // The registry does not keep such lists itself.
        let mut manifests = self.referring(place, package.digest).await?;
        if manifests.iter().any(|there| there.digest == descriptor.digest) {
            return Ok(());
        }
        manifests.push(descriptor);
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
        let tag = referrers_tag(package.digest);
        self.push_manifest(place, &tag, INDEX, index.to_string().as_bytes()).await.map(drop)
    }

    /// Sends a blob that is not there yet, in one piece.
    async fn push_blob(&self, place: &OciRef, bytes: &[u8], progress: &dyn Progress) -> Result<(), SourceError> {
        let digest = Digest::of(bytes);
        let there = Request::new(Method::HEAD, self.address(place, &format!("blobs/{digest}"))?);
        if self.ask(place, Access::Push, there, &Unwatched).await?.status() == StatusCode::OK {
            progress.advance(bytes.len() as u64);
            return Ok(());
        }
        let mut begin = Request::new(Method::POST, self.address(place, "blobs/uploads/")?);
        begin.body = Some(Bytes::new());
        let answer = self.ask(place, Access::Push, begin, &Unwatched).await?;
        if answer.status() != StatusCode::ACCEPTED {
            return Err(self.refusal(place, answer).await);
        }
        let location = answer.header(LOCATION).and_then(|location| answer.url().join(location).ok());
        let mut location = location.ok_or_else(|| SourceError::Refused {
            place: place.to_string(),
            problem: "it does not say where to send the file".to_owned(),
            hint: "ask whoever runs the registry".to_owned(),
        })?;
        check_hop(answer.url(), &location).map_err(|problem| SourceError::Refused {
            place: place.to_string(),
            problem,
            hint: "ask whoever runs the registry".to_owned(),
        })?;
        location.query_pairs_mut().append_pair("digest", &digest.to_string());
        let mut put = Request::new(Method::PUT, location).header(CONTENT_TYPE, "application/octet-stream");
        put.body = Some(Bytes::copy_from_slice(bytes));
        let answer = self.ask(place, Access::Push, put, progress).await?;
        if answer.status() == StatusCode::CREATED { Ok(()) } else { Err(self.refusal(place, answer).await) }
    }

    /// Sends a manifest. Whether the registry keeps a list of what refers to its subject.
    async fn push_manifest(
        &self,
        place: &OciRef,
        wanted: &str,
        media_type: &str,
        bytes: &[u8],
    ) -> Result<bool, SourceError> {
        let url = self.address(place, &format!("manifests/{wanted}"))?;
        let mut put = Request::new(Method::PUT, url).header(CONTENT_TYPE, media_type);
        put.body = Some(Bytes::copy_from_slice(bytes));
        let answer = self.ask(place, Access::Push, put, &Unwatched).await?;
        if answer.status() != StatusCode::CREATED {
            return Err(self.refusal(place, answer).await);
        }
        Ok(answer.header(SUBJECT).is_some())
    }
}
