//! Texts as models write them, whole and in pieces of every size, and what a terminal shows of them.

use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn shown(colours: bool, pieces: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut styled = Styled::new(colours);
    let mut out: String = pieces.into_iter().map(|piece| styled.push(piece.as_ref())).collect();
    out.push_str(&styled.finish());
    out
}

/// The text at once; it must look the same letter by letter.
fn whole(text: &str) -> String {
    let whole = shown(true, [text]);
    let letters = text.chars().map(|c| c.to_string());
    assert_eq!(shown(true, letters), whole, "{text}");
    whole.replace('\u{1b}', "^")
}

/// What is shown after each piece, one a line.
fn steps(pieces: &[&str]) -> Vec<String> {
    let mut styled = Styled::new(false);
    let mut steps: Vec<String> = pieces.iter().map(|piece| styled.push(piece)).collect();
    steps.push(styled.finish());
    steps
}

#[test]
fn every_kind_of_block_is_shown() {
    let text = "\
# One *thing*
## Two
A paragraph with **bold**, *italic*, ~~gone~~, `co*de*` and 2 * 3 * 4.
It goes on in snake_case_words.

- one
- two with `code`
  - inner
- [ ] open
- [x] done

1. first
2. second

   with more

> said
> twice

```rust
fn main() {

    // # no heading, **no bold**
}
```

| name | count |
|------|------:|
| *a*  | 1     |
| wide 🦀 | 22 |

---
<b>tags</b> and [a link](https://example.org/a_b_c), <https://example.org>, ![a picture](x.png).
";
    expect![[r#"
        ^[1m^[4mOne ^[3mthing^[23m^[24m^[22m
        ^[1mTwo^[22m
        A paragraph with ^[1mbold^[22m, ^[3mitalic^[23m, ^[9mgone^[29m, ^[36mco*de*^[39m and 2 * 3 * 4.
        It goes on in snake_case_words.

        • one
        • two with ^[36mcode^[39m
          • inner
        • [ ] open
        • [x] done

        1. first
        2. second

           with more

        │ said
        │ twice

          ^[36mfn main() {^[39m

          ^[36m    // # no heading, **no bold**^[39m
          ^[36m}^[39m

        ^[1mname^[22m     ^[1mcount^[22m
        ^[2m───────  ─────^[22m
        ^[3ma^[23m        1
        wide 🦀  22

        ^[2m────────────────────────^[22m
        <b>tags</b> and ^[4ma link^[24m^[2m (https://example.org/a_b_c)^[22m, ^[4mhttps://example.org^[24m, [image: a picture]^[2m (x.png)^[22m.
    "#]]
    .assert_eq(&whole(text));
}

#[test]
fn words_are_shown_as_they_come_and_marks_with_their_other_half() {
    assert_eq!(
        steps(&["Hello wor", "ld and **bo", "ld text** the", "n\nmore `a b", "` end", "\n\nNew"]),
        ["Hello ", "world and ", "\u{1b}[1mbold text\u{1b}[22m ", "then\nmore ", "`a b` ", "end\n\n", "New"]
            .map(str::to_owned)
    );
    assert_eq!(
        steps(&["```\nlet", " a;\nlet b", ";\n```", "\nSo it", " is"]),
        ["", "  let a;\n", "  let b;\n", "So ", "it ", "is"].map(str::to_owned)
    );
    assert_eq!(steps(&["- one\n", "- tw", "o\n"]), ["", "• one\n", "", "• two\n"].map(str::to_owned));
    // A mark that never gets its other half holds up its paragraph, and nothing more.
    assert_eq!(steps(&["a **b c d\n", "e\n\n", "f "]), ["a ", "**b c d\ne\n\n", "f ", ""].map(str::to_owned));
}

#[test]
fn what_is_cut_off_is_shown_as_far_as_it_came() {
    for (text, end) in [
        ("a **b", "a **b"),
        ("`a", "`a"),
        ("```rust\nlet a", "  let a"),
        ("```rust", ""),
        ("| a |", "| a |\n"),
        ("- ", "• \n"),
        ("# T", "\u{1b}[1m\u{1b}[4mT\u{1b}[24m\u{1b}[22m\n"),
        ("[a](http", "[a](http"),
        ("", ""),
        ("\n", "\n"),
    ] {
        assert_eq!(shown(false, [text]), end, "{text:?}");
    }
}

#[test]
fn no_text_commands_the_terminal() {
    for text in [
        "\u{1b}[2J gone \u{9b}2J \u{7}",
        "&#27;[2J &#x1b;]0;title&#7; `&#27;`",
        "[&#27;[31m](&#27;]8;;x)",
        "```\n\u{1b}[31m\n```\n",
        "| &#27;[2J |\n|---|\n| \u{202e}x |\n",
        "- \u{1b}]52;c;aaaa\u{7}\n",
        "<a href='\u{1b}[2J'>&#27;</a>\n\n",
    ] {
        let out = shown(true, [text]);
        let rest = ["[1m", "[2m", "[22m", "[3m", "[23m", "[4m", "[24m", "[9m", "[29m", "[36m", "[39m"]
            .iter()
            .fold(out.clone(), |rest, code| rest.replace(&format!("\u{1b}{code}"), ""));
        assert!(!rest.chars().any(|c| c.is_control() && c != '\n'), "{text:?}: {out:?}");
        assert!(!rest.contains('\u{202e}'), "{text:?}: {out:?}");
    }
}

#[test]
fn what_does_not_end_is_not_waited_for_without_end() {
    let mut styled = Styled::new(false);
    let mut out = String::new();
    for _ in 0..200 {
        out.push_str(&styled.push(&"*a ".repeat(100)));
    }
    assert!(out.len() > 60_000 - MOST - 300, "{}", out.len());
    let list: String = (0..40).map(|_| styled.push(&"  - an item\n".repeat(100))).collect();
    assert!(!list.is_empty());
}

/// The letters of a text that are no marks.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

proptest! {
    /// However the text is cut up, no letter is lost and none comes twice, and each piece ends its own codes.
    #[test]
    fn nothing_is_lost(text in r"([a-c #*_`\->\n\[\]()1.~]){0,80}", cuts in proptest::collection::vec(1_usize..6, 0..40)) {
        let mut styled = Styled::new(true);
        let (mut out, mut rest) = (String::new(), text.as_str());
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let end = cut.min(rest.len());
            out.push_str(&styled.push(&rest[..end]));
            rest = &rest[end..];
        }
        out.push_str(&styled.finish());
        let codes = regex::Regex::new("\u{1b}\\[[0-9]+m").unwrap();
        let plain = codes.replace_all(&out, "").into_owned();
        // The numbers of lists are counted anew, and the language of a block of code is not shown.
        if !text.contains("```") && !text.contains("~~~") && !text.contains('1') && !text.contains('[') {
            prop_assert_eq!(letters(&plain), letters(&text));
        }
        let clean = !plain.contains('\u{1b}');
        prop_assert!(clean);
    }
}
