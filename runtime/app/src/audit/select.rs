//! The decisions of the audit that somebody wants to see.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::chain::{self, Line};
use super::lines::{self, Kept};

/// Which ones; all where nothing is said.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of the sessions whose ids begin so.
    pub session: Option<String>,
    /// Of the plugin with that id, or of those with that name.
    pub plugin: Option<String>,
    /// Of that class of effects.
    pub class: Option<String>,
    /// `allow` or `deny`.
    pub decision: Option<String>,
    /// From then on.
    pub since: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, line: &Map<String, Value>) -> bool {
        let text = |name: &str| line.get(name).and_then(Value::as_str);
        let is = |name: &str, wanted: Option<&String>| wanted.is_none_or(|wanted| text(name) == Some(wanted));
        let names = |id: &str, wanted: &str| id == wanted || id.rsplit(':').next() == Some(wanted);
        let time = || text("time").and_then(|time| time.parse::<Timestamp>().ok());
        text("decision").is_some()
            && is("class", self.class.as_ref())
            && is("decision", self.decision.as_ref())
            && self.session.as_ref().is_none_or(|begin| text("session").is_some_and(|id| id.starts_with(begin)))
            && self.plugin.as_ref().is_none_or(|wanted| text("plugin").is_some_and(|id| names(id, wanted)))
            && self.since.is_none_or(|since| time().is_some_and(|time| time >= since))
    }
}

/// Gives the members of each decision that is wanted, the oldest first. What it gives back is how many lines are not as
/// they were written, or no lines of the audit; they are left out.
pub fn select(
    folder: &Path,
    filter: &Filter,
    mut take: impl FnMut(&Map<String, Value>) -> io::Result<()>,
) -> io::Result<u64> {
    let Kept { files, heads: _ } = lines::kept(folder)?;
    let mut odd = 0;
    for (_, file, length) in files {
        lines::each(file, length, |_, line| match chain::read(line) {
            Line::Chained(line) if line.is_intact => {
                if filter.takes(&line.members) {
                    take(&line.members)
                } else {
                    Ok(())
                }
            }
            Line::Chained(_) | Line::Foreign | Line::Torn => {
                odd += 1;
                Ok(())
            }
        })?;
    }
    Ok(odd)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_filter_narrows() {
        let line = json!({
            "time": "2026-11-30T10:00:00Z", "session": "019a", "origin": "plugin aar:notes", "plugin": "aar:notes",
            "class": "write", "key": "a", "decision": "deny", "by": "mode",
        });
        let takes = |filter: Filter| filter.takes(line.as_object().unwrap());
        let some = |text: &str| Some(text.to_owned());
        assert!(takes(Filter::default()));
        for (wanted, filter) in [
            (true, Filter { session: some("019"), ..Filter::default() }),
            (false, Filter { session: some("19"), ..Filter::default() }),
            (true, Filter { plugin: some("notes"), ..Filter::default() }),
            (true, Filter { plugin: some("aar:notes"), ..Filter::default() }),
            (false, Filter { plugin: some("note"), ..Filter::default() }),
            (true, Filter { class: some("write"), ..Filter::default() }),
            (false, Filter { class: some("writ"), ..Filter::default() }),
            (false, Filter { decision: some("allow"), ..Filter::default() }),
            (true, Filter { since: "2026-11-30T10:00:00Z".parse().ok(), ..Filter::default() }),
            (false, Filter { since: "2026-11-30T10:00:01Z".parse().ok(), ..Filter::default() }),
            (false, Filter { class: some("write"), decision: some("allow"), ..Filter::default() }),
        ] {
            assert_eq!(takes(filter.clone()), wanted, "{filter:?}");
        }
        let end = json!({ "time": "2026-11-30T10:00:00Z", "session": "019a", "decisions": 3 });
        assert!(!Filter::default().takes(end.as_object().unwrap()), "it is no decision");
    }
}
