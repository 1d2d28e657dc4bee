//! Who stands for a plugin: signatures over the bytes of its file, and the keys that they are checked with.
//!
//! A signature says which plugin and which version it is for (minisign's trusted comment is exactly `id@version`), so that
//! one of another plugin, or of an older version, is worth nothing. It travels beside a file (`plugin.wasm.minisig`) and in
//! a registry as an artifact that refers to the package. Checking needs nothing but the bytes, the signature and the key.
//! Whom to believe is not known here. Tested by tables, and against the `minisign` of others in `tests/it/distribution`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::plain;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semver::Version;
use serde::{Deserialize, Serialize};

use super::Digest;

/// The type of an artifact that is a signature by minisign, and of its layer.
pub const MINISIGN: &str = "application/vnd.acp-runtime.minisign.v1";
/// What the untrusted comment has before the public key.
const OFFERS: &str = "public key ";
/// Characters that a line of a signature may have.
const LINE: usize = 1024;

/// A kind of signature. There is one, [`Minisign`]; others are added beside it.
pub trait SignatureKind: Send + Sync {
    /// The type of its artifacts in a registry.
    fn artifact_type(&self) -> &'static str;

    /// The file of the signature for the file at `path`.
    fn beside(&self, path: &Path) -> PathBuf;

    /// What a signature says without being believed.
    fn read(&self, text: &str) -> Result<Signature, SignatureError>;

    /// Whether `signature` is one of `key` over `bytes`, for exactly that version of that plugin.
    fn verify(&self, signature: &Signature, key: &PublicKey, signed: Signed<'_>) -> Result<(), SignatureError>;
}

/// What is signed.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// The file.
    pub bytes: &'a [u8],
    /// The plugin that it says it is.
    pub id: &'a PluginId,
    /// Its version.
    pub version: &'a Version,
}

impl Signed<'_> {
    /// What a signature must say that it is for.
    pub fn statement(&self) -> String {
        format!("{}@{}", self.id, self.version)
    }
}

/// Ed25519 over a hash by `BLAKE2b`, in minisign's format (<https://jedisct1.github.io/minisign/>). The older form without a hash is
/// not accepted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Minisign;

/// What minisign names a key by: 8 bytes that its owner chose. Not enough to know it by; that is its [`PublicKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; 8]);

/// A public key of minisign, as it is written: 56 characters that begin with `RW`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey {
    text: String,
    id: KeyId,
    key: minisign_verify::PublicKey,
}

/// A signature that was read. Nothing of it is believed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The text.
    pub text: String,
    /// The key that it says it is by.
    pub key: KeyId,
    /// The public key that came along, for those who see it for the first time.
    pub offered: Option<PublicKey>,
    /// What it says that it is for.
    pub statement: String,
}

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Not a signature.
    #[error("it is no signature by minisign: {0}")]
    Form(String),
    /// Another key's.
    #[error("it is by the key {by}, not by {expected}")]
    OtherKey {
        /// Whose it says it is.
        by: KeyId,
        /// Whose it should be.
        expected: KeyId,
    },
    /// Not of these bytes, or not of that key.
    #[error("it is not a signature of this file by the key {0}")]
    Broken(KeyId),
    /// Of another plugin or version.
    #[error("it was made for `{said}`, and this is `{is}`")]
    OtherPlugin {
        /// What it says.
        said: String,
        /// What it is.
        is: String,
    },
}

/// A text that is no public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no public key of minisign: expected 56 characters that begin with `RW`, as `plugin keygen` prints them"
)]
pub struct KeyError(String);

impl PublicKey {
    /// What minisign names it by.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The SHA-256 of all that is in it: what people compare.
    pub fn fingerprint(&self) -> Digest {
        Digest::of(&STANDARD.decode(&self.text).unwrap_or_default())
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// Reads the key alone, or the file that has it.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let bad = || KeyError(plain::line(text, 80));
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).ok_or_else(bad)?;
        let key = minisign_verify::PublicKey::from_base64(line).map_err(|_| bad())?;
        let bytes = STANDARD.decode(line).map_err(|_| bad())?;
        let id = bytes.get(2..10).and_then(|id| id.try_into().ok()).map(KeyId).ok_or_else(bad)?;
        Ok(Self { text: line.to_owned(), id, key })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.text
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", u64::from_le_bytes(self.0))
    }
}

impl Signature {
    /// What a publisher writes into the comment that nobody needs to believe, so that others can see the key.
    pub fn offer(key: &PublicKey) -> String {
        format!("signature of a plugin, {OFFERS}{key}")
    }
}

impl SignatureKind for Minisign {
    fn artifact_type(&self) -> &'static str {
        MINISIGN
    }

    fn beside(&self, path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".minisig");
        name.into()
    }

    fn read(&self, text: &str) -> Result<Signature, SignatureError> {
        let bad = |problem: &str| SignatureError::Form(problem.to_owned());
        if text.lines().any(|line| line.len() > LINE) {
            return Err(bad("one of its lines is too long"));
        }
        let decoded = minisign_verify::Signature::decode(text).map_err(|error| bad(&error.to_string()))?;
        let line = text.lines().nth(1).unwrap_or_default();
        let bytes = STANDARD.decode(line).map_err(|error| bad(&error.to_string()))?;
        let key =
            bytes.get(2..10).and_then(|id| id.try_into().ok()).map(KeyId).ok_or_else(|| bad("it is too short"))?;
        let offered = decoded.untrusted_comment().split_once(OFFERS).and_then(|(_, key)| key.trim().parse().ok());
        // A key that says another name than the signature's is no offer of that key.
        let offered = offered.filter(|offered: &PublicKey| offered.id == key);
        Ok(Signature { key, offered, statement: plain::line(decoded.trusted_comment(), 200), text: text.to_owned() })
    }

    fn verify(&self, signature: &Signature, key: &PublicKey, signed: Signed<'_>) -> Result<(), SignatureError> {
        if signature.key != key.id {
            return Err(SignatureError::OtherKey { by: signature.key, expected: key.id });
        }
        let decoded = minisign_verify::Signature::decode(&signature.text)
            .map_err(|error| SignatureError::Form(error.to_string()))?;
        match key.key.verify(signed.bytes, &decoded, false) {
            Ok(()) => {}
            Err(minisign_verify::Error::UnexpectedAlgorithm) => {
                return Err(SignatureError::Form("it was made without a hash, as old versions did".to_owned()));
            }
            Err(_) => return Err(SignatureError::Broken(key.id)),
        }
        let is = signed.statement();
        if decoded.trusted_comment() != is {
            return Err(SignatureError::OtherPlugin { said: signature.statement.clone(), is });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `minisign`, for the three bytes `abc`.
    fn pair() -> minisign::KeyPair {
        minisign::KeyPair::generate_unencrypted_keypair().unwrap()
    }

    fn public(pair: &minisign::KeyPair) -> PublicKey {
        pair.pk.to_base64().parse().unwrap()
    }

    fn sign(pair: &minisign::KeyPair, bytes: &[u8], statement: &str) -> String {
        let offer = Signature::offer(&public(pair));
        minisign::sign(None, &pair.sk, bytes, Some(statement), Some(&offer)).unwrap().into_string()
    }

    fn check(signature: &str, key: &PublicKey, bytes: &[u8]) -> Result<(), SignatureError> {
        let (id, version) = (PluginId::new("acme:list").unwrap(), Version::new(1, 2, 3));
        let read = Minisign.read(signature)?;
        Minisign.verify(&read, key, Signed { bytes, id: &id, version: &version })
    }

    #[test]
    fn a_signature_holds_for_one_file_one_plugin_and_one_version() {
        let (pair, other) = (pair(), pair());
        let key = public(&pair);
        let good = sign(&pair, b"abc", "acme:list@1.2.3");
        assert_eq!(check(&good, &key, b"abc"), Ok(()));
        assert_eq!(Minisign.read(&good).unwrap().offered.as_ref(), Some(&key));
        assert_eq!(check(&good, &key, b"abd"), Err(SignatureError::Broken(key.id())));
        assert!(matches!(check(&good, &public(&other), b"abc"), Err(SignatureError::OtherKey { .. })));
        for said in ["acme:list@1.2.2", "acme:other@1.2.3", "acme:list@1.2.3 ", "acme:list@1.2.3\ttimestamp:1", ""] {
            let replayed = check(&sign(&pair, b"abc", said), &key, b"abc");
            assert!(matches!(replayed, Err(SignatureError::OtherPlugin { .. })), "{said}: {replayed:?}");
        }
        // What it says may not be changed either.
        let changed = sign(&pair, b"abc", "acme:list@1.2.2").replace("@1.2.2", "@1.2.3");
        assert_eq!(check(&changed, &key, b"abc"), Err(SignatureError::Broken(key.id())));
    }

    #[test]
    fn a_key_of_the_same_name_is_not_the_same_key() {
        let (pair, other) = (pair(), pair());
        let key = public(&pair);
        let mut bytes = STANDARD.decode(public(&other).to_string()).unwrap();
        bytes[2..10].copy_from_slice(&key.id().0);
        let impostor: PublicKey = STANDARD.encode(&bytes).parse().unwrap();
        assert_eq!(impostor.id(), key.id());
        assert_ne!(impostor.fingerprint(), key.fingerprint());
        let signature = sign(&pair, b"abc", "acme:list@1.2.3");
        assert_eq!(check(&signature, &impostor, b"abc"), Err(SignatureError::Broken(key.id())));
    }

    #[test]
    fn what_is_no_signature_or_key_says_so() {
        let good = sign(&pair(), b"abc", "acme:list@1.2.3");
        let line = |number: usize, text: &str| {
            let mut lines: Vec<&str> = good.lines().collect();
            lines[number] = text;
            lines.join("\n")
        };
        let long = "x".repeat(2000);
        for bad in
            ["", "abc", &line(1, ""), &line(1, "AAAA"), &line(2, "comment: x"), &line(3, "AAAA"), &line(0, &long)]
        {
            assert!(matches!(Minisign.read(bad), Err(SignatureError::Form(_))), "{bad}");
        }
        let odd = line(0, "untrusted comment: public key RWQ");
        assert_eq!(Minisign.read(&odd).unwrap().offered, None);
        for bad in ["", "RWQ", "untrusted comment: minisign public key", "é"] {
            assert!(bad.parse::<PublicKey>().is_err(), "{bad}");
        }
        let key = public(&pair());
        assert_eq!(format!("untrusted comment: minisign public key X\n{key}\n").parse(), Ok(key));
    }
}
