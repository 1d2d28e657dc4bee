//! An OCI registry on loopback: it keeps what is pushed, and has bad manners where a test wants them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use futures::StreamExt as _;
use futures::stream;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What such manifests are.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// What lists of them are.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The registry. It ends when it is dropped.
pub struct RegistryDouble {
    port: u16,
    state: Arc<Mutex<State>>,
    server: JoinHandle<()>,
}

/// What it does that it should not.
#[derive(Debug, Clone, Default)]
pub struct Manners {
    /// Blobs have one byte that is another one.
    pub blobs_changed: bool,
    /// After so many bytes of a blob nothing more comes.
    pub blobs_stop_after: Option<usize>,
    /// After so many bytes of a blob the connection breaks.
    pub blobs_break_after: Option<usize>,
    /// Blobs are at this address, and not here.
    pub blobs_elsewhere: Option<String>,
    /// A manifest that is asked for by its digest is this one.
    pub manifests_are: Option<String>,
    /// A tag means this digest once it was asked for.
    pub tags_move_to: Option<String>,
    /// There is always another page of tags, with nothing new on it.
    pub tags_without_end: bool,
    /// Manifests are sent as this.
    pub sent_as: Option<String>,
    /// So many requests are answered with this status before any is answered well.
    pub busy: (u16, usize),
    /// What is asked without this token is answered with a challenge.
    pub token: Option<String>,
    /// Where the challenge says that tokens are; none for a challenge that wants a name and a password.
    pub realm: Option<String>,
    /// It knows nothing of referrers.
    pub without_referrers: bool,
    /// Uploads go on at this address.
    pub uploads_elsewhere: Option<String>,
}

/// What it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `GET` and so on.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Who asked.
    pub authorization: Option<String>,
}

#[derive(Default)]
struct State {
    manners: Manners,
    asked: Vec<Asked>,
    /// By repository, and digest or tag.
    manifests: BTreeMap<(String, String), (String, Vec<u8>)>,
    blobs: BTreeMap<String, Vec<u8>>,
    well_known: Option<Value>,
}

impl RegistryDouble {
    /// A registry without anything in it, and with good manners.
    pub async fn start() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let response = shared.lock().expect("no test panics here").answer(&method, &uri, &headers, &body);
            async { response }
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has a free port");
        let port = listener.local_addr().expect("a bound port").port();
        let router = Router::new().fallback(answer).layer(axum::extract::DefaultBodyLimit::disable());
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("the server runs");
        });
        Self { port, state, server }
    }

    /// Its host, as references name it.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The same place under another name.
    pub fn other_host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// Changes its manners.
    pub fn behave(&self, manners: Manners) {
        self.state().manners = manners;
    }

    /// What its well-known file says.
    pub fn say(&self, well_known: Value) {
        self.state().well_known = Some(well_known);
    }

    /// What it was asked, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// The manifest of a tag or digest.
    pub fn manifest(&self, repository: &str, wanted: &str) -> Value {
        let state = self.state();
        let (_, bytes) = &state.manifests[&(repository.to_owned(), wanted.to_owned())];
        serde_json::from_slice(bytes).expect("a manifest")
    }

    /// The digest that a tag means.
    pub fn digest(&self, repository: &str, tag: &str) -> String {
        let state = self.state();
        digest(&state.manifests[&(repository.to_owned(), tag.to_owned())].1)
    }

    /// Puts a manifest behind a tag, whatever it is; answers its digest.
    pub fn put(&self, repository: &str, tag: &str, bytes: Vec<u8>) -> String {
        let mut state = self.state();
        let digest = digest(&bytes);
        for wanted in [tag, &digest] {
            state.manifests.insert((repository.to_owned(), wanted.to_owned()), (MANIFEST.to_owned(), bytes.clone()));
        }
        digest
    }

    /// Gives all its blobs to another one.
    pub fn share_blobs(&self, other: &Self) {
        let blobs = self.state().blobs.clone();
        other.state().blobs.extend(blobs);
    }

    /// The tags of a repository.
    pub fn tags(&self, repository: &str) -> BTreeSet<String> {
        self.state().tags(repository)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics here")
    }
}

impl Drop for RegistryDouble {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl State {
    fn tags(&self, repository: &str) -> BTreeSet<String> {
        let named = self.manifests.keys().filter(|(own, wanted)| own == repository && !wanted.contains(':'));
        named.map(|(_, tag)| tag.clone()).collect()
    }

    fn answer(&mut self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Response<Body> {
        let authorization =
            headers.get("authorization").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        self.asked.push(Asked {
            method: method.to_string(),
            path: uri.to_string(),
            authorization: authorization.clone(),
        });
        if let (status, left @ 1..) = self.manners.busy {
            self.manners.busy = (status, left - 1);
            return with(status, &[("retry-after", "0")], Vec::new());
        }
        if uri.path() == "/.well-known/wasm-pkg/registry.json" {
            return match &self.well_known {
                Some(said) => with(200, &[("content-type", "application/json")], said.to_string().into_bytes()),
                None => with(404, &[], Vec::new()),
            };
        }
        if let Some(token) = &self.manners.token {
            let (right, challenge) = match &self.manners.realm {
                Some(realm) => (format!("Bearer {token}"), format!("Bearer realm=\"{realm}\",service=\"double\"")),
                None => (format!("Basic {token}"), "Basic realm=\"double\"".to_owned()),
            };
            if authorization.as_deref() != Some(&right) {
                return with(401, &[("www-authenticate", &challenge)], Vec::new());
            }
        }
        let path = uri.path().strip_prefix("/v2/").unwrap_or_default();
        let query = uri.query().unwrap_or_default();
        for (word, act) in [
            ("/manifests/", Self::manifests as fn(&mut Self, &Method, &HeaderMap, [&str; 3], &Bytes) -> Response<Body>),
            ("/blobs/", Self::blobs),
            ("/referrers/", Self::referrers),
            ("/tags/", Self::list),
        ] {
            if let Some((repository, rest)) = path.rsplit_once(word) {
                return act(self, method, headers, [repository, rest, query], body);
            }
        }
        with(404, &[], Vec::new())
    }

    fn manifests(&mut self, method: &Method, headers: &HeaderMap, path: [&str; 3], body: &Bytes) -> Response<Body> {
        let [repository, wanted, _] = path;
        let key = (repository.to_owned(), wanted.to_owned());
        if method == Method::PUT {
            let media_type =
                headers.get("content-type").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            let (media_type, digest) = (media_type.unwrap_or_default(), digest(body));
            let said: Value = serde_json::from_slice(body).expect("a manifest is JSON");
            for wanted in [wanted.to_owned(), digest.clone()] {
                self.manifests.insert((repository.to_owned(), wanted), (media_type.clone(), body.to_vec()));
            }
            let subject = said["subject"]["digest"].as_str().filter(|_| !self.manners.without_referrers);
            return match subject {
                Some(subject) => with(201, &[("oci-subject", subject), ("docker-content-digest", &digest)], Vec::new()),
                None => with(201, &[("docker-content-digest", &digest)], Vec::new()),
            };
        }
        let by_digest = wanted.contains(':');
        let found = match &self.manners.manifests_are {
            Some(other) if by_digest => self.manifests.get(&(repository.to_owned(), other.clone())),
            _ => self.manifests.get(&key),
        };
        let Some((media_type, bytes)) = found.cloned() else { return with(404, &[], Vec::new()) };
        if let Some(moved) = self.manners.tags_move_to.clone().filter(|_| !by_digest) {
            let other = self.manifests[&(repository.to_owned(), moved)].clone();
            self.manifests.insert(key, other);
        }
        let sent_as = self.manners.sent_as.clone().unwrap_or(media_type);
        with(200, &[("content-type", &sent_as)], bytes)
    }

    fn blobs(&mut self, method: &Method, _headers: &HeaderMap, path: [&str; 3], body: &Bytes) -> Response<Body> {
        let [repository, wanted, query] = path;
        if method == Method::POST {
            let elsewhere = self.manners.uploads_elsewhere.clone().unwrap_or_default();
            let location = format!("{elsewhere}/v2/{repository}/blobs/uploads/1?state=x");
            return with(202, &[("location", &location)], Vec::new());
        }
        if method == Method::PUT {
            let digest = digest(body);
            let said = query.split('&').find_map(|pair| pair.strip_prefix("digest=")).unwrap_or_default();
            if said.replace("%3A", ":") != digest {
                return with(400, &[], b"{\"errors\":[{\"code\":\"DIGEST_INVALID\",\"message\":\"no\"}]}".to_vec());
            }
            self.blobs.insert(digest, body.to_vec());
            return with(201, &[], Vec::new());
        }
        if let Some(elsewhere) = &self.manners.blobs_elsewhere {
            return with(307, &[("location", &format!("{elsewhere}/v2/{repository}/blobs/{wanted}"))], Vec::new());
        }
        let Some(mut bytes) = self.blobs.get(wanted).cloned() else { return with(404, &[], Vec::new()) };
        if method == Method::HEAD {
            return with(200, &[], Vec::new());
        }
        if self.manners.blobs_changed {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        }
        let length = bytes.len().to_string();
        let (begun, rest) = match (self.manners.blobs_stop_after, self.manners.blobs_break_after) {
            (Some(after), _) => (after, stream::pending().boxed()),
            (None, Some(after)) => {
                let broken = async {
                    // What was begun is sent first.
                    tokio::task::yield_now().await;
                    Err(std::io::Error::other("the double breaks off"))
                };
                (after, stream::once(broken).boxed())
            }
            (None, None) => return with(200, &[("content-length", &length)], bytes),
        };
        bytes.truncate(begun);
        let begun = stream::once(async move { Ok::<_, std::io::Error>(Bytes::from(bytes)) });
        let response = Response::builder().status(200).header("content-length", length);
        response.body(Body::from_stream(begun.chain(rest))).expect("a blob can be answered")
    }

    fn referrers(&mut self, _method: &Method, _headers: &HeaderMap, path: [&str; 3], _body: &Bytes) -> Response<Body> {
        let [repository, subject, _] = path;
        if self.manners.without_referrers {
            return with(404, &[], Vec::new());
        }
        let mut manifests = Vec::new();
        for ((own, wanted), (media_type, bytes)) in &self.manifests {
            let said: Value = serde_json::from_slice(bytes).unwrap_or_default();
            if own == repository && wanted.contains(':') && said["subject"]["digest"] == subject {
                manifests.push(json!({
                    "mediaType": media_type, "digest": wanted, "size": bytes.len(), "artifactType": said["artifactType"],
                }));
            }
        }
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
        with(200, &[("content-type", INDEX)], index.to_string().into_bytes())
    }

    fn list(&mut self, _method: &Method, _headers: &HeaderMap, path: [&str; 3], _body: &Bytes) -> Response<Body> {
        let tags = self.tags(path[0]);
        if tags.is_empty() {
            return with(404, &[], Vec::new());
        }
        let list = json!({ "name": path[0], "tags": tags }).to_string().into_bytes();
        let next = format!("</v2/{}/tags/list?last={}>; rel=\"next\"", path[0], self.asked.len());
        let headers = [("content-type", "application/json"), ("link", next.as_str())];
        with(200, &headers[..=usize::from(self.manners.tags_without_end)], list)
    }
}

fn with(status: u16, headers: &[(&str, &str)], body: Vec<u8>) -> Response<Body> {
    let status = StatusCode::from_u16(status).expect("a status");
    let builder =
        headers.iter().fold(Response::builder().status(status), |builder, (name, value)| builder.header(*name, *value));
    builder.body(Body::from(body)).expect("it can be answered")
}

/// `sha256:` and the digits.
pub fn digest(bytes: &[u8]) -> String {
    let hex: Vec<String> = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", hex.concat())
}
