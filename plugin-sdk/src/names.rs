//! The rule for names of tools, panels and commands, as constant functions: a wrong one stops the plugin's build.

/// Stops the build where a name does not match `[a-z0-9_-]{1,64}`, or stands there twice.
#[doc(hidden)]
pub const fn check(names: &[&str]) {
    let mut rest = names;
    while let [first, others @ ..] = rest {
        assert!(is_well_formed(first), "a name of a tool, panel or command must match [a-z0-9_-]{{1,64}}");
        let mut after = others;
        while let [other, tail @ ..] = after {
            assert!(!equal(first, other), "two tools, panels or commands have the same name");
            after = tail;
        }
        rest = others;
    }
}

const fn is_well_formed(name: &str) -> bool {
    let mut bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > 64 {
        return false;
    }
    while let [first, rest @ ..] = bytes {
        if !matches!(first, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-') {
            return false;
        }
        bytes = rest;
    }
    true
}

const fn equal(left: &str, right: &str) -> bool {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        if *a != *b {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed() {
        let too_long = "a".repeat(65);
        for (name, expected) in [
            ("code-stats", true),
            ("a_1", true),
            ("", false),
            ("Upper", false),
            ("with space", false),
            ("ümlaut", false),
            (too_long.as_str(), false),
            (&too_long[..64], true),
        ] {
            assert_eq!(is_well_formed(name), expected, "{name}");
        }
    }

    #[test]
    fn different_names_pass() {
        check(&["abc", "abd", "ab"]);
    }

    #[test]
    #[should_panic(expected = "the same name")]
    fn a_name_twice_stops_the_build() {
        check(&["abc", "ab", "abc"]);
    }

    #[test]
    #[should_panic(expected = "must match")]
    fn a_malformed_name_stops_the_build() {
        check(&["abc", "a c"]);
    }
}
