//! Whether the audit is what was written, as far as that can be known from what there is.
//!
//! Found is what was changed, taken out, put in, moved or cut off without the hashes being made anew. Whoever can write
//! the files can make them anew from some line on: then only a head that is kept elsewhere tells. Tested beside the code
//! and over the real binary.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use acp_runtime_agent::noun::counted;
use acp_runtime_host::package::Digest;
use serde::Serialize;
use serde_json::Value;

use super::chain::{self, Chained, Line, Link};
use super::files::FILE;
use super::heads::Head;
use super::lines::{self, Kept};

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files there are.
    pub files: usize,
    /// How many lines of the chain.
    pub lines: u64,
    /// The time of the first one, as it is written.
    pub since: Option<String>,
    /// The number of the last line, and its hash.
    pub head: Option<(u64, Digest)>,
    /// What is wrong, or odd.
    pub findings: Vec<Finding>,
    /// Whether a head that was asked for is in the chain.
    pub has_head: Option<bool>,
}

/// Something that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line in it, from 1; none for the whole file.
    pub line: Option<u64>,
    /// A sentence without its end.
    pub problem: String,
    /// Whether the chain is broken there; else a process or a machine may have stopped at that moment.
    pub is_broken: bool,
}

impl Report {
    /// Whether nothing shows that it is not what was written.
    pub fn is_whole(&self) -> bool {
        self.has_head != Some(false) && !self.findings.iter().any(|finding| finding.is_broken)
    }
}

/// Looks at all of it, and for the line with the hash `head`.
pub fn verify(folder: &Path, head: Option<Digest>) -> io::Result<Report> {
    let Kept { files, heads } = lines::kept(folder)?;
    let mut check = Check { heads: by_number(heads), wanted: head, ..Check::default() };
    FILE.clone_into(&mut check.file);
    check.report.files = files.len();
    check.report.has_head = head.map(|_| false);
    for (name, file, length) in files {
        check.file.clone_from(&name);
        lines::each(file, length, |number, line| {
            check.take(number, line);
            Ok(())
        })?;
    }
    check.finish();
    Ok(check.report)
}

fn by_number(heads: Vec<Head>) -> BTreeMap<u64, Vec<Head>> {
    let mut numbered: BTreeMap<u64, Vec<Head>> = BTreeMap::new();
    heads.into_iter().for_each(|head| numbered.entry(head.seq).or_default().push(head));
    numbered
}

#[derive(Default)]
struct Check {
    report: Report,
    /// The file that is looked at.
    file: String,
    /// The place of the line before, as that says itself.
    link: Option<Link>,
    /// What the first line hangs on.
    first: Option<(String, u64, Option<Digest>)>,
    /// Lines since the last one of the chain that are none of it: file, number, and whether each is JSON.
    strangers: Vec<(String, u64, bool)>,
    /// Lines from before there was a chain.
    older: u64,
    heads: BTreeMap<u64, Vec<Head>>,
    /// The last line of each full file that was removed, as later lines tell: its hash and the file's name.
    removed: HashMap<String, String>,
    wanted: Option<Digest>,
}

impl Check {
    fn take(&mut self, number: u64, line: &str) {
        match chain::read(line) {
            Line::Chained(chained) => self.chained(number, &chained),
            stranger => self.strangers.push((self.file.clone(), number, matches!(stranger, Line::Foreign))),
        }
    }

    fn chained(&mut self, number: u64, line: &Chained) {
        self.strangers_before(line);
        let at = |problem: String| Finding { file: self.file.clone(), line: Some(number), problem, is_broken: true };
        if !line.is_intact {
            let finding = at("it was changed: it does not fit its hash".to_owned());
            self.report.findings.push(finding);
        } else if let Some(problem) = self.link.and_then(|before| misplaced(before, line)) {
            let finding = at(problem);
            self.report.findings.push(finding);
        }
        if self.first.is_none() {
            self.first = Some((self.file.clone(), number, line.prev));
        }
        let text = |name: &str| line.members.get(name).and_then(Value::as_str).map(str::to_owned);
        if self.report.since.is_none() {
            self.report.since = text("time");
        }
        if let (Some(removed), Some(head)) = (text("removed"), text("head")) {
            self.removed.insert(head, removed);
        }
        if self.wanted == Some(line.link.hash) && line.is_intact {
            self.report.has_head = Some(true);
        }
        for head in self.heads.remove(&line.link.seq).unwrap_or_default() {
            if head.hash != line.link.hash {
                let problem = format!("it is not the line that was here when session `{}` ended", head.session);
                let finding = Finding { file: self.file.clone(), line: Some(number), problem, is_broken: true };
                self.report.findings.push(finding);
            }
        }
        self.report.lines += 1;
        self.link = Some(line.link);
    }

    /// What stands between two lines of the chain. A line that was cut off has no place in it: the next one hangs on the
    /// one before.
    fn strangers_before(&mut self, line: &Chained) {
        let begins = self.link.is_none() && line.prev.is_none();
        for (file, number, is_json) in std::mem::take(&mut self.strangers) {
            if begins && is_json {
                self.older += 1;
            } else {
                self.report.findings.push(stranger(file, number, is_json));
            }
        }
    }

    fn finish(&mut self) {
        for (file, number, is_json) in std::mem::take(&mut self.strangers) {
            self.report.findings.push(stranger(file, number, is_json));
        }
        if self.older > 0 {
            let file = self.first.as_ref().map(|(file, ..)| file.clone()).unwrap_or_default();
            let problem = format!("its first {} are not chained", counted(self.older, "line"));
            self.report.findings.insert(0, Finding { file, line: None, problem, is_broken: false });
        }
        if let Some((file, number, Some(prev))) = self.first.take()
            && !self.removed.contains_key(&prev.to_string())
        {
            let problem = "the lines before it are missing, and no later one says that they were removed".to_owned();
            let finding = Finding { file, line: Some(number), problem, is_broken: true };
            self.report.findings.insert(0, finding);
        }
        let (last, file) = (self.link.map_or(0, |link| link.seq), self.file.clone());
        if let Some((seq, heads)) = self.heads.range(last + 1..).next_back() {
            let session = heads.first().map_or(String::new(), |head| head.session.to_string());
            let missing = counted(seq - last, "line");
            let problem = format!("its end is missing: session `{session}` ended {missing} later");
            self.report.findings.push(Finding { file, line: None, problem, is_broken: true });
        }
        self.report.head = self.link.map(|link| (link.seq, link.hash));
    }
}

/// What is wrong with a line behind another one.
fn misplaced(before: Link, line: &Chained) -> Option<String> {
    if line.prev == Some(before.hash) && line.link.seq == before.seq + 1 {
        return None;
    }
    Some(if line.link.seq > before.seq + 1 {
        let missing = counted(line.link.seq - before.seq - 1, "line");
        format!("{missing} before it {} missing", if missing.starts_with("1 ") { "is" } else { "are" })
    } else if line.link.seq <= before.seq {
        format!("it is out of its order: it is number {} of the chain, behind number {}", line.link.seq, before.seq)
    } else {
        "it does not hang on the line before it".to_owned()
    })
}

fn stranger(file: String, number: u64, is_json: bool) -> Finding {
    let problem = if is_json {
        "it is no line of the chain: somebody has added it"
    } else {
        "it is cut off: its process, its machine or its disk ended there, or somebody has changed it"
    };
    Finding { file, line: Some(number), problem: problem.to_owned(), is_broken: is_json }
}
