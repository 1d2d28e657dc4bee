//! How the demo looks: plain text, in colour where there is a terminal.
#![expect(clippy::print_stdout, reason = "the demo is what it prints")]
#![expect(clippy::disallowed_methods, reason = "`NO_COLOR` is in the environment")]

use std::io::IsTerminal as _;

use serde_json::Value;

/// Lines of a tool's text that are shown.
const LINES: usize = 14;

#[derive(Clone, Copy)]
enum Ink {
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// The terminal.
pub(crate) struct Screen {
    colours: bool,
    in_text: bool,
    /// All that the agent has said.
    said: String,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { colours, in_text: false, said: String::new() }
    }

    /// Something about the demo itself.
    pub(crate) fn note(&mut self, text: &str) {
        self.end_text();
        println!("{}", self.ink(Ink::Dim, &format!("· {text}")));
    }

    /// What the person says.
    pub(crate) fn prompt(&mut self, text: &str) {
        self.end_text();
        println!("\n{} {}", self.ink(Ink::Cyan, "›"), self.ink(Ink::Bold, text));
    }

    /// More of what the agent says.
    pub(crate) fn say(&mut self, text: &str) {
        if !self.in_text {
            println!();
        }
        print!("{text}");
        self.in_text = true;
        self.said.push_str(text);
    }

    /// All that the agent has said.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// A tool is called.
    pub(crate) fn call(&mut self, title: &str) {
        self.end_text();
        println!("\n{} {}", self.ink(Ink::Yellow, "⚙"), self.ink(Ink::Bold, title));
    }

    /// A tool has ended.
    pub(crate) fn outcome(&mut self, mark: &str, update: &Value) {
        self.end_text();
        let ink = if mark == "✓" { Ink::Green } else { Ink::Red };
        for block in update["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("diff") => self.diff(block),
                _ => self.indented(block["content"]["text"].as_str().unwrap_or_default()),
            }
        }
        println!("  {}", self.ink(ink, mark));
    }

    /// The agent asks, and the demo answers.
    pub(crate) fn question(&mut self, title: &str, options: &[&str], chosen: &str) {
        self.end_text();
        println!("  {} {title}", self.ink(Ink::Yellow, "?"));
        println!("    {} → {}", options.join(" · "), self.ink(Ink::Bold, chosen));
    }

    /// A panel's tree.
    pub(crate) fn tree(&mut self, root: &Value) {
        self.end_text();
        println!();
        self.node(root, "  ", "  ");
    }

    fn node(&self, node: &Value, first: &str, rest: &str) {
        let label = node["label"].as_str().unwrap_or_default();
        println!("{}{label}", self.ink(Ink::Dim, first));
        if node["expanded"] == false {
            return;
        }
        let children = node["children"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (at, child) in children.iter().enumerate() {
            let last = at + 1 == children.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.node(child, &format!("{rest}{branch}"), &format!("{rest}{below}"));
        }
    }

    /// A whole-file diff, line by line: what both have in the beginning and the end is context.
    fn diff(&self, block: &Value) {
        let lines = |name: &str| block[name].as_str().unwrap_or_default().lines().collect::<Vec<_>>();
        let (old, new) = (lines("oldText"), lines("newText"));
        let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let (old_rest, new_rest) = (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
        println!("  {}", self.ink(Ink::Dim, block["path"].as_str().unwrap_or_default()));
        for line in old.get(same.saturating_sub(2)..same).unwrap_or_default() {
            println!("    {line}");
        }
        for line in old_rest {
            println!("  {}", self.ink(Ink::Red, &format!("- {line}")));
        }
        for line in new_rest {
            println!("  {}", self.ink(Ink::Green, &format!("+ {line}")));
        }
    }

    fn indented(&self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(LINES) {
            println!("  {line}");
        }
        if lines.len() > LINES {
            println!("  {}", self.ink(Ink::Dim, &format!("… {} more lines", lines.len() - LINES)));
        }
    }

    fn end_text(&mut self) {
        if std::mem::take(&mut self.in_text) {
            println!();
        }
    }

    fn ink(&self, ink: Ink, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Dim => "2",
            Ink::Bold => "1",
            Ink::Red => "31",
            Ink::Green => "32",
            Ink::Yellow => "33",
            Ink::Cyan => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
