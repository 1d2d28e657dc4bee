//! The languages that a plugin can be written in, and how a project's is recognised.

use std::path::Path;

use super::AuthoringError;

/// A language with a template and a compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// With the crate `acp-plugin`.
    Rust,
    /// With componentize-py.
    Python,
    /// JavaScript, with componentize-qjs.
    Js,
    /// With clang and wasi-libc.
    C,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::Js, Self::C];

    /// Its name on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Js => "js",
            Self::C => "c",
        }
    }

    /// The language of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.id() == id)
    }

    /// What is done once in a new project, in its folder.
    pub fn preparation(self) -> &'static [&'static str] {
        match self {
            Self::Rust | Self::C => &[],
            Self::Python => &["python3 -m venv .venv", ".venv/bin/pip install --requirement requirements.txt"],
            Self::Js => &["npm install"],
        }
    }

    /// The file that a project in it has, and in no other language.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Rust => "Cargo.toml",
            Self::Python => "app.py",
            Self::Js => "package.json",
            Self::C => "plugin.c",
        }
    }

    /// The language of a project.
    pub fn of(folder: &Path) -> Result<Self, AuthoringError> {
        let marked: Vec<Self> = Self::ALL.into_iter().filter(|it| folder.join(it.mark()).is_file()).collect();
        let marks = |languages: &[Self]| languages.iter().map(|it| it.mark()).collect::<Vec<_>>().join("`, `");
        match marked.as_slice() {
            [one] => Ok(*one),
            [] if !folder.is_dir() => Err(AuthoringError::no_project(folder, "there is no such folder")),
            [] => Err(AuthoringError::no_project(folder, format!("it has none of `{}`", marks(&Self::ALL)))),
            several => Err(AuthoringError::no_project(
                folder,
                format!("it has `{}`, so its language cannot be told", marks(several)),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Language::of(folder.path()).unwrap_err().to_string().contains("it has none of `Cargo.toml`"));
        std::fs::write(folder.path().join("app.py"), "").unwrap();
        assert_eq!(Language::of(folder.path()).unwrap(), Language::Python);
        std::fs::write(folder.path().join("package.json"), "").unwrap();
        let error = Language::of(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("it has `app.py`, `package.json`, so its language cannot be told"), "{error}");
    }

    #[test]
    fn names_lead_back_to_their_languages() {
        for language in Language::ALL {
            assert_eq!(Language::from_id(language.id()), Some(language));
        }
    }
}
