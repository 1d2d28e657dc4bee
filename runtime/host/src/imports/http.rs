//! `aar:host/http`: requests to the hosts that the plugin was granted, with the secrets that the host puts into them.

use std::time::Duration;

use acp_runtime_agent::capability::{Effect, SecretRight};
use bytes::Bytes;

use super::secrets::declared;
use crate::egress::{Body, EgressError, Gatekeeper as _, Manner, Request, Target};
use crate::state::{Call, HostError};

/// A request as the guest gives it.
pub(crate) struct GuestRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// Handles.
    pub(crate) secrets: Vec<String>,
    pub(crate) follows: bool,
    pub(crate) time: Option<Duration>,
}

/// A response as the guest reads it.
pub struct GuestResponse {
    pub(crate) status: u16,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    body: Body,
    /// What has come of the body and was not read.
    rest: Bytes,
}

/// Sends it and waits for the head of the response.
pub(crate) async fn send(call: &mut Call, request: GuestRequest) -> Result<GuestResponse, HostError> {
    let sent = send_with(call, request).await;
    sent.map_err(|error| HostError { message: call.clean(error.message), ..error })
}

async fn send_with(call: &mut Call, request: GuestRequest) -> Result<GuestResponse, HostError> {
    let GuestRequest { method, url, headers, body, secrets, follows, time } = request;
    let desk = call.desks.net.clone();
    call.refuse_secrets([&url], "the address")?;
    call.refuse_secrets([&body], "the body")?;
    call.refuse_secrets(headers.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_slice()]), "a header")?;
    let mut sent = Request::get(Target::parse(&url)?).with_method(&method)?;
    for (name, value) in &headers {
        sent = sent.with_header(name, value, desk.limits())?;
    }
    sent = sent.with_body(body, desk.limits())?;
    let desks = call.desks.clone();
    let mut rights: Vec<&SecretRight> = Vec::with_capacity(secrets.len());
    for handle in &secrets {
        rights.push(declared(&desks.secrets, handle)?);
    }
    let mut effects = vec![sent.target().effect()];
    effects.extend(rights.iter().map(|right| Effect::UseSecret(right.name.clone())));
    let keeper = call.keeper()?;
    let permit = call.authorize(effects).await?;
    let mut unsent = None;
    for right in &rights {
        let bad = |(rule, why)| EgressError::Secret { name: right.name.handle().to_owned(), rule, why };
        let lent = desks.secrets.lend(right).await.map_err(bad);
        sent = match lent.and_then(|secret| sent.clone().with_secret(right, secret)) {
            Ok(laden) => laden,
            Err(error) => {
                unsent = Some(error);
                break;
            }
        };
    }
    let answered = match unsent {
        Some(error) => Err(error),
        None => desk.send(&keeper, Some(&permit), sent, Manner { follows, time }).await,
    };
    if let Err(error @ EgressError::Secret { name, rule, .. }) = &answered {
        // People look for the reason where the plugin's log is, and in the audit.
        call.log.line("warn", "secrets", &error.to_string());
        if let Some(right) = rights.iter().find(|right| right.name.handle() == name) {
            keeper.undone(&Effect::UseSecret(right.name.clone()), rule);
        }
    }
    let response = answered?;
    let headers = response.headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
    Ok(GuestResponse {
        status: response.status,
        url: call.clean(response.target.as_str().to_owned()),
        headers: headers.collect(),
        body: response.body,
        rest: Bytes::new(),
    })
}

/// The next piece of the body, at most `most` bytes and at most so many as cross at once; empty at the end.
pub(crate) async fn read(call: &Call, response: &mut GuestResponse, most: u32) -> Result<Vec<u8>, HostError> {
    if response.rest.is_empty() {
        let next = response.body.next().await.map_err(HostError::from);
        let next = next.map_err(|error| HostError { message: call.clean(error.message), ..error })?;
        response.rest = next.unwrap_or_default();
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(call.crossing).max(1);
    let piece = response.rest.split_to(most.min(response.rest.len()));
    Ok(piece.into())
}
