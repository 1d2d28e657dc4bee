//! `acp-runtime models`: what there is to choose from. Asks nobody.

use std::io::{self, Write as _};

use acp_runtime_agent::model::ModelSource as _;
use serde_json::json;

use super::failure::Failure;
use crate::models::{AboutModel, Models, ProviderKey};

/// Lists them, the default marked.
pub(super) fn command(models: &Models, json: bool) -> Result<(), Failure> {
    models.open(models.default_id())?;
    let about = models.about();
    let mut out = io::stdout();
    if json {
        for model in &about {
            writeln!(out, "{}", line(model))?;
        }
        return Ok(());
    }
    let width = about.iter().map(|model| model.id.chars().count()).max().unwrap_or_default();
    for model in &about {
        let mark = if model.is_default { '*' } else { ' ' };
        let told = [wire(model), window(model), price(model), key(model)].into_iter().flatten().collect::<Vec<_>>();
        writeln!(out, "{}", format!("{mark} {:width$}  {}", model.id, told.join(", ")).trim_end())?;
    }
    // Who reads the list alone has `--help`.
    let _ = writeln!(io::stderr(), "{}", models.others());
    Ok(())
}

fn line(model: &AboutModel) -> serde_json::Value {
    let price = model.price.as_ref().map(|price| {
        json!({ "input": price.input, "cached": price.cached, "output": price.output, "currency": &*price.currency })
    });
    let key = model.key.as_ref();
    json!({
        "id": model.id,
        "default": model.is_default,
        "wire": model.wire,
        "context_window": model.context_window,
        "price": price,
        "provider": key.map(|key| &key.provider),
        "needs_key": key.is_some_and(|key| key.needed),
        "key": key.and_then(|key| key.from.as_ref()),
    })
}

fn wire(model: &AboutModel) -> Option<String> {
    Some(model.wire?.id().to_owned())
}

fn window(model: &AboutModel) -> Option<String> {
    Some(format!("{} tokens", model.context_window?))
}

fn price(model: &AboutModel) -> Option<String> {
    let price = model.price.as_ref()?;
    Some(format!("{} in and {} out {} a million", price.input, price.output, price.currency))
}

fn key(model: &AboutModel) -> Option<String> {
    match model.key.as_ref()? {
        ProviderKey { from: Some(from), .. } => Some(format!("key from {from}")),
        ProviderKey { needed: true, .. } => Some("no key yet".to_owned()),
        ProviderKey { .. } => Some("no key needed".to_owned()),
    }
}
