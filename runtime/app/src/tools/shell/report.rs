//! What the model and the client are told of a command that ran.

use acp_runtime_agent::plain::{ends, screen};
use acp_runtime_agent::terminal::{Ending, Ran, ShellCommand};
use acp_runtime_agent::transcript::{TerminalExit, ToolContent, ToolOutcome};
use serde_json::json;

/// Bytes for what is said beside the output.
const AROUND: usize = 512;

/// What programs say when the kernel keeps them from writing.
const REFUSALS: [&str; 3] = ["Permission denied", "permission denied", "EACCES"];

/// Why that may be.
const CONTAINED: &str = "\n[commands may write only in the session's folders, in the temporary folder, and where the user's \
                         `shell.writable` says: if it tried to write elsewhere, that is why]";

/// Bytes that an output may have over what is kept: a note stands in it where something was left out already.
const NOTE: usize = 128;

/// Bytes of output that fit into `limit` bytes of text.
pub(super) fn room(limit: usize) -> usize {
    limit.saturating_sub(AROUND).max(limit / 2)
}

pub(super) fn outcome(ran: Ran, command: &ShellCommand) -> ToolOutcome {
    let Ran { ending, output, cut, shown_in, contained } = ran;
    let shown = screen(&output);
    let shown = shown.trim_end();
    let short = ends(shown, command.keep + NOTE);
    let shortened = short.is_some();
    let mut text = short.unwrap_or_else(|| if shown.is_empty() { "(no output)" } else { shown }.to_owned());
    // Where it ran here, a note stands in its place.
    if cut && !shortened && shown_in.is_some() {
        text.push_str("\n[some of the output is missing]");
    }
    text.push('\n');
    text.push_str(&said(&ending, command));
    if contained && ending != Ending::Exited(0) && REFUSALS.iter().any(|refusal| shown.contains(refusal)) {
        text.push_str(CONTAINED);
    }
    let (code, signal) = match &ending {
        Ending::Exited(code) => (Some(*code), None),
        Ending::Killed(signal) => (None, Some(signal.clone())),
        Ending::TimedOut | Ending::Cancelled | Ending::Unknown => (None, None),
    };
    let structured = json!({
        "exit_code": code,
        "signal": signal,
        "timed_out": ending == Ending::TimedOut,
        "cancelled": ending == Ending::Cancelled,
        "truncated": cut || shortened,
    });
    let exit = Some(TerminalExit { code, signal });
    ToolOutcome {
        content: vec![ToolContent::Terminal { terminal: shown_in, output: text, exit }],
        structured: Some(structured),
        failed: ending != Ending::Exited(0),
        ..ToolOutcome::default()
    }
}

fn said(ending: &Ending, command: &ShellCommand) -> String {
    match ending {
        Ending::Exited(code) => format!("[exit code {code}]"),
        Ending::Killed(signal) => format!("[killed by {signal}]"),
        Ending::TimedOut => {
            let seconds = command.timeout.as_secs_f64();
            format!("[killed, since it took longer than {seconds} s: give a longer `timeout`, or run less at once]")
        }
        Ending::Cancelled => "[killed, since the turn was stopped]".to_owned(),
        Ending::Unknown => "[it ended, and the editor did not say how]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use acp_runtime_agent::capability::{RootId, WorkspacePath};
    use serde_json::Value;

    use super::*;

    fn command(keep: usize) -> ShellCommand {
        ShellCommand {
            line: "x".to_owned(),
            folder: WorkspacePath::root_of(RootId(0)),
            variables: BTreeMap::new(),
            timeout: Duration::from_millis(1500),
            keep,
        }
    }

    fn told(ending: Ending, output: &str, cut: bool, keep: usize) -> (String, Value, bool) {
        let shown_in = Some("terminal-1".to_owned());
        let ran = Ran { ending, output: output.to_owned(), cut, shown_in, contained: false };
        let outcome = outcome(ran, &command(keep));
        (outcome.for_model(), outcome.structured.unwrap(), outcome.failed)
    }

    #[test]
    fn the_end_of_a_command_is_told() {
        for (ending, said, code, signal, failed) in [
            (Ending::Exited(0), "a\n[exit code 0]", json!(0), Value::Null, false),
            (Ending::Exited(3), "a\n[exit code 3]", json!(3), Value::Null, true),
            (Ending::Killed("SIGSEGV".to_owned()), "a\n[killed by SIGSEGV]", Value::Null, json!("SIGSEGV"), true),
            (
                Ending::TimedOut,
                "a\n[killed, since it took longer than 1.5 s: give a longer `timeout`, or run less at once]",
                Value::Null,
                Value::Null,
                true,
            ),
            (Ending::Cancelled, "a\n[killed, since the turn was stopped]", Value::Null, Value::Null, true),
            (Ending::Unknown, "a\n[it ended, and the editor did not say how]", Value::Null, Value::Null, true),
        ] {
            let (timed_out, cancelled) = (ending == Ending::TimedOut, ending == Ending::Cancelled);
            let (text, structured, is_failed) = told(ending, "a\n\n", false, 100);
            assert_eq!((text.as_str(), is_failed), (said, failed));
            let expected = json!({ "exit_code": code, "signal": signal, "timed_out": timed_out,
                                   "cancelled": cancelled, "truncated": false });
            assert_eq!(structured, expected);
        }
    }

    #[test]
    fn a_contained_command_that_was_refused_is_told_why() {
        let said = |contained, code, output: &str| {
            let output = output.to_owned();
            let ran = Ran { ending: Ending::Exited(code), output, cut: false, shown_in: None, contained };
            outcome(ran, &command(1000)).for_model()
        };
        let refused = "sh: 1: cannot create /etc/x: Permission denied";
        assert_eq!(said(true, 2, refused), format!("{refused}\n[exit code 2]{CONTAINED}"));
        for (contained, code, output) in [(false, 2, refused), (true, 0, refused), (true, 2, "not found")] {
            assert!(!said(contained, code, output).contains("may write only"));
        }
    }

    #[test]
    fn of_a_long_output_the_ends_are_told() {
        let exited = || Ending::Exited(0);
        let (text, structured, _) = told(exited(), &"x".repeat(1000), false, 72);
        let half = "x".repeat(100);
        assert_eq!(text, format!("{half}\n[cut: 800 of 1000 bytes left out]\n{half}\n[exit code 0]"));
        assert_eq!(structured["truncated"], true);
        let (text, structured, _) = told(exited(), "abc", true, 100);
        assert_eq!(text, "abc\n[some of the output is missing]\n[exit code 0]");
        assert_eq!(structured["truncated"], true);
        assert_eq!(told(exited(), "", false, 100).0, "(no output)\n[exit code 0]");
    }

    #[test]
    fn there_is_room_for_more_than_the_output() {
        for limit in [0, 1, 100, 600, 1024, 65536] {
            assert!(room(limit) <= limit && room(limit) >= limit / 2, "{limit}");
        }
        assert_eq!(room(65536), 65536 - AROUND);
    }
}
