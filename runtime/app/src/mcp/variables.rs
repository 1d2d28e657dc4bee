//! `${NAME}` in a text: a variable of the environment, so that secrets need not be written down.

/// Answers a variable of the environment; none where it is not set.
pub(super) type Environment = fn(&str) -> Option<String>;

/// `text` with `${NAME}`, `${env:NAME}` and `${NAME:-default}` filled in. The error is the name that is not set and has
/// no default. Whatever else begins with `$` is kept as it is.
pub(super) fn filled(text: &str, environment: Environment) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        if let Some((inside, after)) = after.split_once('}').filter(|(inside, _)| is_reference(inside)) {
            out.push_str(&value(inside, environment)?);
            rest = after;
        } else {
            out.push_str("${");
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn split(inside: &str) -> (&str, Option<&str>) {
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)))
}

fn is_reference(inside: &str) -> bool {
    let (name, _) = split(inside);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn value(inside: &str, environment: Environment) -> Result<String, String> {
    let (name, default) = split(inside);
    environment(name).or_else(|| default.map(str::to_owned)).ok_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "A" => Some("one".to_owned()),
            "B_2" => Some("${A}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn references_are_filled_once() {
        for (text, expected) in [
            ("", Ok("")),
            ("plain $A $(A) {A}", Ok("plain $A $(A) {A}")),
            ("<${A}${A}>", Ok("<oneone>")),
            ("${env:A}", Ok("one")),
            ("${B_2}", Ok("${A}")),
            ("${C:-two}", Ok("two")),
            ("${A:-two}", Ok("one")),
            ("${C:-}", Ok("")),
            ("${C}", Err("C")),
            ("${env:C}", Err("C")),
            ("${A", Ok("${A")),
            ("${} ${1A} ${a b} ${${A}", Ok("${} ${1A} ${a b} ${one")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(filled(text, environment), expected, "{text}");
        }
    }
}
