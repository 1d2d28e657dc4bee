//! How a secret is usually written: as it is, and as addresses, forms, JSON, pages, hexadecimal digits and base64 have it.
//! Tested with what masks them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

use super::SHORTEST;

/// All forms of a secret that are looked for.
pub(super) fn forms(secret: &str) -> Vec<Vec<u8>> {
    let bytes = secret.as_bytes();
    let each = |before: &str| bytes.iter().map(|byte| format!("{before}{byte:02x}")).collect::<Vec<_>>().concat();
    let (hex, every) = (each(""), each("%"));
    let coded = |kept: &str, space: &str| -> String {
        let code = |&byte: &u8| match byte {
            b' ' if !space.is_empty() => space.to_owned(),
            byte if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        };
        bytes.iter().map(code).collect()
    };
    // As whole paths, whole values and forms of pages are coded, by the libraries of several languages.
    let kept =
        ["-_.~", "-_.~/", "-_.*", "-_.~!$&'()*+,;=:@", "-_.~!$&'()*+,;=:@/?", "-_.!~*'()", "-_.!~*'();,/?:@&=+$#"];
    let mut forms = vec![secret.to_owned(), hex, every, spelled(secret, |c| Some(code_units(c)))];
    forms.extend(kept.iter().flat_map(|kept| [coded(kept, ""), coded(kept, "+")]));
    forms.extend(in_json(secret));
    forms.extend(in_pages(secret));
    // In base64 it looks different behind one or two other bytes, and its first and last characters are also theirs.
    for before in 0..3 {
        let text = [&vec![0; before], bytes].concat();
        let (from, to) = ((before * 8).div_ceil(6), text.len() * 8 / 6);
        for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
            let encoded = encoded.get(from..to).unwrap_or_default();
            // Which goes into JSON and into addresses in its turn.
            forms.push(encoded.replace('/', r"\/"));
            forms.push(encoded.replace('+', "%2b").replace('/', "%2f"));
            forms.push(encoded.to_owned());
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms.into_iter().filter(|form| form.len() >= SHORTEST).map(String::into_bytes).collect()
}

/// The secret with each character as `code` has it, where it has one.
fn spelled(secret: &str, code: impl Fn(char) -> Option<String>) -> String {
    secret.chars().map(|c| code(c).unwrap_or_else(|| c.to_string())).collect()
}

/// A character as a JSON text may have it.
fn code_units(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat()
}

/// As JSON is written: every writer codes what it must, many also what stands out in a page, and some all but ASCII.
fn in_json(secret: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for marks in ["", "<>&", "<>&'", "<>&'\"+`"] {
        for (slash, only_ascii) in [("/", false), ("/", true), (r"\/", false), (r"\/", true)] {
            let code = |c: char| match c {
                c if marks.contains(c) || (only_ascii && !c.is_ascii()) => Some(code_units(c)),
                '/' => Some(slash.to_owned()),
                c => Value::from(c.to_string())
                    .to_string()
                    .get(1..)
                    .and_then(|text| text.strip_suffix('"'))
                    .map(str::to_owned),
            };
            forms.push(spelled(secret, code));
        }
    }
    forms
}

/// As pages and XML are written, by those who code what they must and by those who code more.
fn in_pages(secret: &str) -> Vec<String> {
    let more: [&[(char, &str)]; 5] = [
        &[],
        &[('+', "&#43;")],
        &[('=', "&#x3D;"), ('`', "&#x60;")],
        &[('/', "&#x2F;")],
        &[('=', "&#x3D;"), ('`', "&#x60;"), ('/', "&#x2F;")],
    ];
    let mut forms = Vec::new();
    for double in ["\"", "&quot;", "&#34;"] {
        for single in ["'", "&#39;", "&#x27;", "&#039;", "&apos;"] {
            for more in more {
                let code = |c: char| match c {
                    '&' => Some("&amp;".to_owned()),
                    '<' => Some("&lt;".to_owned()),
                    '>' => Some("&gt;".to_owned()),
                    '"' => Some(double.to_owned()),
                    '\'' => Some(single.to_owned()),
                    c => more.iter().find(|(other, _)| *other == c).map(|(_, code)| (*code).to_owned()),
                };
                forms.push(spelled(secret, code));
            }
        }
    }
    forms
}
