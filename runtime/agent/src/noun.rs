//! A number and what it counts, as people say it: `1 line`, `2 lines`.
//!
//! Tested beside the code.

use std::fmt::Display;

/// `count` of what `noun` names, whose plural ends with an `s`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let end = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "line")), ["0 lines", "1 line", "2 lines"]);
        assert_eq!(counted(1_u64, "more byte"), "1 more byte");
    }
}
