//! A program that is to be started, found before anything is.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The variables that every program gets, where they are set here.
pub const BASE_VARIABLES: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"];

/// What to start, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// A name that is looked for in `PATH`, or a path; a relative one begins in `folder`.
    pub program: String,
    /// Its arguments, one by one.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub folder: PathBuf,
    /// Its variables, beside [`BASE_VARIABLES`] and before them.
    pub environment: BTreeMap<String, String>,
    /// Whether it gets no others.
    pub bare: bool,
    /// What it reads.
    pub input: Input,
    /// Where it writes.
    pub outputs: Outputs,
    /// What it is kept to, where the system can do that.
    pub bounds: Bounds,
    /// Whether it is no other program but this binary, in a role of its own that [`Program::program`] is the name of.
    pub itself: bool,
}

/// What the system keeps a program to, and all that it starts. By default nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The folders that it may write in, beside temporary ones and devices; none for any.
    pub writable: Option<Vec<PathBuf>>,
    /// The files and folders that it may read and run programs of, beside those that it may write in and what every
    /// program needs of the system; none for any. Then it writes in no temporary folder and on few devices, and reaches
    /// no process outside.
    pub readable: Option<Vec<PathBuf>>,
    /// Whether it may make no connections.
    pub offline: bool,
    /// What it may use up; none for any.
    pub resources: Option<Resources>,
}

/// What a program may use up; each of those that it starts may do so once more. Such a one writes no files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of memory.
    pub memory: u64,
    /// Seconds that it computes, on all processors together.
    pub processor: u64,
}

/// What a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing: its input has ended.
    Nothing,
    /// What is written to [`Running::input`](super::Running::input).
    Piped,
}

/// Where a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outputs {
    /// Its two outputs are read apart from each other.
    Apart,
    /// Both go into [`Running::output`](super::Running::output), in the order that they were written.
    Joined,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error("the program `{0}` was not found")]
    NotFound(String),
    /// The file is there and is no program.
    #[error("`{0}` may not be executed")]
    NotExecutable(String),
    /// Its folder is not there.
    #[error("the folder `{}` to start it in is not there", .0.display())]
    NoFolder(PathBuf),
    /// The system refused.
    #[error("the program `{program}` could not be started: {source}")]
    System {
        /// As it was asked for.
        program: String,
        /// The system's words.
        source: io::Error,
    },
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "install it, or write its whole path",
            Self::NotExecutable(_) => "name a program, or make the file one with `chmod +x`",
            Self::NoFolder(_) => "name a folder that is there",
            Self::System { .. } => "see the system's words",
        }
    }
}

impl Program {
    /// The program with no arguments, no variables of its own and no input, its outputs apart.
    pub fn new(program: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: folder.into(),
            environment: BTreeMap::new(),
            bare: false,
            input: Input::Nothing,
            outputs: Outputs::Apart,
            bounds: Bounds::default(),
            itself: false,
        }
    }

    /// This binary in a role of its own.
    pub fn itself(role: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self { itself: true, ..Self::new(role, folder) }
    }

    /// Its file, found in `search`, which is a value of `PATH`. A path is looked for where it leads.
    pub(super) fn find(&self, search: Option<&str>) -> Result<PathBuf, StartError> {
        if !self.folder.is_dir() {
            return Err(StartError::NoFolder(self.folder.clone()));
        }
        if Path::new(&self.program).components().count() > 1 || self.program.contains(std::path::MAIN_SEPARATOR) {
            let path = self.folder.join(&self.program);
            return match (path.is_file(), executable(&path)) {
                (true, true) => Ok(path),
                (true, false) => Err(StartError::NotExecutable(self.program.clone())),
                (false, _) => Err(self.not_found()),
            };
        }
        if self.program.is_empty() {
            return Err(self.not_found());
        }
        let folders = std::env::split_paths(search.unwrap_or_default());
        // An empty entry of `PATH` would be the folder that the program runs in, which may be a stranger's.
        let mut files = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(&self.program));
        files.find(|file| file.is_file() && executable(file)).ok_or_else(|| self.not_found())
    }

    fn not_found(&self) -> StartError {
        StartError::NotFound(self.program.clone())
    }
}

#[cfg(unix)]
fn executable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn executable(_file: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn programs_are_found_before_they_are_started() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        for (name, mode) in [("bin/tool", 0o755), ("bin/text", 0o644), ("here", 0o755)] {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let search = format!("/nowhere::.:{}", folder.join("bin").display());
        let find = |program: &str| match Program::new(program, folder).find(Some(&search)) {
            Ok(path) => path.strip_prefix(folder).unwrap().display().to_string(),
            Err(error) => error.to_string(),
        };
        for (program, found) in [
            ("tool", "bin/tool"),
            ("./here", "here"),
            ("bin/tool", "bin/tool"),
            ("here", "the program `here` was not found"),
            ("text", "the program `text` was not found"),
            ("bin/text", "`bin/text` may not be executed"),
            ("./bin", "the program `./bin` was not found"),
            ("", "the program `` was not found"),
        ] {
            assert_eq!(find(program), found, "{program}");
        }
        let lost = Program::new("tool", folder.join("gone")).find(Some(&search)).unwrap_err();
        assert!(matches!(lost, StartError::NoFolder(_)), "{lost}");
    }
}
