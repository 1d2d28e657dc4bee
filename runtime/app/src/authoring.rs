//! A plugin's project folder: laying out a new one, compiling what is in it, and the cases that its tests play.
//!
//! What a new project needs is in this program: templates, the SDK, the interfaces. Compilers are the author's own; where
//! one is missing, the error says which and how to get it. Knows nothing about sessions, sandboxes and manifests beyond
//! their names. Tested beside the code, and over the real binary in `tests/it/authoring.rs`.

pub mod cases;
mod compile;
mod development;
pub mod drawing;
mod language;
mod lock;
mod scaffold;
mod sdk;
mod vendored;
mod watching;

use std::io;
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::NameError;

pub use compile::compile;
pub use development::{Development, Developments, Glimpse, Working};
pub use language::Language;
pub use scaffold::{Project, built, lay_out};
pub use watching::Sight;

/// The plugin's manifest in its project.
pub const MANIFEST: &str = "plugin.toml";
/// The folder for what was built, in the project.
pub const BUILT: &str = "dist";
/// The folder with the cases, in the project.
pub const CASES: &str = "tests";

/// Why a project cannot be made or compiled.
#[derive(Debug, thiserror::Error)]
pub enum AuthoringError {
    /// The plugin cannot be called that.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Something is where the project would go.
    #[error("`{}` is there already", .0.display())]
    Taken(PathBuf),
    /// The system does not let it be read or written.
    #[error("`{}`: {source}", path.display())]
    Files {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// No language has its mark here.
    #[error("`{}` is no plugin's project: {problem}", folder.display())]
    NoProject {
        /// The folder.
        folder: PathBuf,
        /// What is not there, or too much.
        problem: String,
    },
    /// A compiler, or a part of one, is not there.
    #[error("{what} is not there")]
    Missing {
        /// What, such as ``the target `wasm32-wasip2` ``.
        what: String,
        /// How to get it.
        get: String,
    },
    /// The compiler has told why.
    #[error("`{command}` failed{}", code.map_or(String::new(), |code| format!(" with exit code {code}")))]
    Compiler {
        /// What was run.
        command: String,
        /// Its exit code; none where a signal ended it.
        code: Option<i32>,
    },
    /// The compiler was content, and what it should have made is not there.
    #[error("`{command}` has made no component")]
    NoComponent {
        /// What was run.
        command: String,
        /// What to look at.
        look: &'static str,
    },
    /// The interfaces of the project do not fit together, or its module is not made for them.
    #[error("the interfaces in `wit` cannot be used: {0}")]
    Bindings(String),
    /// What the program brings along does not fit together.
    #[error("the SDK that comes with this program cannot be unpacked: {0}")]
    Vendored(String),
}

impl AuthoringError {
    fn files(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Files { path: path.into(), source }
    }

    fn no_project(folder: &Path, problem: impl Into<String>) -> Self {
        Self::NoProject { folder: folder.to_owned(), problem: problem.into() }
    }

    /// Whether it makes no sense as it was typed.
    pub fn is_misuse(&self) -> bool {
        matches!(self, Self::Name(_) | Self::Taken(_) | Self::NoProject { .. })
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Name(_) => "such as `acp-runtime plugin new acme:greet --lang rust`".to_owned(),
            Self::Taken(_) => "choose another name, or another folder with `--dir`".to_owned(),
            Self::Files { .. } => "check the path and its permissions".to_owned(),
            Self::NoProject { .. } => {
                "name the folder that `acp-runtime plugin new` has made; a component that was compiled otherwise goes in \
                 with `--component FILE`"
                    .to_owned()
            }
            Self::Missing { get, .. } => get.clone(),
            Self::Compiler { .. } => "what is wrong stands above".to_owned(),
            Self::NoComponent { look, .. } => (*look).to_owned(),
            Self::Bindings(_) => "see `wit/world.wit`, and leave `wit/deps` as it came".to_owned(),
            Self::Vendored(_) => "report it: this is no fault of yours".to_owned(),
        }
    }
}
