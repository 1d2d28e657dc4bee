//! From the bytes of a response to a text.

use std::rc::Rc;

use acp_runtime_agent::plain;
use acp_runtime_agent::tool::ToolError;
use acp_runtime_host::egress::Response;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use htmd::{HtmlToMarkdown, Node};
use http::header::CONTENT_TYPE;

use super::failed;

/// Bytes of HTML that are made Markdown: a parser needs many times as much.
const MOST_HTML: usize = 2 << 20;
/// Elements within each other that are made Markdown: each needs a piece of the stack.
const DEPTH: usize = 256;
/// Elements that may be open at once, as far as they can be counted before they are read: finding out where each ends
/// takes a look at all of them.
const OPEN: usize = 4096;

/// What a page says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) text: String,
    /// What it is, such as `text/html as Markdown`.
    pub(super) kind: String,
    pub(super) notes: Vec<String>,
}

/// What to make of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    /// Nothing says what it is.
    Unknown,
    Binary,
}

impl Page {
    pub(super) async fn of(response: &mut Response, raw: bool) -> Result<Self, ToolError> {
        let header = response.headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let header = plain::line(header.as_deref().unwrap_or_default(), 200);
        let (mime, charset) = content_type(&header);
        let kind = kind(&mime);
        if kind == Kind::Binary {
            return Err(binary(&mime));
        }
        let (bytes, _) = response.body.read(usize::MAX).await.map_err(failed)?;
        let text = decoded(&bytes, charset).ok_or_else(|| binary(if mime.is_empty() { "data" } else { &mime }))?;
        let is_html = kind == Kind::Html || (kind == Kind::Unknown && seems_html(&text));
        let shown = if mime.is_empty() { "text" } else { &mime };
        if !is_html || raw {
            return Ok(Self { text, kind: shown.to_owned(), notes: Vec::new() });
        }
        let read = tokio::task::spawn_blocking(move || markdown(&text).map_err(|why| (text, why))).await;
        match read.map_err(|error| ToolError::to_model("internal", error.to_string()))? {
            Ok((text, cut)) => {
                Ok(Self { text, kind: format!("{shown} as Markdown"), notes: cut.into_iter().collect() })
            }
            Err((text, why)) => Ok(Self { text, kind: shown.to_owned(), notes: vec![format!("as it is: {why}")] }),
        }
    }
}

fn binary(mime: &str) -> ToolError {
    let message = format!("it is no text but `{mime}`");
    ToolError::to_model("not-text", message)
        .hint("a file can be got with a command, such as `curl -O`, if that is wanted")
}

/// The type in lower case, and the encoding that is named.
fn content_type(header: &str) -> (String, Option<&'static Encoding>) {
    let mut parts = header.split(';');
    let mime = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    (mime, charset.and_then(|label| Encoding::for_label(label.as_bytes())))
}

fn kind(mime: &str) -> Kind {
    const TEXTS: [&str; 14] = [
        "application/json",
        "application/ld+json",
        "application/x-ndjson",
        "application/xml",
        "application/javascript",
        "application/ecmascript",
        "application/typescript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/sql",
        "application/x-sh",
        "application/x-www-form-urlencoded",
        "application/graphql",
    ];
    match mime {
        "" | "application/octet-stream" | "binary/octet-stream" => Kind::Unknown,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        text if text.starts_with("text/") || TEXTS.contains(&text) => Kind::Text,
        text if text.ends_with("+json") || text.ends_with("+xml") || text.ends_with("+yaml") => Kind::Text,
        _ => Kind::Binary,
    }
}

/// The text; none where it is not one. Without the name of an encoding it is UTF-8, or else what old pages are in.
fn decoded(bytes: &[u8], charset: Option<&'static Encoding>) -> Option<String> {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let encoding =
        marked.or(charset).unwrap_or_else(|| if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 });
    let (text, _, _) = encoding.decode(bytes);
    let control = |c: char| c.is_control() && !c.is_whitespace() && c != '\u{1b}' && c != '\u{8}';
    let is_text = !text.chars().take(64 << 10).any(|c| c == '\0' || (encoding == WINDOWS_1252 && control(c)));
    is_text.then(|| text.into_owned())
}

fn seems_html(text: &str) -> bool {
    let start = plain::cut(text.trim_start(), 64).to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// HTML as Markdown, and a note where some of it is left out; or why it cannot be.
fn markdown(html: &str) -> Result<(String, Option<String>), String> {
    let part = plain::cut(html, MOST_HTML);
    let note = (part.len() < html.len())
        .then(|| format!("of the page's {} bytes the first {} are read", html.len(), part.len()));
    if open_at_once(part) > OPEN {
        return Err("too many of its elements are open at once".to_owned());
    }
    let left_out = vec!["script", "style", "noscript", "template", "svg", "iframe", "object"];
    let reader = HtmlToMarkdown::builder().skip_tags(left_out).build();
    let tree = reader.html_to_tree(part).map_err(|error| error.to_string())?;
    if is_deeper(&tree, DEPTH) {
        return Err(format!("more than {DEPTH} of its elements lie within each other"));
    }
    Ok((reader.tree_to_markdown(&tree), note))
}

/// How many elements are open at once, at most: those that begin, and are not ended by themselves or by the next one.
fn open_at_once(html: &str) -> usize {
    const ENDED: [&str; 22] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p",
        "li", "dt", "dd", "option", "tr", "td", "th", "param",
    ];
    let (mut open, mut most) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        let (name, closes) = tag.strip_prefix('/').map_or((tag, false), |name| (name, true));
        let name: String = name.chars().take(16).take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if name.is_empty() || ENDED.contains(&name.as_str()) {
            continue;
        }
        open = if closes { open.saturating_sub(1) } else { open + 1 };
        most = most.max(open);
    }
    most
}

/// Looks without going deeper itself.
fn is_deeper(tree: &Rc<Node>, most: usize) -> bool {
    let mut level = vec![tree.clone()];
    for _ in 0..most {
        level = level.iter().flat_map(|node| node.children.borrow().clone()).collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn html_becomes_markdown() {
        let html = "<html><head><title>T</title><style>x{}</style><script>alert(1)</script></head><body><h1>Hi \
            <em>there</em></h1><p>A <a href=\"https://x.y/z\">link</a> and <code>code</code>.<ul><li>one<li>two</ul>\
            <pre><code class=\"language-rust\">fn main() {\n    x();\n}</code></pre><table><tr><th>a</th><th>b</th></tr>\
            <tr><td>1</td><td>2</td></tr></table></body></html>";
        let (text, note) = markdown(html).unwrap();
        assert_eq!(note, None);
        expect![[r#"
            T

            # Hi *there*

            A [link](https://x.y/z) and `code`.

            *   one
            *   two

            ```rust
            fn main() {
                x();
            }
            ```

            | a | b |
            | - | - |
            | 1 | 2 |"#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_page_that_would_take_the_stack_or_the_day_is_shown_as_it_is() {
        for page in [
            "<div>".repeat(200_000),
            "<b><i>".repeat(100_000),
            "<div><p>".repeat(3000),
            format!("{}x{}", "<div>".repeat(1000), "</div>".repeat(1000)),
            "<table><tr><td>".repeat(2000),
            "<li><ul>".repeat(3000),
        ] {
            assert!(markdown(&page).is_err(), "{}", plain::cut(&page, 40));
        }
        let flat = "<p>a<br><img src=x><li>b".repeat(20_000);
        assert!(markdown(&flat).is_ok());
        let (_, note) = markdown(&"<p>word</p>".repeat(400_000)).unwrap();
        assert_eq!(note.as_deref(), Some("of the page's 4400000 bytes the first 2097152 are read"));
    }

    #[test]
    fn what_is_text_is_found_out() {
        for (header, expected) in [
            ("text/html; charset=utf-8", Kind::Html),
            ("TEXT/HTML", Kind::Html),
            ("text/plain", Kind::Text),
            ("application/json", Kind::Text),
            ("application/vnd.github+json", Kind::Text),
            ("image/svg+xml", Kind::Text),
            ("image/png", Kind::Binary),
            ("application/pdf", Kind::Binary),
            ("application/octet-stream", Kind::Unknown),
            ("", Kind::Unknown),
        ] {
            assert_eq!(kind(&content_type(header).0), expected, "{header}");
        }
        let charset = |header: &str| content_type(header).1.map(Encoding::name);
        assert_eq!(charset("text/html; charset=\"ISO-8859-1\""), Some("windows-1252"));
        assert_eq!(charset("text/html; charset=nonsense"), None);
        for (bytes, charset, text) in [
            (&b"gr\xc3\xbc\xc3\x9fe"[..], None, Some("grüße")),
            (b"gr\xfc\xdfe", None, Some("grüße")),
            (b"\xff\xfea\0b\0", None, Some("ab")),
            (b"\x82\xa0", Encoding::for_label(b"shift_jis"), Some("あ")),
            (b"a\0b", None, None),
            (b"\x89PNG\r\n\x1a\n\0", None, None),
            (b"\x7fELF\x01\x02\xff\xfe\x03", None, None),
        ] {
            assert_eq!(decoded(bytes, charset).as_deref(), text, "{bytes:?}");
        }
    }
}
