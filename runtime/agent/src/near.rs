//! Which known names a mistyped one may have meant.

/// At most three of `known` that are within a few edits of `name`, best first: fewest edits, then the most alike in
/// length.
pub fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let allowed = 1 + name.chars().count() / 3;
    let lower = name.to_lowercase();
    let mut scored: Vec<(usize, usize, &str)> = known
        .map(|candidate| {
            let edits = strsim::osa_distance(&lower, &candidate.to_lowercase());
            (edits, candidate.len().abs_diff(name.len()), candidate)
        })
        .filter(|(edits, _, candidate)| *edits <= allowed || candidate.contains(name))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(MOST).map(|(.., candidate)| candidate).collect()
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
        assert_eq!(near("modle", ["mode", "model"].into_iter()), ["model", "mode"]);
    }
}
