//! Where programs are: looked for once, and never where a session's files are.
//!
//! A name is looked for in the folders of `PATH`, without those that a session's files may lie in: a `git` in the project
//! is the project's. What was found first holds for the process; another file in its place is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use acp_runtime_host::exec::ProgramError;

/// The programs that were found.
pub(super) struct FoundPrograms {
    /// The folders of `PATH`, as they were when the process began.
    folders: Vec<PathBuf>,
    known: Mutex<BTreeMap<String, Found>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// As it is started.
    file: PathBuf,
    /// Without links.
    real: PathBuf,
}

impl FoundPrograms {
    /// Programs in the folders of `search`, which is a value of `PATH`. Nothing is looked for yet.
    pub(super) fn new(search: Option<String>) -> Self {
        let folders =
            std::env::split_paths(&search.unwrap_or_default()).filter(|folder| folder.is_absolute()).collect();
        Self { folders, known: Mutex::default() }
    }

    /// The file of the program `name`, for a session with the folders `roots`.
    pub(super) fn find(&self, name: &str, roots: &[PathBuf]) -> Result<PathBuf, ProgramError> {
        if name.is_empty() || name.contains(['/', '\\', '\0']) {
            return Err(ProgramError::NotFound(name.to_owned()));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(name).filter(|found| !found.lies_in(roots)) {
            if found.file.canonicalize().is_ok_and(|real| real == found.real) {
                return Ok(found.file.clone());
            }
            return Err(ProgramError::Replaced(name.to_owned()));
        }
        let (mine, theirs): (Vec<Found>, Vec<Found>) =
            self.folders.iter().filter_map(|folder| Found::at(folder, name)).partition(|found| !found.lies_in(roots));
        let Some(found) = mine.into_iter().next() else {
            let name = name.to_owned();
            return Err(if theirs.is_empty() { ProgramError::NotFound(name) } else { ProgramError::InSession(name) });
        };
        let file = found.file.clone();
        // A session whose folders hold the one that is known has one of its own.
        known.entry(name.to_owned()).or_insert(found);
        Ok(file)
    }

    /// The `PATH` of a program in a session with the folders `roots`.
    pub(super) fn search(&self, roots: &[PathBuf]) -> String {
        let outside = self.folders.iter().filter(|folder| !lies_in(folder, roots));
        let outside = outside.filter(|folder| folder.canonicalize().is_ok_and(|real| !lies_in(&real, roots)));
        std::env::join_paths(outside).unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Found {
    fn at(folder: &Path, name: &str) -> Option<Self> {
        let file = folder.join(name);
        let real = file.canonicalize().ok().filter(|real| real.is_file())?;
        Some(Self { file, real })
    }

    /// Under any of its names, or by one of its folders.
    fn lies_in(&self, roots: &[PathBuf]) -> bool {
        let folder = self.file.parent().and_then(|folder| folder.canonicalize().ok());
        lies_in(&self.file, roots) || lies_in(&self.real, roots) || folder.is_some_and(|real| lies_in(&real, roots))
    }
}

fn lies_in(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_program_of_the_session_is_none() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (project, bin) = (place.join("project"), place.join("bin"));
        for folder in [&project, &bin] {
            std::fs::create_dir(folder).unwrap();
        }
        for file in ["project/git", "project/only", "bin/git", "bin/other"] {
            std::fs::write(place.join(file), "").unwrap();
        }
        // Links in either direction, to a file and to a folder.
        symlink(project.join("git"), bin.join("linked")).unwrap();
        symlink(bin.join("other"), project.join("inward")).unwrap();
        symlink(&project, place.join("alias")).unwrap();
        let search = std::env::join_paths([&project, &place.join("alias"), Path::new("bin"), Path::new(""), &bin]);
        let search = search.unwrap().into_string().unwrap();
        let found = FoundPrograms::new(Some(search));
        let roots = [project.clone()];
        let find = |name: &str| found.find(name, &roots);
        assert_eq!(find("git"), Ok(bin.join("git")));
        assert_eq!(find("other"), Ok(bin.join("other")));
        for name in ["only", "linked", "inward"] {
            assert_eq!(find(name), Err(ProgramError::InSession(name.to_owned())));
        }
        for name in ["", "gone", "./git", "../bin/git", "/bin/sh"] {
            assert_eq!(find(name), Err(ProgramError::NotFound(name.to_owned())));
        }
        assert_eq!(found.search(&roots), bin.display().to_string());
        // In another session the project is a folder as any other.
        assert_eq!(found.find("only", std::slice::from_ref(&bin)), Ok(project.join("only")));
        assert_eq!(found.find("git", std::slice::from_ref(&bin)), Ok(project.join("git")));
        assert_eq!(find("git"), Ok(bin.join("git")));
    }

    #[test]
    fn another_file_in_its_place_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        for file in ["one", "two"] {
            std::fs::write(place.join(file), "").unwrap();
        }
        symlink("one", place.join("tool")).unwrap();
        let found = FoundPrograms::new(Some(place.display().to_string()));
        assert_eq!(found.find("tool", &[]), Ok(place.join("tool")));
        std::fs::remove_file(place.join("tool")).unwrap();
        symlink("two", place.join("tool")).unwrap();
        assert_eq!(found.find("tool", &[]), Err(ProgramError::Replaced("tool".to_owned())));
    }
}
