//! The keys of the models, for clients that log in and out.

use std::sync::Arc;

use acp_runtime_agent::model::ModelError;

use crate::acp::{self, Access};
use crate::models::Models;
use crate::secrets::SecretStore;

pub(super) struct Accounts {
    models: Arc<Models>,
    secrets: SecretStore,
}

impl Accounts {
    pub(super) fn new(models: Arc<Models>, secrets: SecretStore) -> Self {
        Self { models, secrets }
    }
}

impl acp::Accounts for Accounts {
    fn access(&self) -> Result<Access, ModelError> {
        let id = self.models.default_id();
        if let Some(missing) = self.models.missing_key(id) {
            return Err(missing);
        }
        let keyed = self.models.key(id).filter(|key| key.from.is_some());
        Ok(keyed.map_or(Access::Free, |key| Access::Keyed { provider: key.provider }))
    }

    fn forget(&self) -> Result<(), String> {
        let keys = self.models.keys().into_iter().chain(self.models.vendor_keys());
        for name in keys.filter_map(|key| key.kept) {
            self.secrets.remove(&name.into()).map_err(|error| format!("{error}; {}", error.hint()))?;
        }
        Ok(())
    }
}
