//! The port through which packages come: what a reference means now, and its bytes.
//!
//! Everything that a peer sends is bounded, whatever it says of itself. What a source hands over has the digests that it
//! was resolved to: a source that cannot have that says so.

use std::time::Duration;

use acp_runtime_agent::noun::counted;
use futures::future::BoxFuture;
use semver::Version;

use super::{ArtifactError, Digest, LayoutError, PackageError, PackageRef};
use crate::limits::COMPONENT;

/// Where packages come from.
pub trait PackageSource: Send + Sync {
    /// What a reference means now. From here on it means nothing else: what is fetched has these digests.
    fn resolve<'a>(&'a self, reference: &'a PackageRef) -> BoxFuture<'a, Result<Resolved, SourceError>>;

    /// The file, and the signatures that come along with it. Nothing of either was judged.
    fn fetch<'a>(
        &'a self,
        resolved: &'a Resolved,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<Fetched, SourceError>>;

    /// Which versions there are of what a reference names, the newest first. None of a source that knows only one.
    fn versions<'a>(&'a self, reference: &'a PackageRef) -> BoxFuture<'a, Result<Vec<Version>, SourceError>>;
}

/// What a reference means at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The reference with what it means: `oci://host/path:1.0.0@sha256:…`, whatever it was found by.
    pub reference: PackageRef,
    /// The digest of the OCI manifest; none of what has no such manifest.
    pub manifest: Option<Digest>,
    /// The digest of the component file; none where it is known once the file is read.
    pub digest: Option<Digest>,
    /// Bytes of the component file, where that is known beforehand.
    pub size: Option<u64>,
    /// The version that the manifest names. The publisher says so; the component may say something else, which is refused.
    pub version: Option<Version>,
    /// The hash of the capabilities, in the same way.
    pub capabilities: Option<Digest>,
}

impl Resolved {
    /// Whether it comes from another machine.
    pub fn is_remote(&self) -> bool {
        self.reference.is_remote()
    }
}

/// A package as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The component file.
    pub bytes: Vec<u8>,
    /// Its digest, computed here.
    pub digest: Digest,
    /// The digest of the OCI manifest that led to it.
    pub manifest: Option<Digest>,
    /// Signatures that came along, as they are written.
    pub signatures: Vec<String>,
}

/// Who is told how far a transfer has come.
pub trait Progress: Send + Sync {
    /// A transfer begins, of so many bytes where that is known.
    fn begin(&self, what: &str, total: Option<u64>);

    /// So many bytes more have gone through.
    fn advance(&self, bytes: u64);

    /// It has ended, well or not.
    fn end(&self);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn begin(&self, _what: &str, _total: Option<u64>) {}

    fn advance(&self, _bytes: u64) {}

    fn end(&self) {}
}

/// How much is taken from a peer, and how long it is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerLimits {
    /// Bytes of a manifest, an index or a list. Default 1 MiB.
    pub manifest: u64,
    /// Bytes of a component file. Default [`COMPONENT`].
    pub layer: u64,
    /// Bytes of an answer about credentials. Default 64 KiB.
    pub token: u64,
    /// Bytes of a signature. Default 8 KiB.
    pub signature: u64,
    /// Signatures of one package. Default 8.
    pub signatures: usize,
    /// Redirects of one request. Default 5.
    pub redirects: usize,
    /// Tags of a repository that are looked at. Default 10,000.
    pub tags: usize,
    /// Requests that are made for one, when the peer is busy or not there. Default 4.
    pub attempts: u32,
    /// The pause before the second one; each further one is twice as long. Default 500 ms.
    pub pause: Duration,
    /// The longest pause that a peer may ask for with `Retry-After`. Default 30 s.
    pub longest_pause: Duration,
    /// Until a connection is there. Default 15 s.
    pub connect: Duration,
    /// Until an answer begins, and between two pieces of it. Default 30 s.
    pub idle: Duration,
    /// From the beginning of one answer to its last byte. Default 10 min.
    pub whole: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        Self {
            manifest: 1 << 20,
            layer: COMPONENT,
            token: 64 << 10,
            signature: 8 << 10,
            signatures: 8,
            redirects: 5,
            tags: 10_000,
            attempts: 4,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(30),
            whole: Duration::from_mins(10),
        }
    }
}

/// Why there is no package.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file is no plugin.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A folder without exactly one `.wasm` file.
    #[error("`{place}` has {}", counted(*.count, "`.wasm` file"))]
    NotOnePlugin {
        /// The folder.
        place: String,
        /// How many there are.
        count: usize,
    },
    /// The tar file is no OCI layout with one package.
    #[error("`{place}`: {source}")]
    Layout {
        /// The file.
        place: String,
        /// Why.
        source: LayoutError,
    },
    /// The OCI manifest is none of a plugin.
    #[error("`{place}`: {source}")]
    Artifact {
        /// What was asked for.
        place: String,
        /// Why.
        source: ArtifactError,
    },
    /// What came is not what was meant.
    #[error("`{place}`: the {what} has the digest {found}, not {expected}")]
    WrongDigest {
        /// What was asked for.
        place: String,
        /// `manifest` or `file`.
        what: &'static str,
        /// What it must be.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// There is no such package.
    #[error("`{place}` is not there: {problem}")]
    NotFound {
        /// What was asked for.
        place: String,
        /// The peer's words, or ours.
        problem: String,
    },
    /// The peer wants to know who asks, and is not content with the answer.
    #[error("`{place}` was refused: {problem}")]
    Unauthorized {
        /// What was asked for.
        place: String,
        /// Why.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// The peer sends more than is taken.
    #[error("`{place}`: the {what} is larger than {most} bytes")]
    TooLarge {
        /// What was asked for.
        place: String,
        /// What is.
        what: &'static str,
        /// What is taken.
        most: u64,
    },
    /// The peer cannot be reached, is busy, is slow, or breaks off.
    #[error("`{place}`: {problem}")]
    Unreachable {
        /// What was asked for.
        place: String,
        /// What happened.
        problem: String,
    },
    /// Something else is wrong with what the peer says, or with what it is asked for.
    #[error("`{place}`: {problem}")]
    Refused {
        /// What was asked for.
        place: String,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        hint: String,
    },
}

impl SourceError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Package(error) => error.hint().to_owned(),
            Self::NotOnePlugin { .. } => "name the plugin's `.wasm` file itself".to_owned(),
            Self::Layout { source, .. } => source.hint().to_owned(),
            Self::Artifact { source, .. } => source.hint().to_owned(),
            Self::WrongDigest { .. } => {
                "what is there is not what was meant: nothing of it was kept; ask its publisher, or another mirror"
                    .to_owned()
            }
            Self::NotFound { .. } => "check its name, its tag and its host".to_owned(),
            Self::TooLarge { .. } => "nothing of it was kept; ask its publisher".to_owned(),
            Self::Unreachable { .. } => "check the host and the network, and try again".to_owned(),
            Self::Unauthorized { hint, .. } | Self::Refused { hint, .. } => hint.clone(),
        }
    }
}
