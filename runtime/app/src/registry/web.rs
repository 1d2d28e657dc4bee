//! Component files on the web, which are named with their digest, and the signature beside them.

use acp_runtime_host::package::{Digest, Fetched, PackageRef, Progress, Resolved, SourceError, Unwatched, WebRef};
use http::StatusCode;

use super::Registries;
use super::http::Request;

/// What its digest says it is. Asks nobody.
pub(super) fn resolve(web: &WebRef) -> Resolved {
    Resolved {
        reference: PackageRef::Web(web.clone()),
        manifest: None,
        digest: Some(web.digest),
        size: None,
        version: None,
        capabilities: None,
    }
}

impl Registries {
    pub(super) async fn fetch_web(&self, web: &WebRef, progress: &dyn Progress) -> Result<Fetched, SourceError> {
        let (place, limits) = (web.to_string(), &self.options.limits);
        let answer = self.http.send(Request::get(web.url.clone()), &Unwatched).await?;
        if answer.status() != StatusCode::OK {
            return Err(SourceError::NotFound { place, problem: format!("it answers {}", answer.status()) });
        }
        progress.begin(&place, None);
        let bytes = answer.body("file", limits.layer, limits, progress).await;
        progress.end();
        let (bytes, expected) = (bytes?, web.digest);
        let found = Digest::of(&bytes);
        if found != expected {
            return Err(SourceError::WrongDigest { place, what: "file", expected, found });
        }
        let mut beside = web.url.clone();
        beside.set_path(&format!("{}.minisig", web.url.path()));
        let answer = self.http.send(Request::get(beside), &Unwatched).await?;
        let signatures = match answer.status() {
            StatusCode::OK => {
                let signature = answer.body("signature", limits.signature, limits, &Unwatched).await?;
                vec![String::from_utf8_lossy(&signature).into_owned()]
            }
            // Where there is none, some servers say that one may not look.
            StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::GONE => Vec::new(),
            status => {
                return Err(SourceError::Unreachable { place, problem: format!("its signature: it answers {status}") });
            }
        };
        Ok(Fetched { bytes, digest: found, manifest: None, signatures })
    }
}
