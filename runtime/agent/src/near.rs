//! Which known names a mistyped one may have meant.

/// At most three of `known` that are within a few edits of `name`, best first.
pub fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let allowed = 1 + name.chars().count() / 3;
    let mut scored: Vec<(usize, &str)> = known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(edits, candidate)| *edits <= allowed || candidate.contains(name))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(MOST).map(|(_, candidate)| candidate).collect()
}

/// Levenshtein distance, letters in either case alike.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (slot, r) in row.iter_mut().skip(1).zip(&right) {
            let cost = diagonal + usize::from(l != *r);
            diagonal = *slot;
            before = cost.min(before + 1).min(diagonal + 1);
            *slot = before;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["read_file", "write_file", "list_directory", "grep"];
        assert_eq!(near("read_fil", known.into_iter()), ["read_file"]);
        assert_eq!(near("raed_file", known.into_iter()), ["read_file", "write_file"]);
        assert_eq!(near("GREP", known.into_iter()), ["grep"]);
        assert!(near("launch_rocket", known.into_iter()).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
