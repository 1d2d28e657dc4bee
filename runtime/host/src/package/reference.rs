//! What a package is called: a file, a folder, a place in a registry, a name, an address.
//!
//! A text is read without looking at what is there. Whatever could be two things is an error that says how to write
//! each of them. Tested by tables.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::plain;
use semver::Version;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::Digest;

/// Characters that a reference may have.
const LONGEST: usize = 2048;
/// Characters that a repository may have, its host included: what registries take.
const REPOSITORY: usize = 255;
/// Characters that a tag may have.
const TAG: usize = 128;

/// A package as a person names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PackageRef {
    /// A component file, the folder with one, or an OCI layout in a tar file.
    Path(PathBuf),
    /// `oci://host/path:tag`, `oci://host/path@sha256:…`, or both.
    Oci(OciRef),
    /// `namespace:name@version`; without a version, the newest one.
    Named(NamedRef),
    /// `https://…#sha256=…`
    Web(WebRef),
}

impl PackageRef {
    /// Whether that is on another machine.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Path(_) => false,
            Self::Oci(_) | Self::Named(_) | Self::Web(_) => true,
        }
    }
}

/// A package in an OCI registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciRef {
    /// The host, with a port where one was named: `ghcr.io`, `localhost:5000`. In lower case.
    pub registry: String,
    /// The path below it: `acme/weather`.
    pub repository: String,
    /// The tag. None where only a digest was named.
    pub tag: Option<String>,
    /// The digest of the manifest. Where there is one, the tag is only what people are shown.
    pub digest: Option<Digest>,
}

/// A package by its plugin's id, found where the configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRef {
    /// The plugin.
    pub id: PluginId,
    /// Which version; none for the newest.
    pub version: Option<Version>,
}

/// A component file on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRef {
    /// Where it is; `https`, without a fragment.
    pub url: Url,
    /// The digest of the file.
    pub digest: Digest,
}

/// A text that names no package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no package: {problem}")]
pub struct ReferenceError {
    text: String,
    problem: String,
    hint: &'static str,
}

const FORMS: &str = "name a `.wasm` file, a folder, a tar file of `plugin pack`, `oci://host/path:tag`, \
                     `namespace:name@version`, or `https://…#sha256=…`";
const OCI_FORM: &str =
    "write it like `oci://registry.example/path/name:1.0.0` or `oci://registry.example/path/name@sha256:…`";
const WEB_FORM: &str = "write it like `https://host/plugin.wasm#sha256=…`, with the digest that its publisher names \
                        or that `sha256sum` prints of a copy that you trust";

impl ReferenceError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

impl FromStr for PackageRef {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let bad = |problem: String, hint| ReferenceError { text: plain::line(text, 200), problem, hint };
        if text.is_empty() {
            return Err(bad("it is empty".to_owned(), FORMS));
        }
        if text.len() > LONGEST {
            return Err(bad(format!("it has more than {LONGEST} characters"), FORMS));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme {
                "oci" => OciRef::read(rest).map(Self::Oci).map_err(|problem| bad(problem, OCI_FORM)),
                "https" => WebRef::read(text).map(Self::Web).map_err(|problem| bad(problem, WEB_FORM)),
                "http" => Err(bad("packages are not fetched over plain HTTP".to_owned(), WEB_FORM)),
                "file" => Err(bad("files are named by their paths".to_owned(), "leave out `file://`")),
                _ => Err(bad(format!("`{}://` is no source of packages", plain::line(scheme, 40)), FORMS)),
            };
        }
        // A file whose name looks like that can be named as `./a:b`.
        let is_path = text.contains(['/', '\\']) || !text.contains(':');
        if is_path {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        NamedRef::read(text).map(Self::Named).map_err(|problem| {
            bad(problem, "write it like `acme:weather@1.2.3`; a file of that name is named with `./` before it")
        })
    }
}

impl OciRef {
    /// Reads what stands behind `oci://`. The error is a part of a sentence.
    fn read(text: &str) -> Result<Self, String> {
        let (authority, path) = text.split_once('/').ok_or("it names no repository")?;
        let registry = read_authority(authority)?;
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => (path, Some(digest.parse::<Digest>().map_err(|error| error.to_string())?)),
            None => (path, None),
        };
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(format!(
                "`{}` is no tag: letters, digits, `_`, `.` and `-`, at most {TAG}",
                plain::line(tag, 80)
            ));
        }
        if !is_repository(repository) || registry.len() + repository.len() > REPOSITORY {
            let shown = plain::line(repository, 80);
            return Err(format!(
                "`{shown}` is no repository: lower-case letters and digits, with single `.`, `_`, `-` and `/` between"
            ));
        }
        if tag.is_none() && digest.is_none() {
            return Err("it names neither a tag nor a digest".to_owned());
        }
        Ok(Self { registry, repository: repository.to_owned(), tag: tag.map(str::to_owned), digest })
    }

    /// The same repository, and in it that manifest.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }

    /// What the registry is asked for: the digest, else the tag.
    pub fn wanted(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            // Neither is read so, nor made so.
            (None, None) => "latest".to_owned(),
        }
    }

    /// The tag for a version: `+` is none of a tag's characters.
    pub fn tag_for(version: &Version) -> String {
        version.to_string().replace('+', "_")
    }

    /// The version that a tag stands for; none where it stands for none.
    pub fn version_of(tag: &str) -> Option<Version> {
        Version::parse(&tag.replacen('_', "+", 1)).ok()
    }
}

impl NamedRef {
    fn read(text: &str) -> Result<Self, String> {
        let (id, version) = match text.split_once('@') {
            Some((id, version)) => (id, Some(version)),
            None => (text, None),
        };
        let id = PluginId::new(id).map_err(|error| error.to_string())?;
        let parse = |text: &str| {
            let shown = plain::line(text, 80);
            Version::parse(text).map_err(|error| format!("`{shown}` is no version: {error}"))
        };
        Ok(Self { id, version: version.map(parse).transpose()? })
    }
}

impl WebRef {
    fn read(text: &str) -> Result<Self, String> {
        let mut url = Url::parse(text).map_err(|error| error.to_string())?;
        let digest = url.fragment().and_then(|fragment| fragment.strip_prefix("sha256="));
        let digest = digest.ok_or("it has no `#sha256=`, and what an address leads to may change")?;
        let digest: Digest =
            format!("sha256:{digest}").parse().map_err(|error: super::DigestError| error.to_string())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a name or a password is shown to others".to_owned());
        }
        url.set_fragment(None);
        Ok(Self { url, digest })
    }
}

/// A host, with a port where there is one, as it is written from then on.
fn read_authority(text: &str) -> Result<String, String> {
    let shown = plain::line(text, 80);
    let url = Url::parse(&format!("oci+https://{text}/")).map_err(|_| format!("`{shown}` is no host"))?;
    let named = Url::parse(&format!("https://{text}/")).map_err(|error| format!("`{shown}` is no host: {error}"))?;
    let whole = named.path() == "/" && named.query().is_none() && named.fragment().is_none();
    if !named.username().is_empty() || named.password().is_some() || text.contains('@') {
        return Err("credentials do not belong into it: they come from the Docker configuration".to_owned());
    }
    match named.host() {
        Some(host @ (Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_))) if whole && !text.contains('\\') => {
            // The other parser keeps a port that is the usual one.
            Ok(url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}")))
        }
        _ => Err(format!("`{shown}` is no host")),
    }
}

/// Parts of lower-case letters and digits between slashes; in a part single `.`, one or two `_`, and any `-` stand between
/// them (OCI distribution specification 1.1, "Pulling manifests").
fn is_repository(text: &str) -> bool {
    let part = |part: &str| {
        let separators = part.replace("__", "_");
        let mut between = separators.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let single = between.all(|run| run.len() <= 1 || run.bytes().all(|byte| byte == b'-'));
        let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        single && ends(part.chars().next()) && ends(part.chars().last())
    };
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/".contains(c);
    text.chars().all(known) && text.split('/').all(part)
}

fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=TAG).contains(&text.len()) && text.starts_with(word) && text.chars().all(|c| word(c) || c == '.' || c == '-')
}

impl fmt::Display for PackageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Oci(reference) => reference.fmt(f),
            Self::Named(reference) => reference.fmt(f),
            Self::Web(reference) => reference.fmt(f),
        }
    }
}

impl fmt::Display for OciRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

impl fmt::Display for NamedRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)?;
        self.version.iter().try_for_each(|version| write!(f, "@{version}"))
    }
}

impl fmt::Display for WebRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#sha256={}", self.url, self.digest.hex())
    }
}

impl TryFrom<String> for PackageRef {
    type Error = ReferenceError;

    fn try_from(text: String) -> Result<Self, ReferenceError> {
        text.parse()
    }
}

impl From<PackageRef> for String {
    fn from(reference: PackageRef) -> Self {
        reference.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn read(text: &str) -> Result<PackageRef, ReferenceError> {
        text.replace("HEX", HEX).parse()
    }

    #[test]
    fn what_names_a_package_is_read_as_it_is_written() {
        for text in [
            "oci://ghcr.io/acme/weather:1.2.3",
            "oci://localhost:5000/w:latest",
            "oci://[::1]:5000/w:1",
            "oci://127.0.0.1:443/a/b__c/d-e---f.g@sha256:HEX",
            "oci://ghcr.io/acme/weather:1.2.3@sha256:HEX",
            "acme:weather",
            "acme:weather@1.2.3-rc.1+build",
            "https://host:8443/plugins/w.wasm?x=1#sha256=HEX",
            "plugin.wasm",
            "./a:b",
            "../folder",
            "/abs/plugin.tar",
            "C:\\plugins\\a.wasm",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text.replace("HEX", HEX));
        }
        assert_eq!(read("oci://GHCR.io/a:1").unwrap().to_string(), "oci://ghcr.io/a:1");
        let Ok(PackageRef::Oci(reference)) = read("oci://h/a/b:1@sha256:HEX") else { panic!("it is one") };
        assert_eq!((reference.registry.as_str(), reference.repository.as_str()), ("h", "a/b"));
        assert_eq!((reference.tag.as_deref(), reference.wanted()), (Some("1"), format!("sha256:{HEX}")));
        assert!(matches!(read("a"), Ok(PackageRef::Path(_))));
    }

    #[test]
    fn what_names_none_says_why() {
        for (text, why) in [
            ("", "it is empty"),
            ("oci://ghcr.io", "names no repository"),
            ("oci://ghcr.io/a", "neither a tag nor a digest"),
            ("oci:///a:1", "`` is no host"),
            ("oci://user:pw@ghcr.io/a:1", "credentials do not belong"),
            ("oci://a b/c:1", "`a b` is no host"),
            ("oci://a?b/c:1", "is no host"),
            ("oci://a\\b/c:1", "is no host"),
            ("oci://h:99999/c:1", "is no host"),
            ("oci://h/A:1", "`A` is no repository"),
            ("oci://h/a//b:1", "`a//b` is no repository"),
            ("oci://h/../b:1", "`../b` is no repository"),
            ("oci://h/a..b:1", "is no repository"),
            ("oci://h/a___b:1", "is no repository"),
            ("oci://h/-a:1", "is no repository"),
            ("oci://h/a%2fb:1", "is no repository"),
            ("oci://h/a:.1", "`.1` is no tag"),
            ("oci://h/a:1/2", "`1/2` is no tag"),
            ("oci://h/a:", "`` is no tag"),
            ("oci://h/a@sha256:12", "is not a digest"),
            ("oci://h/a@sha512:HEX", "is not a digest"),
            ("oci://h/a:1@", "is not a digest"),
            ("acme:Weather", "is not a valid plugin id"),
            ("acme:weather@1", "`1` is no version"),
            ("acme:weather@latest", "`latest` is no version"),
            ("a:b:c", "is not a valid plugin id"),
            ("http://h/a.wasm#sha256=HEX", "not fetched over plain HTTP"),
            ("https://h/a.wasm", "no `#sha256=`"),
            ("https://h/a.wasm#sha256=12", "is not a digest"),
            ("https://me:pw@h/a.wasm#sha256=HEX", "shown to others"),
            ("ftp://h/a", "`ftp://` is no source of packages"),
            ("file:///a.wasm", "files are named by their paths"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
            assert!(!error.hint().is_empty());
        }
        assert!(read(&format!("oci://h/{}:1", "a".repeat(300))).is_err());
        assert!(read(&"a".repeat(3000)).is_err());
    }

    #[test]
    fn versions_are_tags() {
        let version = Version::parse("1.2.3-rc.1+build.5").unwrap();
        let tag = OciRef::tag_for(&version);
        assert_eq!(tag, "1.2.3-rc.1_build.5");
        assert_eq!(OciRef::version_of(&tag), Some(version));
        assert_eq!(OciRef::version_of("latest"), None);
    }
}
