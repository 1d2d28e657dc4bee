//! Reading a TOML file into a typed section, and saying precisely what is wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use acp_runtime_agent::near::near;
use acp_runtime_agent::workspace::WorkspaceError;
use acp_runtime_host::regular_file;
use serde::de::DeserializeOwned;

use super::project::PROJECT_FILE;
use crate::mcp::{ServerSettings, from_json};
use crate::workspace::OpenRoot;

/// Bytes that a file may have.
const MOST: u64 = 1 << 20;

/// Bytes that a file of certificates may have. Those of the systems have 300 thousand.
const MOST_CERTIFICATES: u64 = 16 << 20;

/// Why settings could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The system does not let it be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// It was asked for and is not there.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file of a project, which is read as everything in the project's folder.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Project {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        reason: String,
    },
    /// It is not what it should be.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: Option<String>,
    },
    /// It names no MCP servers, or not as it should.
    #[error("`{}` names no MCP servers: {problem}", path.display())]
    Servers {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A variable of the environment is not what it should be.
    #[error("`{name}` in the environment: {problem}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// There is no folder to keep anything in.
    #[error("there is no home folder to keep files in")]
    Homeless,
}

/// A place in a file. Line and column are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

impl SettingsError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "make it a file that you can read, or name another one".to_owned(),
            Self::Project { .. } => {
                "make it an ordinary text file in the project's own folder, or remove it".to_owned()
            }
            Self::Missing { .. } => "check the path, or leave the option out".to_owned(),
            Self::Invalid { hint: Some(hint), .. } => hint.clone(),
            Self::Invalid { hint: None, .. } => "see `acp-runtime config schema` for what can be there".to_owned(),
            Self::Servers { .. } => {
                "write `{\"mcpServers\": {\"NAME\": {\"command\": …, \"args\": […]}}}`, or a `url` instead".to_owned()
            }
            Self::Variable { name, .. } => format!("correct `{name}`, or leave it out"),
            Self::Homeless => format!("set `HOME`, or `{}` to a folder", super::HOME_VARIABLE),
        }
    }

    /// What to do about a file of cases.
    pub const CASES_HINT: &str = "docs/plugins.md says what a case can have";

    /// The same of a file of cases.
    #[must_use]
    pub fn in_cases(self) -> Self {
        match self {
            Self::Invalid { place, problem, hint: None } => {
                Self::Invalid { place, problem, hint: Some(Self::CASES_HINT.to_owned()) }
            }
            other => other,
        }
    }

    pub(super) fn missing(path: &Path) -> Self {
        Self::Missing { path: path.to_owned() }
    }

    /// Says what a project's file may hold: what looks mistyped there is often a key of the user's.
    pub(super) fn in_project_file(self) -> Self {
        match self {
            Self::Invalid { place, problem, .. } => {
                let hint = Some(format!(
                    "`{PROJECT_FILE}` may only narrow: `mode`, `files.deny`, `permission.deny`, `plugins.disabled` and \
                     `limits`; all else belongs in the user's own file (see `acp-runtime config path`)"
                ));
                Self::Invalid { place, problem, hint }
            }
            other => other,
        }
    }
}

/// The text of a file; none where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, SettingsError> {
    match regular_file::read_text(path, MOST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(source) => Err(SettingsError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Whether the file of certificates has an end: whoever makes a connection reads it whole. One that is not there is
/// told of by them.
pub(super) fn check_certificates(path: Option<&Path>) -> Result<(), SettingsError> {
    let Some((path, metadata)) = path.and_then(|path| Some((path, std::fs::metadata(path).ok()?))) else {
        return Ok(());
    };
    let problem = if !metadata.is_file() {
        format!("`{}` is not a file", path.display())
    } else if metadata.len() > MOST_CERTIFICATES {
        format!("`{}` has more than {MOST_CERTIFICATES} bytes", path.display())
    } else {
        return Ok(());
    };
    Err(SettingsError::Variable { name: super::CERTIFICATES, problem })
}

/// The text of the project's file, which is called `path`; none where there is no such file.
pub(super) fn of_project(root: &OpenRoot, path: &Path) -> Result<Option<String>, SettingsError> {
    let unreadable = |reason| Err(SettingsError::Project { path: path.to_owned(), reason });
    match root.text(PROJECT_FILE) {
        Ok(Some(text)) if text.len() as u64 > MOST => unreadable(format!("it has more than {MOST} bytes")),
        Ok(text) => Ok(text),
        Err(WorkspaceError::Outside(_)) => unreadable("a link leads out of the project's folder".to_owned()),
        Err(error) => unreadable(error.to_string()),
    }
}

/// The MCP servers of a file in the common JSON form, which must exist.
pub(super) fn servers(path: &Path) -> Result<BTreeMap<String, ServerSettings>, SettingsError> {
    let text = read(path)?.ok_or_else(|| SettingsError::missing(path))?;
    from_json(&text).map_err(|problem| SettingsError::Servers { path: path.to_owned(), problem })
}

/// Parses the text of a file. Errors name the place, and for a mistyped key the one that was probably meant.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, SettingsError> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (problem, hint) = explain(error.message());
        // A key that is unknown is named by the problem itself.
        let key = key_before(text, at).filter(|_| !problem.starts_with("unknown key"));
        let problem = key.map_or(problem.clone(), |key| format!("`{key}`: {problem}"));
        SettingsError::Invalid { place: place(path, text, at), problem, hint }
    })
}

/// The key whose value begins at `at`; none where that is no value on its key's line.
fn key_before(text: &str, at: usize) -> Option<&str> {
    let line = text.get(..at)?.rsplit('\n').next()?;
    let (keys, _) = line.rsplit_once('=')?;
    keys.rsplit(['{', ',']).next().map(str::trim)
}

/// Where the byte `at` of a file's text is.
pub fn place(path: &Path, text: &str, at: usize) -> Place {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).map_or(0, |start| start.chars().count()) + 1;
    Place { path: path.to_owned(), line: before.matches('\n').count() + 1, column }
}

/// Rewrites what serde says in its own words: ``unknown field `x`, expected one of `a`, `b` ``, whose odd pieces between
/// backticks are names, and the names of its types.
fn explain(message: &str) -> (String, Option<String>) {
    let meant = |rest: &str| {
        let mut names = rest.split('`').step_by(2);
        let unknown = names.next().unwrap_or_default();
        near(unknown, names).first().map(|meant| format!("did you mean `{meant}`?"))
    };
    if let Some(rest) = message.strip_prefix("unknown field `") {
        return (format!("unknown key `{}`", rest.split('`').next().unwrap_or_default()), meant(rest));
    }
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        return (format!("unknown value `{rest}"), meant(rest));
    }
    let mismatch = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, expected)) = mismatch.and_then(|rest| rest.split_once(", expected ")) else {
        return (message.to_owned(), None);
    };
    let toml = |name: &str| match name {
        "map" | "a map" => "a table".to_owned(),
        "sequence" | "a sequence" => "an array".to_owned(),
        name if name.starts_with("struct ") => "a table".to_owned(),
        "f64" => "a number".to_owned(),
        "u16" | "u32" | "u64" | "usize" => "a whole number".to_owned(),
        name if name.starts_with("a nonzero ") => "a whole number, at least 1".to_owned(),
        name => name.to_owned(),
    };
    (format!("{} is not what belongs there: expected {}", toml(found), toml(expected)), None)
}
