//! `acp-runtime audit`: what was decided, and whether that is what was written.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use acp_runtime_agent::noun::counted;
use acp_runtime_agent::plain;
use serde_json::{Map, Value, json};

use super::arguments::AuditCommand;
use super::exit::{DONE, FAILED};
use super::failure::Failure;
use crate::audit::{Filter, Finding, Report, select, verify};

pub(super) fn command(command: AuditCommand, folder: &Path) -> Result<ExitCode, Failure> {
    match command {
        AuditCommand::Show { session, plugin, class, decision, since, json } => {
            show(folder, &Filter { session, plugin, class, decision, since }, json)
        }
        AuditCommand::Verify { head, json } => {
            let report = verify(folder, head).map_err(|error| unreadable(folder, &error))?;
            tell(&report, folder, json)?;
            Ok(ExitCode::from(if report.is_whole() { DONE } else { FAILED }))
        }
    }
}

fn unreadable(folder: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("the audit in `{}` cannot be read: {error}", folder.display()))
        .hint("check the permissions of the folder and its files")
}

fn show(folder: &Path, filter: &Filter, json: bool) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    // What cannot be written is told apart from what cannot be read.
    let mut unwritten = None;
    let shown = select(folder, filter, |line| {
        let told =
            if json { writeln!(out, "{}", Value::Object(line.clone())) } else { writeln!(out, "{}", text(line)) };
        told.inspect_err(|error| unwritten = Some(io::Error::from(error.kind())))
    });
    if let Some(error) = unwritten {
        return Err(error.into());
    }
    let odd = shown.map_err(|error| unreadable(folder, &error))?;
    if odd > 0 {
        let (what, verb) = (counted(odd, "line"), if odd == 1 { "is" } else { "are" });
        let warning = format!("warning: {what} {verb} left out, since {verb} not as written");
        writeln!(io::stderr(), "{warning}\nhint: see `acp-runtime audit verify`")?;
    }
    Ok(ExitCode::from(DONE))
}

/// A decision in one line, whatever its key is made of.
fn text(line: &Map<String, Value>) -> String {
    let of = |name: &str| line.get(name).and_then(Value::as_str).map(plain::name).unwrap_or_default();
    let times = line.get("times").and_then(Value::as_u64).map_or(String::new(), |times| format!(" ({times} times)"));
    let key = Some(of("key")).filter(|key| !key.is_empty()).map_or(String::new(), |key| format!(" `{key}`"));
    let (time, decision, by, class) = (of("time"), of("decision"), of("by"), of("class"));
    let scope = Some(of("scope")).filter(|scope| !scope.is_empty()).map_or(String::new(), |it| format!(" ({it})"));
    let line =
        format!("{time}  {decision:5}  {by:10}  {class}{key}{times}{scope}  {}  {}", of("origin"), of("session"));
    line.trim_end().to_owned()
}

fn tell(report: &Report, folder: &Path, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    for finding in &report.findings {
        if json {
            writeln!(out, "{}", serde_json::to_string(finding)?)?;
        } else {
            writeln!(out, "{}", found(finding))?;
        }
    }
    if json {
        let head = report.head.map(|(seq, hash)| json!({ "seq": seq, "hash": hash }));
        let whole = json!({
            "whole": report.is_whole(),
            "files": report.files,
            "lines": report.lines,
            "since": report.since,
            "head": head,
            "has_head": report.has_head,
        });
        return Ok(writeln!(out, "{whole}")?);
    }
    if report.has_head == Some(false) {
        writeln!(out, "broken  the line with the hash that was named is not there as it was written")?;
    }
    let Some((seq, hash)) = report.head else {
        return Ok(writeln!(out, "{}", if report.is_whole() { "nothing was decided yet" } else { "nothing is left" })?);
    };
    let (lines, files) = (counted(report.lines, "line"), counted(report.files, "file"));
    let since = report.since.as_deref().map_or(String::new(), |since| format!(", since {}", plain::name(since)));
    let what = if report.is_whole() { "ok" } else { "broken" };
    writeln!(out, "{what:6}  {lines} in {files}{since}: `{}`", folder.display())?;
    writeln!(out, "head    {hash} (line {seq} of the chain)")?;
    if report.is_whole() && io::stderr().is_terminal() {
        // Who reads the output by a program has the help.
        writeln!(
            io::stderr(),
            "Keep the head elsewhere: `acp-runtime audit verify --head {hash}` looks for it later."
        )?;
    }
    Ok(())
}

fn found(finding: &Finding) -> String {
    let Finding { file, line, problem, is_broken } = finding;
    let place = line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
    format!("{}  {place}: {problem}", if *is_broken { "broken" } else { "odd   " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_one_line() {
        let line = json!({
            "time": "T", "session": "s1", "origin": "plugin a:b", "class": "write", "key": "a\nb\u{202e}",
            "decision": "deny", "by": "mode", "times": 3,
        });
        let shown = text(line.as_object().unwrap());
        assert_eq!(shown, "T  deny   mode        write `a\\nb\\u{202e}` (3 times)  plugin a:b  s1");
        let line =
            json!({ "time": "T", "session": "s", "class": "prompt", "key": "", "decision": "allow", "by": "policy" });
        assert_eq!(text(line.as_object().unwrap()), "T  allow  policy      prompt    s");
    }
}
