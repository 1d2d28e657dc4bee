//! A version that is kept is used from now on: one that waits, since somebody has seen what it asks for and agrees to that,
//! or the one before, which was approved once.
//!
//! It may be here for long. Whoever stood for it when it came must stand for it now as well: with a key that is trusted
//! still, in a namespace that is theirs still. Knows nothing about terminals and registries. Tested over the binary in
//! `tests/it/distribution`.

use acp_runtime_agent::capability::PluginId;
use jiff::Timestamp;
use semver::Version;

use crate::difference;
use crate::install::Predecessor;
use crate::package::signature::{Minisign, Signed};
use crate::package::{Digest, Installed, Kept, Package, PackageError, PackageStore, StoreError};
use crate::publishers::{Standing, TrustStore, TrustStoreError};

/// Why a version that is kept is not used.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// What is kept, or that it is not what was agreed to.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// Whom the person trusts.
    #[error(transparent)]
    Trust(#[from] TrustStoreError),
    /// Nobody stands for it any more who did when it came.
    #[error("`{id}` {version} is not used: {why}")]
    Forsaken {
        /// The plugin.
        id: PluginId,
        /// The version that is kept.
        version: Version,
        /// A part of a sentence.
        why: String,
        /// What to do about it.
        hint: String,
    },
}

impl From<StoreError> for ApprovalError {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}

impl ApprovalError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Store(error) => error.hint().to_owned(),
            Self::Trust(error) => error.hint().to_owned(),
            Self::Forsaken { hint, .. } => hint.clone(),
        }
    }
}

/// Uses the version of a plugin that waits, if its terms are these and its publisher is trusted at this moment: all that it
/// asks for and was not refused before is granted. One that nobody has signed is used only where `must_be_signed` does not
/// say otherwise by now.
pub fn approve(
    store: &PackageStore,
    trust: &TrustStore,
    id: &PluginId,
    terms: Digest,
    must_be_signed: impl FnOnce(&Installed) -> bool,
) -> Result<Installed, ApprovalError> {
    let kept = kept(store, id)?;
    let nothing = || StoreError::NothingWaits { id: id.clone() };
    let waiting = kept.waiting.ok_or_else(nothing)?;
    let package = store.package(&waiting).map_err(|_| nothing())?;
    let offered = difference::terms(package.manifest());
    if offered != terms {
        return Err(StoreError::OtherTerms { id: id.clone(), version: waiting.version, offered }.into());
    }
    match &waiting.publisher {
        Some(publisher) => {
            let again = format!("`acp-runtime plugin update {id}` looks for it again");
            stands(store, trust, &waiting, publisher, &package, &again)?;
        }
        None if must_be_signed(&waiting) => {
            let why = "nobody has signed it, and that is required of what comes from there".to_owned();
            let (source, digest) = (&waiting.source, waiting.digest);
            let hint =
                format!("once you have looked at it: `acp-runtime plugin install {source} --allow-unsigned {digest}`");
            return Err(ApprovalError::Forsaken { id: id.clone(), version: waiting.version, why, hint });
        }
        None => {}
    }
    let granted = Predecessor::of(store, kept.active).carried(package.manifest(), true);
    Ok(store.approve(id, waiting.digest, granted.iter().map(ToString::to_string).collect())?)
}

/// Uses the version before, with the rights that it had, if its publisher is trusted at this moment.
pub fn roll_back(store: &PackageStore, trust: &TrustStore, id: &PluginId) -> Result<Installed, ApprovalError> {
    let previous = kept(store, id)?.previous.ok_or_else(|| StoreError::NothingBefore { id: id.clone() })?;
    let again = format!("to install it anew: `acp-runtime plugin install {} --allow-downgrade`", previous.source);
    let unreadable = |error: PackageError| ApprovalError::Forsaken {
        id: id.clone(),
        version: previous.version.clone(),
        why: error.to_string(),
        hint: again.clone(),
    };
    let package = store.package(&previous).map_err(unreadable)?;
    if let Some(publisher) = &previous.publisher {
        stands(store, trust, &previous, publisher, &package, &again)?;
    }
    Ok(store.roll_back(id, previous.digest)?)
}

fn kept(store: &PackageStore, id: &PluginId) -> Result<Kept, StoreError> {
    store.kept()?.remove(id).ok_or_else(|| StoreError::NotInstalled { id: id.clone() })
}

/// Whether that publisher, who stood for a version when it came, does so now. `again` says how it is got once more.
fn stands(
    store: &PackageStore,
    trust: &TrustStore,
    version: &Installed,
    publisher: &str,
    package: &Package,
    again: &str,
) -> Result<(), ApprovalError> {
    let manifest = package.manifest();
    let forsaken = |why: String, hint: String| ApprovalError::Forsaken {
        id: manifest.id.clone(),
        version: version.version.clone(),
        why,
        hint,
    };
    let again = || again.to_owned();
    let signature = store.signature(version)?.ok_or_else(|| forsaken("its signature is gone".to_owned(), again()))?;
    let (bytes, _) = package.bytes().map_err(|error| forsaken(error.to_string(), again()))?;
    let signed = Signed { bytes: &bytes, id: &manifest.id, version: &manifest.version };
    let standing = trust.read()?.judge(&Minisign, &[signature], signed, Timestamp::now());
    let no_more = |key: &dyn std::fmt::Display| {
        let hint =
            format!("if they are to be trusted all the same: `acp-runtime trust add publisher {publisher} --key …`");
        forsaken(format!("its publisher `{publisher}` is not trusted any more ({key})"), hint)
    };
    match standing {
        Ok(Standing::Trusted { publisher: by, .. }) if by == publisher => Ok(()),
        Ok(Standing::Trusted { publisher: by, .. }) => {
            Err(forsaken(format!("it came as one of `{publisher}`, and its key is one of `{by}` by now"), again()))
        }
        Ok(Standing::New { key, .. }) => Err(no_more(&key.fingerprint())),
        Ok(Standing::Stranger { key }) => Err(no_more(&key)),
        Ok(Standing::Unsigned { .. }) => Err(forsaken("its signature is gone".to_owned(), again())),
        Err(distrust) => Err(forsaken(distrust.to_string(), distrust.hint())),
    }
}
