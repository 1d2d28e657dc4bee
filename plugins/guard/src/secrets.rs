//! Texts that have the form of a key. By their known beginnings and lengths, not by how random they look. Pure.

/// How a secret begins, what it is made of, how long the rest is at least, and what it is.
type Form = (&'static str, fn(char) -> bool, usize, &'static str);

/// The known ones.
const FORMS: &[Form] = &[
    ("sk-ant-", word, 24, "a key of Anthropic"),
    ("sk-", word, 24, "a key of OpenAI"),
    ("github_pat_", word, 22, "a token of GitHub"),
    ("ghp_", letter, 36, "a token of GitHub"),
    ("gho_", letter, 36, "a token of GitHub"),
    ("ghu_", letter, 36, "a token of GitHub"),
    ("ghs_", letter, 36, "a token of GitHub"),
    ("ghr_", letter, 36, "a token of GitHub"),
    ("glpat-", word, 20, "a token of GitLab"),
    ("xoxb-", word, 20, "a token of Slack"),
    ("xoxp-", word, 20, "a token of Slack"),
    ("xapp-", word, 20, "a token of Slack"),
    ("AKIA", capital, 16, "a key of AWS"),
    ("ASIA", capital, 16, "a key of AWS"),
    ("AIza", word, 35, "a key of Google"),
    ("npm_", letter, 36, "a token of npm"),
    ("hf_", letter, 30, "a token of Hugging Face"),
];

/// What the host puts in the place of a secret that is kept for the person.
const KEPT: (&str, &str) = ("[kept secret]", "a secret that is kept on this machine");

/// How a private key begins and ends.
const PEM: (&str, &str, &str) = ("-----BEGIN ", "PRIVATE KEY-----", "-----END ");

/// A secret in a text.
struct Found {
    from: usize,
    to: usize,
    what: &'static str,
}

/// What the first secret in a text is.
pub(crate) fn first(text: &str) -> Option<&'static str> {
    next(text, 0).map(|found| found.what)
}

/// The text with a note in the place of each secret.
pub(crate) fn removed(text: &str) -> String {
    let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
    while let Some(found) = next(text, from) {
        kept.push_str(text.get(from..found.from).unwrap_or_default());
        kept.push_str("[removed: ");
        kept.push_str(found.what);
        kept.push(']');
        from = found.to;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

/// The first secret from that place on.
fn next(text: &str, from: usize) -> Option<Found> {
    let rest = text.get(from..)?;
    let keys = FORMS.iter().filter_map(|(begins, made_of, least, what)| {
        let found = rest.match_indices(begins).find_map(|(at, _)| {
            // In the middle of a word it is a part of that.
            let alone = !rest.get(..at).is_some_and(|before| before.ends_with(letter));
            let body = rest.get(at + begins.len()..)?;
            let length = body.find(|c| !made_of(c)).unwrap_or(body.len());
            (alone && length >= *least).then_some((at, at + begins.len() + length))
        });
        found.map(|(at, to)| Found { from: from + at, to: from + to, what })
    });
    // Of two at one place the longer beginning is the better name.
    let kept = rest.find(KEPT.0).map(|at| Found { from: from + at, to: from + at + KEPT.0.len(), what: KEPT.1 });
    keys.chain(kept).chain(private_key(rest, from)).min_by_key(|found| found.from)
}

fn private_key(rest: &str, from: usize) -> Option<Found> {
    let (begins, kind, ends) = PEM;
    rest.match_indices(begins).find_map(|(at, _)| {
        let line = rest.get(at..)?.lines().next()?;
        if !line.trim_end().ends_with(kind) {
            return None;
        }
        let body = rest.get(at..)?;
        let end = body
            .find(ends)
            .map(|end| end + body.get(end..).and_then(|tail| tail.find('\n')).unwrap_or(body.len() - end));
        Some(Found { from: from + at, to: from + at + end.unwrap_or(body.len()), what: "a private key" })
    })
}

fn letter(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn capital(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}
