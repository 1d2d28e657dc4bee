//! Who stands for a plugin that is to be installed, and whether that is enough: it is, where the person trusts them, or
//! says so now, or has named the very file.

use std::io::{self, Write as _};

use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::Digest;
use acp_runtime_host::package::signature::{Minisign, PublicKey, SignatureKind as _, Signed};
use acp_runtime_host::publishers::{Distrust, Moment, Publishers, Standing, TrustStore, TrustStoreError};
use jiff::Timestamp;

use super::super::confirm::{can_ask, confirmed};
use super::super::failure::Failure;
use crate::settings::Requirement;

/// What to do where somebody else has signed.
const ANOTHER: &str = "do not install it, unless its publisher has told you of another key";
/// Where a key comes from, and how one is told from a fingerprint.
const WHERE: &str = "in a place of their own (it begins with `RW`)";

/// What came, before anything of it was run.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) bytes: &'a [u8],
    pub(super) digest: Digest,
    pub(super) signatures: &'a [String],
}

impl Arrival<'_> {
    pub(super) fn signed(&self) -> Signed<'_> {
        Signed { bytes: self.bytes, id: &self.manifest.id, version: &self.manifest.version }
    }

    /// How it stands with these publishers now.
    pub(super) fn standing(&self, publishers: &Publishers) -> Result<Standing, Distrust> {
        publishers.judge(&Minisign, self.signatures, self.signed(), Timestamp::now())
    }

    /// The signature that is that key's.
    pub(super) fn signature_of(&self, key: &PublicKey) -> Option<String> {
        let is_theirs = |text: &&String| {
            Minisign.read(text).is_ok_and(|signature| Minisign.verify(&signature, key, self.signed()).is_ok())
        };
        self.signatures.iter().find(is_theirs).cloned()
    }

    fn name(&self) -> String {
        format!("`{}` {}", self.manifest.id, self.manifest.version)
    }
}

/// What the person has said beforehand of who stands for it.
#[derive(Default)]
pub(super) struct Leave {
    /// The fingerprint of a publisher's key, or the key, that is trusted from now on.
    pub(super) publisher: Option<String>,
    /// The digest of a file that nobody needs to have signed.
    pub(super) unsigned: Option<Digest>,
}

/// Who stands for it.
pub(super) struct Voucher {
    pub(super) publisher: String,
    pub(super) key: PublicKey,
}

/// Whether somebody stands for it.
pub(super) enum Vouched {
    /// They do.
    By(Voucher),
    /// Nobody does, and nobody has to. What the person is told of that, where they have not said that they know.
    ByNobody(Option<String>),
}

impl Vouched {
    /// Who does.
    pub(super) fn voucher(&self) -> Option<&Voucher> {
        match self {
            Self::By(voucher) => Some(voucher),
            Self::ByNobody(_) => None,
        }
    }
}

/// Who stands for it. A publisher whom the person trusts from now on is kept at once, whatever becomes of the plugin: what
/// was answered is not asked again.
pub(super) fn vouch(
    store: &TrustStore,
    arrival: Arrival<'_>,
    requirement: Requirement,
    leave: &Leave,
) -> Result<Vouched, Failure> {
    let publishers = store.read()?;
    let (name, namespace) = (arrival.name(), arrival.manifest.id.namespace().to_owned());
    let standing = arrival.standing(&publishers);
    let standing = standing.map_err(|error| Failure::new(format!("{name} was refused: {error}")).hint(error.hint()))?;
    let new = |key: PublicKey| keep(store, &namespace, key);
    match standing {
        Standing::Trusted { publisher, key } => Ok(Vouched::By(Voucher { publisher, key })),
        Standing::New { key, similar } => {
            if let Some(expected) = &leave.publisher {
                expect(&name, expected, &key)?;
                return new(key);
            }
            introduce(&mut io::stderr(), &name, &namespace, &key, &similar)?;
            if can_ask() {
                return match (confirmed(&format!("Trust this publisher for `{namespace}`?"))?, requirement) {
                    (true, _) => new(key),
                    (false, Requirement::Warn) => Ok(unvouched(&name, "its publisher is not trusted")),
                    (false, Requirement::Require) => {
                        Err(Failure::new(format!("{name} was not installed: its publisher is not trusted")))
                    }
                };
            }
            let why = format!("its publisher is not trusted, and nobody can be asked ({})", key.fingerprint());
            match requirement {
                Requirement::Warn => Ok(unvouched(&name, &why)),
                Requirement::Require => Err(Failure::usage(format!("{name} was not installed: {why}"))
                    .hint(format!(
                        "compare that with what `{namespace}` publishes in a place of their own, then install it with `--trust-publisher {}`",
                        key.fingerprint()
                    ))),
            }
        }
        Standing::Stranger { key } => match leave.publisher.as_deref().map(named).transpose()? {
            Some(Named::Key(given)) if arrival.signature_of(&given).is_some() => new(given),
            Some(Named::Key(given)) => {
                Err(Failure::new(format!("{name} was refused: its signature is not by the key {}", given.id())).hint(ANOTHER))
            }
            Some(Named::Fingerprint(_)) => Err(Failure::new(format!(
                "{name} was not installed: the key of its signature ({key}) did not come along, and a fingerprint is no key"
            ))
            .hint(format!("get the public key from its publisher, {WHERE}, then install it with `--trust-publisher RW…`"))),
            None => {
                let why = format!("its signature is by a key that is not known and did not come along ({key})");
                let hint = format!(
                    "get the public key from its publisher, {WHERE}, then \
                     `acp-runtime trust add publisher {namespace} --key RW…`, and once more"
                );
                require(&name, &why, hint, requirement)
            }
        },
        Standing::Unsigned { .. } if leave.unsigned == Some(arrival.digest) => Ok(Vouched::ByNobody(None)),
        Standing::Unsigned { .. } if leave.unsigned.is_some() => {
            let is = arrival.digest;
            Err(Failure::new(format!("{name} was refused: it is not signed, and its digest is another one ({is})"))
                .hint("see that it is what you have looked at"))
        }
        Standing::Unsigned { claimed_by } => {
            let why = match claimed_by {
                Some(publisher) => format!("it is not signed, and `{namespace}` is the publisher `{publisher}`'s"),
                None => "it is not signed".to_owned(),
            };
            let hint = format!("once you have looked at it, install it with `--allow-unsigned {}`", arrival.digest);
            require(&name, &why, hint, requirement)
        }
    }
}

fn require(name: &str, why: &str, hint: String, requirement: Requirement) -> Result<Vouched, Failure> {
    match requirement {
        Requirement::Warn => Ok(unvouched(name, why)),
        Requirement::Require => Err(Failure::new(format!("{name} was not installed: {why}")).hint(hint)),
    }
}

fn unvouched(name: &str, why: &str) -> Vouched {
    Vouched::ByNobody(Some(format!("nobody stands for {name}: {why}")))
}

/// A publisher's key as a person names it.
enum Named {
    Key(PublicKey),
    Fingerprint(Digest),
}

fn named(text: &str) -> Result<Named, Failure> {
    match (text.parse(), text.parse()) {
        (Ok(fingerprint), _) => Ok(Named::Fingerprint(fingerprint)),
        (Err(_), Ok(key)) => Ok(Named::Key(key)),
        (Err(_), Err(_)) => Err(Failure::usage(format!("`{text}` is neither a fingerprint nor a public key"))
            .hint("write it as `plugin keygen` has printed it: `sha256:…`, or `RW…`")),
    }
}

/// What the person has named is the key itself, or its fingerprint.
fn expect(name: &str, expected: &str, key: &PublicKey) -> Result<(), Failure> {
    let is_it = match named(expected)? {
        Named::Fingerprint(fingerprint) => fingerprint == key.fingerprint(),
        Named::Key(named) => named == *key,
    };
    if is_it {
        return Ok(());
    }
    Err(Failure::new(format!("{name} was refused: it is signed by another key ({})", key.fingerprint())).hint(ANOTHER))
}

fn keep(store: &TrustStore, namespace: &str, key: PublicKey) -> Result<Vouched, Failure> {
    store.change(|publishers| publishers.introduce(namespace, &key, Moment(Timestamp::now())))?;
    let mut err = io::stderr();
    writeln!(err, "trusted the publisher `{namespace}`: {}", key.fingerprint())?;
    writeln!(
        err,
        "hint: that stays, whatever becomes of the plugin; `acp-runtime trust remove publisher {namespace}` ends it"
    )?;
    Ok(Vouched::By(Voucher { publisher: namespace.to_owned(), key }))
}

/// A publisher who was never seen before.
fn introduce(
    out: &mut impl io::Write,
    name: &str,
    namespace: &str,
    key: &PublicKey,
    similar: &[String],
) -> io::Result<()> {
    writeln!(out, "{name} is signed by a publisher that you have not trusted before")?;
    writeln!(out, "  namespace    {namespace}")?;
    writeln!(out, "  fingerprint  {}", key.fingerprint())?;
    writeln!(out, "  key          {key} ({})", key.id())?;
    if !similar.is_empty() {
        writeln!(out, "warning: `{namespace}` is not `{}`, which you may have meant", similar.join("`, `"))?;
    }
    writeln!(out, "Compare the fingerprint with what the publisher says in a place of their own.")
}

impl From<TrustStoreError> for Failure {
    fn from(error: TrustStoreError) -> Self {
        let told = match error {
            TrustStoreError::Publisher(_) => Self::usage(error.to_string()),
            TrustStoreError::System { .. } | TrustStoreError::Form { .. } => Self::new(error.to_string()),
        };
        told.hint(error.hint())
    }
}
