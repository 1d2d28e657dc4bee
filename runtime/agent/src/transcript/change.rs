//! A change to a file, as people are shown it.

use super::ToolContent;
use crate::noun::counted;
use crate::plain;

/// The most of both texts together, in bytes: a longer update would be too long a line for some clients.
const MOST_SHOWN: usize = 32 * 1024;

/// Unchanged lines before and after a change that are shown of a big file.
const CONTEXT: usize = 3;

/// The change of the file at the absolute `path`; of big files the changed part alone, or a sentence in its place.
pub fn change(path: String, old: Option<&str>, new: &str) -> ToolContent {
    let fits = |old: &str, new: &str| old.len() + new.len() <= MOST_SHOWN;
    let before = old.unwrap_or("");
    if fits(before, new) {
        return ToolContent::Diff { path, old: old.map(str::to_owned), new: new.to_owned() };
    }
    let (removed, added) = changed_part(before, new);
    if fits(removed, added) {
        return ToolContent::Diff { path, old: old.map(|_| removed.to_owned()), new: added.to_owned() };
    }
    let text = format!(
        "The change of `{}` is too long to show: {} in the place of {}.",
        plain::name(&path),
        counted(added.lines().count(), "line"),
        counted(removed.lines().count(), "line")
    );
    ToolContent::Text { text }
}

/// What is left of both without the lines that they begin and end with alike, and a few of those for context.
fn changed_part<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let alike = |(left, right): &(&str, &str)| left == right;
    let (old_lines, new_lines) = (lines(old), lines(new));
    let shorter = old_lines.len().min(new_lines.len());
    let head = old_lines.iter().copied().zip(new_lines.iter().copied()).take_while(alike).count();
    let from_end = old_lines.iter().rev().copied().zip(new_lines.iter().rev().copied());
    let tail = from_end.take(shorter - head).take_while(alike).count();
    let part = |text: &'a str, lines: &[&str]| {
        let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
        let first = head.saturating_sub(CONTEXT);
        let last = (lines.len() - tail + CONTEXT).min(lines.len());
        let start = bytes(lines.get(..first).unwrap_or_default());
        let end = bytes(lines.get(..last).unwrap_or_default());
        text.get(start..end).unwrap_or(text)
    };
    (part(old, &old_lines), part(new, &new_lines))
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_files_show_the_changed_part_alone() {
        let numbers = |marks: &[usize]| -> String {
            let line = |n: usize| if marks.contains(&n) { format!("changed {n}\n") } else { format!("line {n}\n") };
            (0..10_000).map(line).collect()
        };
        let (old, new) = (numbers(&[]), numbers(&[5000]));
        for (old, new, shown) in [
            (&*old, &*new, "line 4997\nline 4998\nline 4999\nchanged 5000\nline 5001\nline 5002\nline 5003\n"),
            (&old, &format!("{old}end\n"), "line 9997\nline 9998\nline 9999\nend\n"),
            (&old, &format!("begin\n{old}"), "begin\nline 0\nline 1\nline 2\n"),
            (
                &old,
                &old.replace("line 5000\n", ""),
                "line 4997\nline 4998\nline 4999\nline 5001\nline 5002\nline 5003\n",
            ),
        ] {
            let ToolContent::Diff { new, old, .. } = change("/p".to_owned(), Some(old), new) else { panic!("{shown}") };
            assert_eq!(new, shown);
            assert!(old.unwrap().len() < 200);
        }
        let far_apart = change("/p".to_owned(), Some(&old), &numbers(&[0, 9999]));
        let text = "The change of `/p` is too long to show: 10000 lines in the place of 10000 lines.".to_owned();
        assert_eq!(far_apart, ToolContent::Text { text });
        let created = change("/p".to_owned(), None, &old);
        assert!(matches!(created, ToolContent::Text { .. }), "{created:?}");
    }
}
