//! The panel: languages, and the largest files of each.
//!
//! Drawing it must be cheap, so it shows the last count of the session and counts only where there is none.

use acp_plugin::kv::{Cell, Scope};
use acp_plugin::{Acting, Action, Error, Node, Panel, Result, Style, View, panel, workspace};
use serde::{Deserialize, Serialize};

use crate::count::Lines;
use crate::report::counted;
use crate::settings::Settings;
use crate::survey::{Request, Survey, survey};

/// How many languages, and how many files of each, are kept.
const SHOWN: usize = 12;

/// The panel `code-stats`.
pub struct CodeStatsPanel;

/// A count in brief.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Brief {
    files: usize,
    total: Lines,
    complete: bool,
    languages: Vec<LanguageBrief>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LanguageBrief {
    name: String,
    files: usize,
    lines: Lines,
    /// Path and lines.
    largest: Vec<(String, u64)>,
}

const LAST: Cell<Brief> = Cell::new(Scope::Session, "last-count");

impl Panel for CodeStatsPanel {
    const NAME: &str = "code-stats";
    const TITLE: &str = "Code";

    fn actions() -> Vec<Action> {
        vec![Action::new("refresh", "Count again", ["root", "language", "file"]).key('r').reads()]
    }

    fn snapshot() -> Result<View> {
        match LAST.get()? {
            Some(brief) => Ok(brief.draw()),
            None => Ok(count()?.draw()),
        }
    }

    fn act(acting: &Acting) -> Result<Option<String>> {
        match acting.action.as_str() {
            "refresh" => {
                let brief = count()?;
                Ok(Some(brief.told()))
            }
            other => Err(Error::not_found(format_args!("no action `{other}`"))),
        }
    }
}

/// Keeps a count of the whole project for the panel.
pub(crate) fn remember(survey: &Survey) -> Result<()> {
    let brief = Brief::of(survey);
    if LAST.get()?.as_ref() != Some(&brief) {
        LAST.set(&brief)?;
        panel::changed::<CodeStatsPanel>();
    }
    Ok(())
}

fn count() -> Result<Brief> {
    let settings = Settings::get()?;
    let request = Request { exclude: &settings.exclude, ..Request::default() };
    let brief = Brief::of(&survey(&workspace::roots(), &request)?);
    LAST.set(&brief)?;
    Ok(brief)
}

impl Brief {
    fn of(survey: &Survey) -> Self {
        let languages = survey.languages().into_iter().take(SHOWN).map(|(name, files, lines)| LanguageBrief {
            name: name.to_owned(),
            files,
            lines,
            largest: survey
                .files
                .iter()
                .filter(|file| file.language == name)
                .take(SHOWN)
                .map(|file| (file.label.clone(), file.lines.total()))
                .collect(),
        });
        Self {
            files: survey.files.len(),
            total: survey.total(),
            complete: survey.cut.is_none(),
            languages: languages.collect(),
        }
    }

    fn told(&self) -> String {
        format!("{}, {} of code", counted(self.files, "file"), counted(self.total.code, "line"))
    }

    fn draw(&self) -> View {
        let at_least = if self.complete { "" } else { "more than " };
        let label = format!("{at_least}{}", self.told());
        let style = if self.complete { Style::Plain } else { Style::Warn };
        let languages = self.languages.iter().map(LanguageBrief::draw);
        let root = Node::new("root", label).kind("root").style(style).children(languages);
        View::new(root).status(format!("{} loc", self.total.code))
    }
}

impl LanguageBrief {
    fn draw(&self) -> Node {
        let Lines { code, comments, .. } = self.lines;
        let label = format!("{}: {code} code, {comments} comments, {}", self.name, counted(self.files, "file"));
        let files = self.largest.iter().map(|(path, lines)| {
            Node::new(format!("file:{path}"), format!("{path} ({lines})")).kind("file").data("path", path.as_str())
        });
        Node::new(format!("language:{}", self.name), label).kind("language").folded().children(files)
    }
}
