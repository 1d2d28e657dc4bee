//! Keeps secrets out of what is audited of command lines.

use std::sync::Arc;

use acp_runtime_agent::capability::{CommandLine, Effect};
use acp_runtime_agent::gate::{AuditEntry, AuditSink};

use crate::redaction::Redaction;

/// `sink`, which is told of no secrets in the arguments of programs.
pub fn discreet(sink: Arc<dyn AuditSink>, redaction: &Redaction) -> Arc<dyn AuditSink> {
    Arc::new(DiscreetSink { sink, redaction: redaction.clone() })
}

struct DiscreetSink {
    sink: Arc<dyn AuditSink>,
    redaction: Redaction,
}

impl AuditSink for DiscreetSink {
    fn record(&self, entry: AuditEntry<'_>) {
        let Effect::Run(line) = entry.effect else { return self.sink.record(entry) };
        let clean = |text: &String| self.redaction.clean(text).into_owned();
        let line = CommandLine { program: clean(&line.program), arguments: line.arguments.iter().map(clean).collect() };
        self.sink.record(AuditEntry { effect: &Effect::Run(line), ..entry });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use acp_runtime_agent::gate::Origin;

    use super::*;
    use crate::secret::Secret;

    #[derive(Default)]
    struct Keys(Mutex<Vec<String>>);

    impl AuditSink for Keys {
        fn record(&self, entry: AuditEntry<'_>) {
            self.0.lock().unwrap().push(entry.effect.to_string());
        }
    }

    #[test]
    fn arguments_are_told_without_secrets() {
        let (keys, redaction) = (Arc::new(Keys::default()), Redaction::default());
        redaction.learn(&Secret::new("correct horse"));
        let sink = discreet(keys.clone(), &redaction);
        let arguments = ["--key=sk-0123456789abcdef0123", "correct horse", "plain"].map(str::to_owned).to_vec();
        let run = Effect::Run(CommandLine { program: "git".to_owned(), arguments });
        for effect in [run, Effect::ReadSession] {
            let origin = Origin::Prompt;
            sink.record(AuditEntry { origin: &origin, effect: &effect, allowed: true, by: "policy", times: 1 });
        }
        assert_eq!(*keys.0.lock().unwrap(), ["run `git \"--key=****\" \"****\" plain`", "session"]);
    }
}
