//! The files of the audit: the one that is written, those that are full, and the heads of sessions that ended.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use acp_runtime_host::regular_file;

use super::chain::{self, Line, Link};

/// The file that is written, in the folder of the audit.
pub const FILE: &str = "decisions.jsonl";
/// A line for each session that ended: the place in the chain that it had come to.
pub(super) const HEADS: &str = "heads.jsonl";
/// Held by whoever writes, or looks at what there is.
pub(super) const LOCK: &str = "decisions.lock";

/// How much of the end of a file is looked at first.
const END: u64 = 16 << 10;

/// The name of the full file of that number.
pub(super) fn full(number: u32) -> String {
    format!("decisions-{number:06}.jsonl")
}

/// The full files, the oldest first.
pub(super) fn full_files(folder: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("decisions-")?.strip_suffix(".jsonl")?.parse().ok());
        if let Some(number) = number.filter(|number| name.to_str() == Some(&full(*number))) {
            files.push((number, entry.path()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The end of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct End {
    /// The place of its last line that has one.
    pub(super) link: Option<Link>,
    /// Whether its last line has no end.
    pub(super) is_torn: bool,
}

/// The end of the file at `path`; that of an empty one where there is none.
pub(super) fn end(path: &Path) -> io::Result<End> {
    match regular_file::open(path) {
        Ok(file) => end_of(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(End::default()),
        Err(error) => Err(error),
    }
}

/// Whether the last line of the file at `path` has no end; not where there is no file.
pub(super) fn is_torn(path: &Path) -> io::Result<bool> {
    let mut last = [b'\n'];
    match regular_file::open(path) {
        Ok(mut file) if file.metadata()?.len() > 0 => {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(last != [b'\n'])
}

/// Looks at ever more of the end, until there is a line with a place.
fn end_of(mut file: File) -> io::Result<End> {
    let length = file.metadata()?.len();
    let mut size = END;
    loop {
        let from = length.saturating_sub(size);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.by_ref().take(length - from).read_to_end(&mut bytes)?;
        let is_torn = bytes.last().is_some_and(|last| *last != b'\n');
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        // What is in front of the first end of a line may be a part of one.
        if from > 0 {
            lines.remove(0);
        }
        let chained = |line: &[u8]| match chain::read(&String::from_utf8_lossy(line)) {
            Line::Chained(chained) => Some(chained),
            Line::Foreign | Line::Torn => None,
        };
        // What is behind the last end may be all of a line but its end.
        let open = lines.pop().and_then(chained).filter(|open| open.is_intact && is_torn);
        let link = open.or_else(|| lines.iter().rev().find_map(|line| chained(line))).map(|found| found.link);
        if link.is_some() || from == 0 {
            return Ok(End { link, is_torn });
        }
        size = size.saturating_mul(4);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_is_found_behind_whatever_else_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(end(&path).unwrap(), End::default());
        let (line, link) = chain::sealed(None, &json!({ "key": "x".repeat(30_000) })).unwrap();
        for (behind, is_torn) in [
            (String::new(), false),
            ("{\"seq\":2".to_owned(), true),
            (format!("{}\n", "y".repeat(200_000)), false),
            (line.clone(), true),
        ] {
            std::fs::write(&path, format!("\n{line}\n{behind}")).unwrap();
            assert_eq!(end(&path).unwrap(), End { link: Some(link), is_torn }, "{}", behind.len());
        }
        std::fs::write(&path, "no line").unwrap();
        assert_eq!(end(&path).unwrap(), End { link: None, is_torn: true });
    }

    #[test]
    fn full_files_are_those_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["decisions-000010.jsonl", "decisions-000002.jsonl", "decisions-2.jsonl", FILE, HEADS] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let numbers: Vec<u32> = full_files(folder.path()).unwrap().into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, [2, 10]);
    }
}
