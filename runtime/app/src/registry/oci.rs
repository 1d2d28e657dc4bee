//! What is read from a registry (OCI distribution specification 1.1): manifests, blobs, tags, and the signatures that
//! refer to a package.

use acp_runtime_agent::plain;
use acp_runtime_host::package::signature::MINISIGN;
use acp_runtime_host::package::{
    Artifact, Descriptor, Digest, Fetched, INDEX, MANIFEST, OciRef, PackageRef, Progress, Resolved, SourceError,
    Unwatched, attached_to,
};
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, LINK};
use semver::Version;
use serde::Deserialize;
use url::Url;

use super::Registries;
use super::auth::{Access, Asking};
use super::http::{Answer, Request, origin};

/// A list of tags, or an index.
#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// A manifest as it was sent.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: Digest,
    pub(super) media_type: Option<String>,
}

/// As many tags a page counts for that has fewer.
const LEAST_ON_A_PAGE: usize = 100;

impl Registries {
    /// What a place in a registry means now.
    pub(super) async fn pin(&self, place: &OciRef) -> Result<Resolved, SourceError> {
        let shown = place.to_string();
        let sent = self.manifest(place, &place.wanted()).await?;
        let sent = sent.ok_or_else(|| not_found(&shown, "there is no such tag or digest"))?;
        let artifact = Artifact::read(&sent.bytes, sent.media_type.as_deref())
            .map_err(|source| SourceError::Artifact { place: shown.clone(), source })?;
        if let Some(expected) = place.digest.filter(|expected| *expected != sent.digest) {
            return Err(SourceError::WrongDigest { place: shown, what: "manifest", expected, found: sent.digest });
        }
        Ok(Resolved {
            reference: PackageRef::Oci(place.pinned(sent.digest)),
            manifest: Some(sent.digest),
            digest: Some(artifact.layer.digest),
            size: Some(artifact.layer.size),
            version: artifact.version,
            capabilities: artifact.capabilities,
        })
    }

    /// The file that was resolved, and its signatures.
    pub(super) async fn pull(
        &self,
        place: &OciRef,
        resolved: &Resolved,
        progress: &dyn Progress,
    ) -> Result<Fetched, SourceError> {
        let shown = resolved.reference.to_string();
        let (Some(manifest), Some(digest), Some(size)) = (resolved.manifest, resolved.digest, resolved.size) else {
            return Err(not_found(&shown, "it was not resolved before"));
        };
        let layer = Descriptor { media_type: String::new(), digest, size, annotations: [].into(), artifact_type: None };
        progress.begin(&shown, Some(size));
        let bytes = self.blob(place, &layer, "file", self.options.limits.layer, progress).await;
        progress.end();
        let bytes = bytes?;
        let signatures = self.signatures(place, manifest).await?;
        Ok(Fetched { bytes, digest, manifest: Some(manifest), signatures })
    }

    /// The versions that a repository has tags of, the newest first.
    pub(super) async fn tagged(&self, place: &OciRef) -> Result<Vec<Version>, SourceError> {
        let mut url = self.address(place, "tags/list")?;
        url.set_query(Some("n=1000"));
        let (mut versions, mut seen) = (Vec::new(), 0);
        loop {
            let answer = self.ask(place, Access::Pull, Request::get(url.clone()), &Unwatched).await?;
            if answer.status() != StatusCode::OK {
                return Err(self.refusal(place, answer).await);
            }
            let next = answer.header(LINK).and_then(|link| next_page(&url, link));
            let body =
                answer.body("list of tags", self.options.limits.manifest, &self.options.limits, &Unwatched).await?;
            let tags: Tags = read_json(&place.to_string(), "list of tags", &body)?;
            let tags = tags.tags.unwrap_or_default();
            // A page with next to nothing on it counts as well, or a registry could lead on for ever.
            seen += tags.len().max(LEAST_ON_A_PAGE);
            versions.extend(tags.iter().filter_map(|tag| OciRef::version_of(tag)));
            match next {
                Some(next) if seen < self.options.limits.tags && next != url => url = next,
                _ => break,
            }
        }
        versions.sort_unstable_by(|one, other| other.cmp(one));
        versions.dedup();
        Ok(versions)
    }

    /// A manifest or an index by its tag or digest; none where there is none.
    pub(super) async fn manifest(&self, place: &OciRef, wanted: &str) -> Result<Option<Sent>, SourceError> {
        let request = Request::get(self.address(place, &format!("manifests/{wanted}"))?);
        let request = request.header(ACCEPT, MANIFEST).header(ACCEPT, INDEX);
        let answer = self.ask(place, Access::Pull, request, &Unwatched).await?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(self.refusal(place, answer).await),
        }
        let media_type = answer.header(CONTENT_TYPE).map(str::to_owned);
        let bytes = answer.body("manifest", self.options.limits.manifest, &self.options.limits, &Unwatched).await?;
        let digest = Digest::of(&bytes);
        // What was asked for by its digest is that, or nothing.
        if let Some(expected) = wanted.parse::<Digest>().ok().filter(|expected| *expected != digest) {
            let place = place.to_string();
            return Err(SourceError::WrongDigest { place, what: "manifest", expected, found: digest });
        }
        Ok(Some(Sent { bytes, digest, media_type }))
    }

    /// A blob with exactly that digest and size.
    async fn blob(
        &self,
        place: &OciRef,
        meant: &Descriptor,
        what: &'static str,
        most: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>, SourceError> {
        let shown = place.to_string();
        if meant.size > most {
            return Err(SourceError::TooLarge { place: shown, what, most });
        }
        let request = Request::get(self.address(place, &format!("blobs/{}", meant.digest))?);
        let answer = self.ask(place, Access::Pull, request, &Unwatched).await?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(not_found(&shown, &format!("its blob {} is missing", meant.digest))),
            _ => return Err(self.refusal(place, answer).await),
        }
        let bytes = answer.body(what, meant.size, &self.options.limits, progress).await?;
        let found = Digest::of(&bytes);
        if found != meant.digest {
            return Err(SourceError::WrongDigest { place: shown, what, expected: meant.digest, found });
        }
        Ok(bytes)
    }

    /// The signatures that refer to a manifest. A registry that knows nothing of such things has them in an index under a
    /// tag that is made of the digest.
    async fn signatures(&self, place: &OciRef, manifest: Digest) -> Result<Vec<String>, SourceError> {
        let limits = &self.options.limits;
        let mut found = Vec::new();
        let of_ours = |descriptor: &Descriptor| descriptor.artifact_type.as_deref() == Some(MINISIGN);
        for descriptor in self.referring(place, manifest).await?.into_iter().filter(of_ours).take(limits.signatures) {
            let Some(sent) = self.manifest(place, &descriptor.digest.to_string()).await? else { continue };
            let Some(layer) = attached_to(&sent.bytes, manifest) else { continue };
            let bytes = self.blob(place, &layer, "signature", limits.signature, &Unwatched).await?;
            found.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        Ok(found)
    }

    /// What refers to a manifest.
    pub(super) async fn referring(&self, place: &OciRef, manifest: Digest) -> Result<Vec<Descriptor>, SourceError> {
        let request = Request::get(self.address(place, &format!("referrers/{manifest}"))?).header(ACCEPT, INDEX);
        let answer = self.ask(place, Access::Pull, request, &Unwatched).await?;
        let is_index = answer.header(CONTENT_TYPE).is_some_and(|sent| sent.starts_with(INDEX));
        if answer.status() == StatusCode::OK && is_index {
            let body = answer
                .body("list of signatures", self.options.limits.manifest, &self.options.limits, &Unwatched)
                .await?;
            return Ok(read_json::<Index>(&place.to_string(), "list of signatures", &body)?.manifests);
        }
        match self.manifest(place, &referrers_tag(manifest)).await? {
            Some(sent) => Ok(read_json::<Index>(&place.to_string(), "list of signatures", &sent.bytes)?.manifests),
            None => Ok(Vec::new()),
        }
    }

    /// An address of a repository.
    pub(super) fn address(&self, place: &OciRef, path: &str) -> Result<Url, SourceError> {
        let mut url = self.base(&place.registry)?;
        url.set_path(&format!("/v2/{}/{path}", place.repository));
        Ok(url)
    }

    /// Asks a registry, and answers its question who asks, once.
    pub(super) async fn ask(
        &self,
        place: &OciRef,
        access: Access,
        mut request: Request,
        progress: &dyn Progress,
    ) -> Result<Answer, SourceError> {
        let asking = Asking { registry: &place.registry, repository: &place.repository, access };
        // An upload may go on at another host, which is not the one that knows us.
        let is_own = origin(&request.url) == origin(&self.base(&place.registry)?);
        request.authorization = self.tokens.known(asking).filter(|_| is_own);
        let answer = self.http.send(request.clone(), progress).await?;
        if answer.status() != StatusCode::UNAUTHORIZED || !is_own || origin(answer.url()) != origin(&request.url) {
            return Ok(answer);
        }
        let Some(authorization) = self.tokens.answer(&self.http, asking, &answer).await? else { return Ok(answer) };
        request.authorization = Some(authorization);
        self.http.send(request, progress).await
    }

    /// The error of an answer that is no success.
    pub(super) async fn refusal(&self, place: &OciRef, answer: Answer) -> SourceError {
        let status = answer.status();
        let problem = answer.complaint(&self.options.limits).await;
        let place_shown = place.to_string();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => SourceError::Unauthorized {
                place: place_shown,
                problem,
                hint: format!("log in with `docker login {}`, as somebody who may do that", place.registry),
            },
            StatusCode::NOT_FOUND => SourceError::NotFound { place: place_shown, problem },
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                SourceError::Unreachable { place: place_shown, problem }
            }
            _ => SourceError::Refused {
                place: place_shown,
                problem,
                hint: "see that its host is an OCI registry".to_owned(),
            },
        }
    }
}

/// The tag under which a registry without referrers has them (distribution specification, "Referrers Tag Schema").
pub(super) fn referrers_tag(manifest: Digest) -> String {
    format!("sha256-{}", manifest.hex())
}

pub(super) fn read_json<'a, T: Deserialize<'a>>(place: &str, what: &str, bytes: &'a [u8]) -> Result<T, SourceError> {
    serde_json::from_slice(bytes).map_err(|error| SourceError::Refused {
        place: place.to_owned(),
        problem: format!("its {what} cannot be read: {}", plain::line(&error.to_string(), 200)),
        hint: "see that its host is an OCI registry".to_owned(),
    })
}

fn not_found(place: &str, problem: &str) -> SourceError {
    SourceError::NotFound { place: place.to_owned(), problem: problem.to_owned() }
}

/// The next page of a list, on the same host (RFC 8288: `</v2/…>; rel="next"`).
fn next_page(url: &Url, link: &str) -> Option<Url> {
    let (target, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
    let next = url.join(target).ok()?;
    (rest.contains("next") && origin(&next) == origin(url)).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_on_the_same_host() {
        let url = Url::parse("https://a.example/v2/x/tags/list?n=1").unwrap();
        let next = |link: &str| next_page(&url, link).map(String::from);
        assert_eq!(
            next("</v2/x/tags/list?last=b>; rel=\"next\"").as_deref(),
            Some("https://a.example/v2/x/tags/list?last=b")
        );
        for bad in ["", "</x>", "<https://b.example/x>; rel=\"next\"", "x; rel=next"] {
            assert_eq!(next(bad), None, "{bad}");
        }
    }
}
