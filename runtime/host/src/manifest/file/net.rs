//! The rights `net` and `secrets`.

use std::collections::HashSet;

use acp_runtime_agent::capability::{Grant, HostPattern, PluginId, SecretName, SecretPlace, SecretRight};
use http::HeaderName;

use super::super::{Capability, ManifestError, at_most};
use super::{Hosts, SecretUse, required};
use crate::egress::may_be_sent;

/// Characters that may stand before a secret.
const PREFIX: usize = 40;

pub(super) fn hosts(written: Vec<Hosts>) -> Result<Vec<Capability>, ManifestError> {
    at_most("capabilities.net", written.len(), 64)?;
    let right = |Hosts { host, reason }: Hosts| {
        let grant = Grant::Net(pattern("capabilities.net", &host)?);
        Ok(Capability { grant, reason: required("capabilities.net.reason", &reason, 200)?, preopen: false })
    };
    written.into_iter().map(right).collect()
}

pub(super) fn secrets(written: Vec<SecretUse>, plugin: &PluginId) -> Result<Vec<Capability>, ManifestError> {
    at_most("capabilities.secrets", written.len(), 16)?;
    let mut names = HashSet::new();
    let mut rights = Vec::with_capacity(written.len());
    for SecretUse { name, audience, header, prefix, query, reason } in written {
        let bad = |key: &str, problem: String| ManifestError::value(format!("capabilities.secrets.{key}"), problem);
        let place = place(header, prefix, query).map_err(|(key, problem)| bad(key, problem))?;
        let secret = SecretName::of_plugin(plugin, &name).map_err(|error| bad("name", error.to_string()))?;
        if !names.insert(secret.clone()) {
            return Err(bad("name", format!("`{name}` is there twice: each secret has one audience and one place")));
        }
        let audience = pattern("capabilities.secrets.audience", &audience)?;
        if audience.request().is_none() || !(audience.is_https() || audience.is_local()) {
            let problem = format!("`{audience}` is not one host that is spoken with by https");
            return Err(bad("audience", problem));
        }
        let grant = Grant::Secret(SecretRight { name: secret, audience, place });
        let reason = required("capabilities.secrets.reason", &reason, 200)?;
        rights.push(Capability { grant, reason, preopen: false });
    }
    Ok(rights)
}

type Problem = (&'static str, String);

fn place(header: Option<String>, prefix: Option<String>, query: Option<String>) -> Result<SecretPlace, Problem> {
    match (header, query) {
        (Some(header), None) => {
            let name = HeaderName::from_bytes(header.as_bytes()).ok().filter(may_be_sent);
            let name = name.ok_or_else(|| ("header", format!("`{header}` is not a header that a plugin sends")))?;
            let prefix = prefix.unwrap_or_default();
            if prefix.len() > PREFIX || !prefix.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
                return Err(("prefix", format!("must be at most {PREFIX} printable ASCII characters")));
            }
            Ok(SecretPlace::Header { name: name.as_str().to_owned(), prefix })
        }
        (None, Some(query)) if prefix.is_none() && is_word(&query) => Ok(SecretPlace::Query(query)),
        (None, Some(query)) => {
            Err(("query", format!("`{query}` is not a name of 1 to 64 letters, digits, `_` and `-`")))
        }
        (Some(_), Some(_)) | (None, None) => {
            Err(("header", "a secret has one place: either `header` or `query`".to_owned()))
        }
    }
}

fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn pattern(field: &str, text: &str) -> Result<HostPattern, ManifestError> {
    HostPattern::parse(text).map_err(|error| ManifestError::value(field, error.to_string()))
}
