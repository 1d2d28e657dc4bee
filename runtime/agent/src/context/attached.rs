//! What a prompt brings along beside its words: where a link leads, and how much of it all the model is shown.
//!
//! Pure; tested by tables.

use crate::plain::cut;
use crate::workspace::LineRange;

/// A file that a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// Absolute.
    pub path: String,
    /// Only these lines, where the link names some: `#L3`, `#L3-9`, `#L3:9`.
    pub lines: Option<LineRange>,
}

impl Linked {
    /// The file of a `file:` address of this machine; none for any other address.
    pub fn of(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix("file://")?;
        let rest = rest.strip_prefix("localhost").unwrap_or(rest);
        if !rest.starts_with('/') {
            return None;
        }
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let path = rest.split_once('?').map_or(rest, |(path, _)| path);
        Some(Self { path: decoded(path)?, lines: lines(fragment) })
    }
}

/// `%41` is `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn lines(fragment: &str) -> Option<LineRange> {
    let numbers = fragment.strip_prefix('L')?;
    let (first, last) = numbers.split_once(['-', ':']).unwrap_or((numbers, numbers));
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first)?, number(last)?);
    Some(LineRange { first, most: last.checked_sub(first)?.saturating_add(1) })
}

/// Takes texts as long as there is room for them.
#[derive(Debug)]
pub struct Luggage {
    left: usize,
    /// What was cut, as people know it.
    pub cut: Vec<String>,
}

impl Luggage {
    /// Room for `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { left: most, cut: Vec::new() }
    }

    /// As much of the text of `name` as there is room for, with a note in the place of the rest.
    pub fn take(&mut self, name: &str, text: String) -> String {
        let shown = cut(&text, self.left);
        self.left -= shown.len();
        if shown.len() == text.len() {
            return text;
        }
        self.cut.push(name.to_owned());
        format!("{shown}\n[cut: {} of {} bytes shown; the rest can be read with tools]", shown.len(), text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_of_this_machine() {
        let file = |path: &str, lines: Option<(u32, u32)>| {
            let lines = lines.map(|(first, most)| LineRange { first, most });
            Some(Linked { path: path.to_owned(), lines })
        };
        for (uri, expected) in [
            ("file:///p/a.rs", file("/p/a.rs", None)),
            ("file://localhost/p/a", file("/p/a", None)),
            ("file:///p/with%20space%2Fand%C3%BC", file("/p/with space/andü", None)),
            ("file:///p/a#L3", file("/p/a", Some((3, 1)))),
            ("file:///p/a#L3-9", file("/p/a", Some((3, 7)))),
            ("file:///p/a?symbol=main#L3:L9", file("/p/a", Some((3, 7)))),
            ("file:///p/a#L9-3", file("/p/a", None)),
            ("file:///p/a#heading", file("/p/a", None)),
            ("file:///p/a#L0", file("/p/a", None)),
            ("file://server/p/a", None),
            ("file:///p/%F", None),
            ("file:///p/%FF", None),
            ("file:p", None),
            ("https://example.com/a", None),
            ("/p/a", None),
        ] {
            assert_eq!(Linked::of(uri), expected, "{uri}");
        }
    }

    #[test]
    fn what_has_no_room_is_cut_with_a_note() {
        let mut luggage = Luggage::new(5);
        assert_eq!(luggage.take("a", "abc".to_owned()), "abc");
        let note = "[cut: 1 of 5 bytes shown; the rest can be read with tools]";
        assert_eq!(luggage.take("b", "dé€".replace('€', "xy")), format!("d\n{note}"));
        assert_eq!(luggage.take("c", "z".to_owned()), "z");
        assert!(luggage.take("d", "z".to_owned()).starts_with("\n[cut: 0 of 1"));
        assert_eq!(luggage.cut, ["b", "d"]);
    }
}
