//! `aar:host/secrets`: whether a secret of the plugin's can be sent. What it is nobody asks here.

use acp_runtime_agent::capability::{Effect, SecretRight};
use acp_runtime_agent::plain;

use crate::secrets::SecretDesk;
use crate::state::{Call, HostError};

/// Whether the secret is kept. The gate is asked as if it were sent.
pub(crate) async fn available(call: &mut Call, handle: &str) -> Result<bool, HostError> {
    let desk = call.desks.secrets.clone();
    let right = declared(&desk, handle)?;
    call.authorize(vec![Effect::UseSecret(right.name.clone())]).await?;
    desk.is_kept(right).await.map_err(|why| HostError::new("std:internal", why))
}

/// The right to the secret that the guest calls `handle`.
pub(super) fn declared<'a>(desk: &'a SecretDesk, handle: &str) -> Result<&'a SecretRight, HostError> {
    desk.right(handle).ok_or_else(|| {
        let handle = plain::line(handle, 80);
        HostError::denied(format!("secret `{handle}`: the plugin's manifest does not ask for it"))
    })
}
