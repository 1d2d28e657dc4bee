//! A version that waits is used from now on, since somebody has seen what it asks for and agrees to that.
//!
//! It may have waited for long. Whoever stood for it when it came must stand for it now as well: with a key that is trusted
//! still, in a namespace that is theirs still. Knows nothing about terminals and registries. Tested over the binary in
//! `tests/it/distribution`.

use acp_runtime_agent::capability::PluginId;
use jiff::Timestamp;
use semver::Version;

use crate::difference;
use crate::install::Predecessor;
use crate::package::signature::{Minisign, Signed};
use crate::package::{Digest, Installed, Package, PackageStore, StoreError};
use crate::publishers::{Standing, TrustStore, TrustStoreError};

/// Why a version is not approved.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// What is kept, or that it is not what was agreed to.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// Whom the person trusts.
    #[error(transparent)]
    Trust(#[from] TrustStoreError),
    /// Nobody stands for it any more who did when it came.
    #[error("`{id}` {version} is not approved: {why}")]
    Forsaken {
        /// The plugin.
        id: PluginId,
        /// The version that waits.
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
/// asks for and was not refused before is granted.
pub fn approve(
    store: &PackageStore,
    trust: &TrustStore,
    id: &PluginId,
    terms: Digest,
) -> Result<Installed, ApprovalError> {
    let kept = store.kept()?.remove(id).ok_or_else(|| StoreError::NotInstalled { id: id.clone() })?;
    let nothing = || StoreError::NothingWaits { id: id.clone() };
    let waiting = kept.waiting.ok_or_else(nothing)?;
    let package = store.package(&waiting).map_err(|_| nothing())?;
    let offered = difference::terms(package.manifest());
    if offered != terms {
        return Err(StoreError::OtherTerms { id: id.clone(), version: waiting.version, offered }.into());
    }
    if let Some(publisher) = &waiting.publisher {
        stands(store, trust, &waiting, publisher, &package)?;
    }
    let granted = Predecessor::of(store, kept.active).carried(package.manifest(), true);
    Ok(store.approve(id, waiting.digest, granted.iter().map(ToString::to_string).collect())?)
}

/// Whether that publisher, who stood for a version when it came, does so now.
fn stands(
    store: &PackageStore,
    trust: &TrustStore,
    waiting: &Installed,
    publisher: &str,
    package: &Package,
) -> Result<(), ApprovalError> {
    let manifest = package.manifest();
    let forsaken = |why: String, hint: String| ApprovalError::Forsaken {
        id: manifest.id.clone(),
        version: waiting.version.clone(),
        why,
        hint,
    };
    let again = || format!("`acp-runtime plugin update {}` looks for it again", manifest.id);
    let signature = store.signature(waiting)?.ok_or_else(|| forsaken("its signature is gone".to_owned(), again()))?;
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
