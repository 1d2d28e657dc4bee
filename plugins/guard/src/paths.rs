//! Which effects touch a protected path. Pure; tested with the hook.

use acp_plugin::hook::Effect;
use acp_plugin::{Error, Result};
use globset::{GlobBuilder, GlobMatcher};

/// What is wrong with an effect; the last is the worst.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Danger {
    /// It may touch a protected path; what there is to say of it.
    Near(String),
    /// It changes that one.
    Changed(String),
}

/// Paths that are not to be changed.
pub(crate) struct Protected {
    globs: Vec<(String, GlobMatcher)>,
}

/// Whether an effect of that class can change anything.
pub(crate) fn may_change(effect: &Effect) -> bool {
    matches!(effect.class.as_str(), "write" | "delete" | "move" | "run")
}

impl Protected {
    /// `*` and `?` stay within a name.
    pub(crate) fn new(globs: &[String]) -> Result<Self> {
        let compile = |glob: &String| {
            let built = GlobBuilder::new(glob).literal_separator(true).build();
            let built = built.map_err(|error| Error::invalid_args(format_args!("setting `protected`: {error}")))?;
            Ok((glob.clone(), built.compile_matcher()))
        };
        Ok(Self { globs: globs.iter().map(compile).collect::<Result<_>>()? })
    }

    /// What is wrong with an effect; none where it leaves all that is protected alone.
    pub(crate) fn danger(&self, effect: &Effect) -> Option<Danger> {
        let key = effect.key.as_str();
        match effect.class.as_str() {
            "write" | "delete" => match folder(key) {
                Some(folder) => self.within(folder, true),
                None => self.named(key),
            },
            // What is moved may be a folder, but mostly is a file.
            "move" => key.split(" -> ").filter_map(|path| self.named(path).or_else(|| self.within(path, false))).max(),
            "run" => {
                let word = words(key).find(|word| self.is_protected(word))?;
                Some(Danger::Near(format!("the command names `{word}`, which is protected")))
            }
            _ => None,
        }
    }

    fn named(&self, path: &str) -> Option<Danger> {
        self.is_protected(path).then(|| Danger::Changed(path.to_owned()))
    }

    fn is_protected(&self, path: &str) -> bool {
        self.globs.iter().any(|(_, glob)| glob.is_match(path))
    }

    /// What is in a folder is not known; what may be in it is. Paths that may be `anywhere` count or do not.
    fn within(&self, folder: &str, anywhere: bool) -> Option<Danger> {
        let inside = if folder == "." { String::new() } else { format!("{folder}/") };
        let sample = format!("{inside}x");
        let (glob, _) = self.globs.iter().find(|(text, glob)| {
            let named = glob.is_match(folder) || glob.is_match(&sample) || text.starts_with(&inside);
            named || (anywhere && text.starts_with("**"))
        })?;
        Some(Danger::Near(format!("`{folder}` may hold something that is protected (`{glob}`)")))
    }
}

/// The folder of a pattern for all that is in it.
fn folder(key: &str) -> Option<&str> {
    match key {
        "**" => Some("."),
        key => key.strip_suffix("/**"),
    }
}

/// The words of a command line, as far as they can be told apart without a shell.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(|c: char| c.is_whitespace() || "'\"`;|&<>()=,\\".contains(c));
    parts.map(|word| word.trim_start_matches("./")).filter(|word| !word.is_empty())
}
