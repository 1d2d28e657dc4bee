//! One line of the audit, and how it hangs on the one before it.
//!
//! A line is a JSON object that begins with `seq`, its number since the first one, and ends with `prev`, the hash of the
//! line before it (null of the first one), and `hash`, the SHA-256 of the line without that last member. So a line that
//! is changed does not fit its own hash, and one that is taken out, put in or moved does not fit its neighbours'. Knows
//! nothing about files. Tested by tables.

use acp_runtime_host::package::Digest;
use serde::Serialize;
use serde_json::{Map, Value};

/// What stands before the hash of a line.
const HASH: &str = ",\"hash\":\"";
/// What stands behind it.
const END: &str = "\"}";

/// A place in the chain: that of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// Lines since the first one, which is 1.
    pub(super) seq: u64,
    /// The line's hash.
    pub(super) hash: Digest,
}

/// A line with the record `record` behind `before`, and its place. None where the record has no JSON form.
pub(super) fn sealed(before: Option<Link>, record: &impl Serialize) -> Option<(String, Link)> {
    #[derive(Serialize)]
    struct Line<'a, R> {
        seq: u64,
        #[serde(flatten)]
        record: &'a R,
        prev: Option<Digest>,
    }
    let seq = before.map_or(0, |before| before.seq) + 1;
    let body = serde_json::to_string(&Line { seq, record, prev: before.map(|before| before.hash) }).ok()?;
    let hash = Digest::of(body.as_bytes());
    let open = body.strip_suffix('}')?;
    Some((format!("{open}{HASH}{hash}{END}"), Link { seq, hash }))
}

/// What a line is.
#[derive(Debug)]
pub(super) enum Line {
    /// One of a chain.
    Chained(Chained),
    /// JSON, but without a place in a chain.
    Foreign,
    /// No JSON: the beginning of a line, or nothing of ours.
    Torn,
}

/// A line of a chain.
#[derive(Debug)]
pub(super) struct Chained {
    /// Its place, as it says itself.
    pub(super) link: Link,
    /// The hash of the line before it.
    pub(super) prev: Option<Digest>,
    /// Whether it is as it was written.
    pub(super) is_intact: bool,
    /// All its members but `hash`.
    pub(super) members: Map<String, Value>,
}

/// Reads a line, without its end.
pub(super) fn read(line: &str) -> Line {
    match chained(line) {
        Some(chained) => Line::Chained(chained),
        None if serde_json::from_str::<Value>(line).is_ok() => Line::Foreign,
        None => Line::Torn,
    }
}

fn chained(line: &str) -> Option<Chained> {
    let (open, hash) = line.strip_suffix(END)?.rsplit_once(HASH)?;
    let hash: Digest = hash.parse().ok()?;
    let body = format!("{open}}}");
    let members: Map<String, Value> = serde_json::from_str(&body).ok()?;
    let prev = match members.get("prev")? {
        Value::Null => None,
        prev => Some(prev.as_str()?.parse().ok()?),
    };
    let link = Link { seq: members.get("seq")?.as_u64()?, hash };
    Some(Chained { link, prev, is_intact: Digest::of(body.as_bytes()) == hash, members })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_hangs_on_the_one_before_it() {
        let (first, link) = sealed(None, &json!({ "key": "a\",\"hash\":\"b" })).unwrap();
        let (second, _) = sealed(Some(link), &json!({ "key": "c" })).unwrap();
        assert!(first.starts_with(r#"{"seq":1,"key":"#) && !second.contains('\n'), "{first} {second}");
        let (Line::Chained(first), Line::Chained(second)) = (read(&first), read(&second)) else { panic!("both are") };
        assert!(first.is_intact && second.is_intact);
        assert_eq!((first.link, first.prev, second.prev), (link, None, Some(link.hash)));
        assert_eq!((second.link.seq, &second.members["key"]), (2, &json!("c")));
    }

    #[test]
    fn what_is_changed_does_not_fit_its_hash() {
        let (line, link) = sealed(None, &json!({ "decision": "deny" })).unwrap();
        let Line::Chained(changed) = read(&line.replace("deny", "allow")) else { panic!("it has a place") };
        assert!(!changed.is_intact && changed.link == link);
        assert!(matches!(read("{\"time\":1}"), Line::Foreign));
        assert!(matches!(read(&line[..line.len() - 1]), Line::Torn));
        assert!(matches!(read(""), Line::Torn));
    }
}
