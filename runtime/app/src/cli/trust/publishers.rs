//! `acp-runtime trust add|list|remove publisher`: who is believed when they sign plugins.

use std::io::{self, Write as _};
use std::path::Path;

use acp_runtime_host::package::signature::PublicKey;
use acp_runtime_host::publishers::{Moment, TrustStore};
use acp_runtime_host::regular_file;
use jiff::{Timestamp, Unit};
use serde_json::json;

use super::super::arguments::{TrustAdd, TrustRemove};
use super::super::failure::Failure;

/// Bytes of a file with a public key.
const MOST: u64 = 4 << 10;

pub(super) fn add(store: &TrustStore, publisher: TrustAdd) -> Result<(), Failure> {
    let TrustAdd::Publisher { name, key, namespace, until } = publisher;
    let key = key.as_deref().map(public_key).transpose()?;
    let now = Timestamp::now();
    let since = Moment(now.round(Unit::Second).unwrap_or(now));
    store.change(|publishers| publishers.add(&name, key.as_slice(), &namespace, since, until))?;
    let mut out = io::stdout();
    writeln!(out, "trusted the publisher `{name}`")?;
    if let Some(key) = key {
        writeln!(out, "key {} ({})", key.fingerprint(), key.id())?;
    }
    if let Some(until) = until.filter(|until| until.0 < now) {
        writeln!(io::stderr(), "warning: that key has ended ({until}): nothing that it signs is accepted")?;
    }
    Ok(())
}

/// A key that was typed, or the file that has it.
fn public_key(text: &str) -> Result<PublicKey, Failure> {
    let typed = text.parse::<PublicKey>().map_err(|error| error.to_string());
    let key = typed.or_else(|no_key| match regular_file::read_text(Path::new(text), MOST) {
        Ok(read) => read.parse().map_err(|_| no_key),
        // What begins so was meant as a key.
        Err(_) if text.starts_with("RW") => Err(no_key),
        Err(error) => Err(format!("`{text}` is no public key, and no file that can be read: {error}")),
    });
    key.map_err(|problem| Failure::usage(problem).hint("name the key itself, or the file that ends with `.pub`"))
}

pub(super) fn list(store: &TrustStore, json: bool) -> Result<(), Failure> {
    let (publishers, now) = (store.read()?, Timestamp::now());
    let mut out = io::stdout();
    for (name, publisher) in publishers.iter() {
        if json {
            let keys: Vec<_> = publisher
                .keys
                .iter()
                .map(|trusted| {
                    json!({
                        "key": trusted.public,
                        "fingerprint": trusted.public.fingerprint(),
                        "since": trusted.since,
                        "until": trusted.not_after,
                        "expired": trusted.not_after.is_some_and(|until| until.0 < now),
                    })
                })
                .collect();
            writeln!(out, "{}", json!({ "publisher": name, "namespaces": publisher.namespaces, "keys": keys }))?;
            continue;
        }
        writeln!(out, "publisher  {name}  {}", publisher.namespaces.join(" "))?;
        for trusted in &publisher.keys {
            let until = match trusted.not_after {
                Some(until) if until.0 < now => format!("  (ended {until})"),
                Some(until) => format!("  (until {until})"),
                None => String::new(),
            };
            writeln!(out, "  key  {}{until}", trusted.public.fingerprint())?;
        }
    }
    Ok(())
}

pub(super) fn remove(store: &TrustStore, publisher: TrustRemove) -> Result<(), Failure> {
    let TrustRemove::Publisher { name, key } = publisher;
    store.change(|publishers| publishers.remove(&name, key))?;
    match key {
        Some(key) => writeln!(io::stdout(), "forgotten: the key {key} of the publisher `{name}`")?,
        None => writeln!(io::stdout(), "forgotten: the publisher `{name}`")?,
    }
    Ok(())
}
