//! Hosts of the network, and what can be told of a secret.

use std::io::{Error, Result, Write as _};

use acp_plugin::http::Request;
use acp_plugin::kv::{self, Scope};
use acp_plugin::{log, plan, progress};

pub(crate) fn request(request: Request, secret: &str) -> Result<String> {
    let request = if secret.is_empty() { request } else { request.secret(secret) };
    let answer = request.send().map_err(Error::other)?;
    let headers: Vec<String> =
        answer.headers().iter().map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value))).collect();
    let (status, url) = (answer.status(), answer.url());
    let body = answer.text().map_err(Error::other)?;
    Ok(format!("{status} {url} {} {body}", headers.join(" ")))
}

/// Logs it, shows it, plans it, keeps it, writes it, and answers what was kept and the thing itself.
pub(crate) fn tell(text: &str) -> Result<String> {
    let text = backwards(text);
    log::info(format_args!("logged {text}"));
    writeln!(std::io::stdout(), "printed {text}")?;
    progress::emit(None, &format!("progress {text}"));
    plan::set([plan::Entry::new(format!("planned {text}"))]).map_err(Error::other)?;
    kv::set(Scope::User, "told", text.as_bytes(), None).map_err(Error::other)?;
    let kept = kv::get(Scope::User, "told").map_err(Error::other)?.map(|entry| entry.value).unwrap_or_default();
    Ok(format!("said {text}, kept {}", String::from_utf8_lossy(&kept)))
}

pub(crate) fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}
