//! The cases that a plugin's tests play: `tests/*.toml`.
//!
//! A case says how the stage is set (rights, answers of the person, settings, files, servers, programs), and then what
//! is done step by step and what comes of it. Read strictly: a key that is unknown, or that makes no sense where it
//! stands, is an error with its place. Knows nothing about how a case is played.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::{EffectPattern, RootId, WorkspacePath};
use acp_runtime_agent::policy::Mode;
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use crate::settings::{Place, SettingsError, Written, parse, place};

/// The cases of one file.
#[derive(Debug)]
pub struct Cases {
    /// The file.
    pub path: PathBuf,
    /// In the order that they are written.
    pub cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CasesFile {
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

/// How the stage is set, and what is done on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A sentence.
    pub name: String,
    /// The rights that are granted, as `plugin info` shows them; without it all that the plugin asks for.
    pub grants: Option<Vec<Spanned<String>>>,
    /// The session's mode.
    #[serde(default)]
    pub mode: Mode,
    /// What the person says yes to; to all else they say no.
    #[serde(default)]
    pub allow: Vec<Written<EffectPattern>>,
    /// What a rule of the user denies.
    #[serde(default)]
    pub deny: Vec<Written<EffectPattern>>,
    /// The plugin's own settings.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The secrets that the person keeps for it, by handle.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// The files of the session's folder, by path.
    #[serde(default)]
    pub files: BTreeMap<Spanned<String>, String>,
    /// What servers answer.
    #[serde(default)]
    pub http: Vec<Answer>,
    /// What programs do.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// What is done, one after the other, in one session.
    pub steps: Vec<Spanned<Step>>,
}

/// What a server answers to a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The whole address.
    pub url: String,
    /// The method.
    #[serde(default = "get")]
    pub method: String,
    /// Headers that the request must have.
    #[serde(default)]
    pub sent_headers: BTreeMap<String, String>,
    /// The body that the request must have.
    pub sent_body: Option<String>,
    /// The status of the answer.
    #[serde(default = "ok")]
    pub status: u16,
    /// Its headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its body.
    #[serde(default)]
    pub body: String,
    /// Its body, as JSON.
    pub json: Option<Value>,
    /// Nobody answers.
    #[serde(default)]
    pub unreachable: bool,
}

fn get() -> String {
    "GET".to_owned()
}

fn ok() -> u16 {
    200
}

/// What a program does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The line that is run, as people read it: `git log --max-count=3 --`.
    pub line: String,
    /// What it writes to its standard output.
    #[serde(default)]
    pub stdout: String,
    /// And to its standard error.
    #[serde(default)]
    pub stderr: String,
    /// Its exit code.
    #[serde(default)]
    pub exit: i32,
}

/// What is done, and what comes of it. Exactly one of `tool`, `command` and `panel` is there.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A tool of the plugin's is called.
    pub tool: Option<String>,
    /// With these arguments; also what a panel's action is given.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// A slash command is typed, without the slash.
    pub command: Option<String>,
    /// A panel is drawn, or an action in it is done.
    pub panel: Option<String>,
    /// The action.
    pub action: Option<String>,
    /// On that node.
    pub node: Option<String>,
    /// The whole text that comes of it.
    pub text: Option<String>,
    /// Pieces of that text.
    #[serde(default)]
    pub contains: Vec<String>,
    /// The outcome for programs.
    pub structured: Option<Value>,
    /// It fails, and this is a piece of the reason.
    pub error: Option<String>,
    /// What the command asks the model.
    pub prompt: Option<String>,
    /// The panel looks as it is kept under this name.
    pub snapshot: Option<String>,
    /// What the person was asked for, in order.
    pub asks: Option<Vec<String>>,
    /// What was sent, in order: `GET https://api.example.com/v1`.
    pub requests: Option<Vec<String>>,
    /// What was run, in order.
    pub runs: Option<Vec<String>>,
    /// Files as they are afterwards.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Paths at which there is nothing afterwards.
    #[serde(default)]
    pub gone: Vec<String>,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Calls a tool.
    Tool(&'a str),
    /// Types a slash command.
    Command(&'a str),
    /// Draws a panel.
    Draw(&'a str),
    /// Does an action on a node of a panel.
    Act {
        /// The panel.
        panel: &'a str,
        /// The action.
        action: &'a str,
        /// The node.
        node: &'a str,
    },
}

impl Cases {
    /// Reads the text of the file at `path`.
    pub fn read(path: &Path, text: &str) -> Result<Self, SettingsError> {
        let CasesFile { cases } = parse(path, text).map_err(SettingsError::in_cases)?;
        let wrong = |at: usize, problem: String| SettingsError::Invalid {
            place: place(path, text, at),
            problem,
            hint: Some(SettingsError::CASES_HINT.to_owned()),
        };
        if cases.is_empty() {
            return Err(wrong(0, "there is no `[[case]]`".to_owned()));
        }
        for case in &cases {
            if let Some(first) = case.steps.first() {
                let twins = cases.iter().filter(|other| other.name == case.name).count();
                if twins > 1 {
                    return Err(wrong(first.span().start, format!("there are {twins} cases named `{}`", case.name)));
                }
            } else {
                return Err(wrong(0, format!("the case `{}` has no `steps`", case.name)));
            }
            for file in case.files.keys() {
                WorkspacePath::new(RootId(0), file.get_ref())
                    .map_err(|error| wrong(file.span().start, error.to_string()))?;
            }
            for step in &case.steps {
                step.get_ref().check().map_err(|problem| wrong(step.span().start, problem))?;
            }
        }
        Ok(Self { path: path.to_owned(), cases })
    }

    /// Where something of the file is.
    pub fn place(&self, text: &str, at: usize) -> Place {
        place(&self.path, text, at)
    }
}

impl Answer {
    /// The body that is sent.
    pub fn body(&self) -> String {
        self.json.as_ref().map_or_else(|| self.body.clone(), Value::to_string)
    }
}

impl Step {
    /// What is done. A step that was read has a deed.
    pub fn deed(&self) -> Option<Deed<'_>> {
        match (&self.tool, &self.command, &self.panel, &self.action, &self.node) {
            (Some(tool), None, None, None, None) => Some(Deed::Tool(tool)),
            (None, Some(command), None, None, None) => Some(Deed::Command(command)),
            (None, None, Some(panel), None, None) => Some(Deed::Draw(panel)),
            (None, None, Some(panel), Some(action), Some(node)) => Some(Deed::Act { panel, action, node }),
            _ => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        let deed = self.deed().ok_or(
            "a step has one of `tool`, `command` and `panel`; with `panel` there may be `action` and `node`, both of them",
        )?;
        let only = |given: bool, name: &str, fits: bool, of: &str| {
            if given && !fits { Err(format!("`{name}` goes with {of}")) } else { Ok(()) }
        };
        let (tool, act) = (matches!(deed, Deed::Tool(_)), matches!(deed, Deed::Act { .. }));
        let draws = act || matches!(deed, Deed::Draw(_));
        only(!self.arguments.is_empty(), "arguments", tool || act, "`tool` or `action`")?;
        only(self.structured.is_some(), "structured", tool, "`tool`")?;
        only(self.prompt.is_some(), "prompt", matches!(deed, Deed::Command(_)), "`command`")?;
        only(self.snapshot.is_some(), "snapshot", draws, "`panel`")?;
        let answers = !matches!(deed, Deed::Draw(_));
        only(self.text.is_some(), "text", answers, "`tool`, `command` or `action`")?;
        only(!self.contains.is_empty(), "contains", answers, "`tool`, `command` or `action`")?;
        if let Some(error) = &self.error {
            if self.text.is_some() || self.structured.is_some() || self.prompt.is_some() {
                return Err("a step with `error` fails, and has no `text`, `structured` or `prompt`".to_owned());
            }
            if error.trim().is_empty() {
                return Err("`error` is a piece of the reason, and not empty".to_owned());
            }
        }
        let plain = |name: &String| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
        };
        if let Some(name) = self.snapshot.as_ref().filter(|name| !plain(name)) {
            return Err(format!("the snapshot `{name}`: a name is lower-case letters, digits, `-` and `_`"));
        }
        for path in self.files.keys().chain(&self.gone) {
            WorkspacePath::new(RootId(0), path).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Cases, String> {
        Cases::read(Path::new("tests/a.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_case_is_read() {
        let cases = read(
            r#"
[[case]]
name = "all that there is"
grants = ["kv"]
mode = "auto-edit"
allow = ["write:notes/**"]
deny = ["run"]
settings = { greeting = "Hi" }
secrets = { key = "k" }
files = { "notes/a.md" = "A" }
http = [{ url = "https://a.example/x", json = { n = 1 }, sent_headers = { x-key = "k" } }]
programs = [{ line = "git log", stdout = "x", exit = 1 }]
steps = [
  { tool = "greet", arguments = { name = "Ada" }, text = "Hi", structured = { n = 1 }, files = { "b.md" = "B" } },
  { command = "note buy milk", contains = ["milk"], gone = ["c.md"] },
  { panel = "notes", snapshot = "after-milk" },
  { panel = "notes", action = "done", node = "n:1", error = "denied", asks = ["write notes/a.md"] },
]
"#,
        );
        let cases = cases.unwrap();
        let deeds: Vec<_> = cases.cases[0].steps.iter().map(|step| step.get_ref().deed().unwrap()).collect();
        let acts = Deed::Act { panel: "notes", action: "done", node: "n:1" };
        assert_eq!(deeds, [Deed::Tool("greet"), Deed::Command("note buy milk"), Deed::Draw("notes"), acts]);
        assert_eq!(cases.cases[0].http[0].body(), r#"{"n":1}"#);
    }

    #[test]
    fn what_makes_no_sense_is_an_error_with_its_place() {
        let step = |step: &str| format!("[[case]]\nname = \"n\"\nsteps = [\n  {{ {step} }},\n]\n");
        for (text, told) in [
            (String::new(), "tests/a.toml:1:1: there is no `[[case]]`"),
            ("[[cases]]".to_owned(), "tests/a.toml:1:3: unknown key `cases`"),
            ("[[case]]\nname = \"n\"\nsteps = []".to_owned(), "tests/a.toml:1:1: the case `n` has no `steps`"),
            (
                "[[case]]\nname = \"n\"\nallow = [\"fly\"]\nsteps = []".to_owned(),
                "tests/a.toml:3:9: `allow`: `fly` is not a class of effects",
            ),
            (step("tool = \"a\", txt = \"b\""), "tests/a.toml:4:17: unknown key `txt`"),
            (step("text = \"b\""), "tests/a.toml:4:3: a step has one of"),
            (step("tool = \"a\", panel = \"b\""), "tests/a.toml:4:3: a step has one of"),
            (step("panel = \"a\", action = \"b\""), "tests/a.toml:4:3: a step has one of"),
            (step("command = \"a\", structured = 1"), "tests/a.toml:4:3: `structured` goes with `tool`"),
            (step("tool = \"a\", snapshot = \"b\""), "tests/a.toml:4:3: `snapshot` goes with `panel`"),
            (step("panel = \"a\", text = \"b\""), "tests/a.toml:4:3: `text` goes with `tool`, `command` or `action`"),
            (step("panel = \"a\", contains = [\"b\"]"), "tests/a.toml:4:3: `contains` goes with `tool`, `command` or"),
            (step("panel = \"a\", snapshot = \"../b\""), "tests/a.toml:4:3: the snapshot `../b`"),
            (step("tool = \"a\", text = \"b\", error = \"c\""), "tests/a.toml:4:3: a step with `error` fails"),
            (step("tool = \"a\", files = { \"../b\" = \"\" }"), "tests/a.toml:4:3: "),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(told), "{text}\n{error}");
        }
        let twice = "[[case]]\nname = \"n\"\nsteps = [{ tool = \"a\" }]\n".repeat(2);
        assert!(read(&twice).unwrap_err().ends_with("there are 2 cases named `n`"));
    }
}
