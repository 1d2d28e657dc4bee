//! What a model may have meant by a text that is not in the file.

use similar::TextDiff;

/// How many lines are compared, and how much of each: the answer must come soon.
const MOST_COMPARED: usize = 2000;
const MOST_OF_LINE: usize = 120;

/// How alike lines must be to be shown, from 0 to 1.
const ALIKE: f32 = 0.6;

/// A sentence on why `wanted` is not in `text`, with the lines that come nearest.
pub(super) fn near_miss(text: &str, wanted: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let looked_for: Vec<&str> = wanted.lines().collect();
    if looked_for.iter().all(|line| has_line_number(line)) {
        return "leave out the line numbers and tabs that read_file puts before each line".to_owned();
    }
    if let Some(at) = same_but_for_spaces(&lines, &looked_for) {
        return format!("these lines differ from it in white space only\n{}", shown(&lines, at, looked_for.len()));
    }
    match most_alike(&lines, &looked_for) {
        Some(at) => format!("the nearest lines are\n{}", shown(&lines, at, looked_for.len())),
        None => "nothing in the file is like it; read the file again".to_owned(),
    }
}

fn has_line_number(line: &str) -> bool {
    line.split_once('\t').is_some_and(|(number, _)| number.trim_start().parse::<u32>().is_ok())
}

fn same_but_for_spaces(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }
    let wanted: Vec<Vec<&str>> = wanted.iter().copied().map(words).collect();
    if wanted.iter().all(Vec::is_empty) {
        return None;
    }
    lines
        .windows(wanted.len())
        .position(|window| window.iter().zip(&wanted).all(|(line, wanted)| words(line) == *wanted))
}

/// Where the text would begin if its first line with anything on it stood at the line most like that.
fn most_alike(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (offset, anchor) = wanted.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let start = |line: &str| line.trim().chars().take(MOST_OF_LINE).collect::<String>();
    let anchor = start(anchor);
    let mut best = (ALIKE, None);
    let comparable = |line: &String| line.len() <= anchor.len() * 3 && line.len() * 3 >= anchor.len();
    for (at, line) in lines.iter().enumerate().take(MOST_COMPARED) {
        let line = start(line);
        if comparable(&line) {
            let ratio = TextDiff::from_chars(&*anchor, &*line).ratio();
            if ratio > best.0 {
                best = (ratio, Some(at));
            }
        }
    }
    best.1.map(|at| at.saturating_sub(offset))
}

/// The lines as they stand in the file, numbered as `read_file` does.
fn shown(lines: &[&str], at: usize, count: usize) -> String {
    const MOST: usize = 10;
    let numbered = (at + 1..).zip(lines.iter().skip(at)).take(count.clamp(1, MOST));
    let lines: Vec<String> = numbered
        .map(|(number, line)| format!("{number:>6}\t{}", line.chars().take(MOST_OF_LINE).collect::<String>()))
        .collect();
    lines.join("\n")
}
