//! What can be seen of a project's source: enough to know that it has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::WalkBuilder;

/// The files of a project with their times and sizes, but for those that its `.gitignore` names and what is built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight(BTreeMap<PathBuf, (SystemTime, u64)>);

impl Sight {
    /// What is seen now. What cannot be looked at is not seen.
    pub fn of(folder: &Path) -> Self {
        let built = folder.join(super::BUILT);
        let mut walk = WalkBuilder::new(folder);
        walk.hidden(true).parents(false).git_global(false).git_exclude(false).require_git(false);
        walk.filter_entry(move |entry| entry.path() != built);
        let seen = |entry: ignore::DirEntry| {
            let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((entry.into_path(), (metadata.modified().ok()?, metadata.len())))
        };
        Self(walk.build().filter_map(|entry| seen(entry.ok()?)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_source_counts() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(".gitignore", "/target\n");
        put("src/lib.rs", "a");
        let before = Sight::of(folder.path());
        put("target/x", "a");
        put("dist/x.wasm", "a");
        assert_eq!(Sight::of(folder.path()), before);
        put("src/lib.rs", "ab");
        assert_ne!(Sight::of(folder.path()), before);
    }
}
