//! The folders of a session, and how their paths are written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::path::{below, shown};
use super::{Effect, PathError, PathScope, RootId, Touched, WorkspacePath};
use crate::plain;

/// One of a session's folders.
#[derive(Debug, Clone)]
pub struct Root {
    /// Its place in the session.
    pub id: RootId,
    /// Absolute, in the client's spelling: this one is reported back.
    pub path: PathBuf,
    /// Absolute, without links: recognised on input as well.
    pub canonical: PathBuf,
}

/// The session's folders, and the translation between their paths and the workspace's.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    all: Arc<[Root]>,
    nested: Arc<[Nested]>,
}

/// One root that lies in another, or is the same folder.
#[derive(Debug)]
struct Nested {
    outer: RootId,
    inner: RootId,
    /// Where the inner one stands below the outer one; empty for the same folder.
    at: String,
}

impl Roots {
    /// `roots[0]` is the session's `cwd`; ids are given by place.
    pub fn new(folders: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        let numbered = (0u16..).zip(folders);
        let all: Arc<[Root]> =
            numbered.map(|(id, (path, canonical))| Root { id: RootId(id), path, canonical }).collect();
        let pairs = all.iter().flat_map(|outer| all.iter().map(move |inner| (outer, inner)));
        let nested = pairs.filter_map(|(outer, inner)| Nested::of(outer, inner)).collect();
        Self { all, nested }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.all.iter()
    }

    /// The root with that id.
    pub fn get(&self, id: RootId) -> Option<&Root> {
        self.all.get(usize::from(id.0))
    }

    /// Reads a path as a person or a model writes it: absolute under one of the roots, or relative to the first.
    pub fn resolve(&self, text: &str) -> Result<WorkspacePath, PathError> {
        if text.contains('\0') {
            return Err(PathError::Malformed(shown(text)));
        }
        let path = Path::new(text);
        if !path.is_absolute() {
            return WorkspacePath::new(RootId(0), text);
        }
        let longest = self
            .iter()
            .flat_map(|root| [(root.id, &root.path), (root.id, &root.canonical)])
            .filter_map(|(id, folder)| Some((id, folder.as_os_str().len(), path.strip_prefix(folder).ok()?)))
            .max_by_key(|(_, length, _)| *length);
        let Some((id, _, relative)) = longest else {
            return Err(PathError::OutsideRoots(shown(text)));
        };
        let relative = relative.to_str().ok_or_else(|| PathError::Malformed(shown(text)))?;
        WorkspacePath::new(id, relative)
    }

    /// The path as people and models read it, on one line ([`plain::name`]), and as [`Roots::resolve`] reads it where it
    /// is made of plain characters: relative in the first root, else absolute in the client's spelling.
    pub fn spell(&self, path: &WorkspacePath) -> String {
        if path.root() == RootId(0) { path.to_string() } else { plain::name(&self.display(path)) }
    }

    /// The absolute path in the client's spelling, for locations and diffs.
    pub fn display(&self, path: &WorkspacePath) -> String {
        let Some(root) = self.get(path.root()) else { return path.to_string() };
        if path.as_str().is_empty() {
            return root.path.display().to_string();
        }
        root.path.join(path.as_str()).display().to_string()
    }

    /// The same effect under every other name that its files have, since one of the roots may lie in another: what is
    /// said of one name is said of the file. Of a folder that holds a root, also what is done to all of that root.
    ///
    /// The names are those of the paths as they are; links are not followed. Two places at which the system has mounted
    /// one folder are two folders.
    pub fn aliases(&self, effect: &Effect) -> Vec<Effect> {
        if self.nested.is_empty() {
            return Vec::new();
        }
        match effect.touched() {
            Touched::Scope(scope) => self.scopes(scope).map(|other| effect.done_to(other)).collect(),
            Touched::Places { from, to } => {
                let (from, to) = (self.names(from), self.names(to));
                let moves = from.iter().flat_map(|from| to.iter().map(move |to| (from, to)));
                // The first is the effect itself.
                moves.skip(1).map(|(from, to)| Effect::Move { from: from.clone(), to: to.clone() }).collect()
            }
            Touched::Nothing => Vec::new(),
        }
    }

    /// Whether one of the roots stands at that path or below it, other than at the top of its own.
    pub fn stand_on(&self, path: &WorkspacePath) -> bool {
        self.nested
            .iter()
            .any(|pair| pair.outer == path.root() && !pair.at.is_empty() && below(path.as_str(), &pair.at))
    }

    fn scopes<'a>(&'a self, scope: &'a PathScope) -> impl Iterator<Item = PathScope> + 'a {
        let outer = move |pair: &Nested| (pair.inner == scope.root).then(|| scope.seen_from(pair.outer, &pair.at));
        let inner =
            move |pair: &Nested| (pair.outer == scope.root).then(|| scope.seen_in(pair.inner, &pair.at)).flatten();
        self.nested.iter().flat_map(move |pair| [outer(pair), inner(pair)]).flatten()
    }

    /// The path itself, and its names in other roots.
    fn names(&self, path: &WorkspacePath) -> Vec<WorkspacePath> {
        let outer = |pair: &Nested| (pair.inner == path.root()).then(|| path.seen_from(pair.outer, &pair.at));
        let inner = |pair: &Nested| (pair.outer == path.root()).then(|| path.seen_in(pair.inner, &pair.at)).flatten();
        let others = self.nested.iter().flat_map(|pair| [outer(pair), inner(pair)]).flatten();
        std::iter::once(path.clone()).chain(others).collect()
    }
}

impl Nested {
    /// None where neither lies in the other. Of two that are the same folder the first one is the outer one.
    fn of(outer: &Root, inner: &Root) -> Option<Self> {
        let at = inner.canonical.strip_prefix(&outer.canonical).ok()?;
        if outer.id == inner.id || (at.as_os_str().is_empty() && outer.id > inner.id) {
            return None;
        }
        let names: Vec<_> = at.components().map(|name| name.as_os_str().to_string_lossy()).collect();
        Some(Self { outer: outer.id, inner: inner.id, at: names.join("/") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::PathGlob;

    #[test]
    fn a_path_is_shown_on_one_line() {
        let path = WorkspacePath::new(RootId(1), "a\nb/\u{202e}c").unwrap();
        let roots = Roots::new(["/p", "/q"].map(|root| (PathBuf::from(root), PathBuf::from(root))));
        assert_eq!(roots.spell(&path), "/q/a\\nb/\\u{202e}c");
        assert_eq!(roots.display(&path), "/q/a\nb/\u{202e}c", "as the system knows it");
    }

    #[test]
    fn roots_read_absolute_paths_in_both_spellings() {
        let roots = Roots::new([
            (PathBuf::from("/link/proj"), PathBuf::from("/real/proj")),
            (PathBuf::from("/link/proj/sub"), PathBuf::from("/real/proj/sub")),
        ]);
        for (text, root, relative) in [
            ("src/a.rs", 0, "src/a.rs"),
            ("/link/proj/src/a.rs", 0, "src/a.rs"),
            ("/real/proj/src/a.rs", 0, "src/a.rs"),
            ("/real/proj/sub/a.rs", 1, "a.rs"),
            ("/link/proj", 0, ""),
        ] {
            let path = roots.resolve(text).unwrap();
            assert_eq!((path.root().0, path.as_str()), (root, relative), "{text}");
        }
        for bad in ["/etc/passwd", "/link/project/x", "/link/proj/../other/x", "../x", "/link/proj/../../etc"] {
            assert!(roots.resolve(bad).is_err(), "{bad}");
        }
        let shown = roots.display(&roots.resolve("/real/proj/src/a.rs").unwrap());
        assert_eq!(shown, "/link/proj/src/a.rs");
        for text in [".", "src/a.rs", "/link/proj/sub/a.rs", "/link/proj/sub"] {
            assert_eq!(roots.spell(&roots.resolve(text).unwrap()), text);
        }
    }

    /// Five roots: `/p`, `/p/a/b` by a link, `/p/a/b/c`, one beside them, and the first once more.
    fn nested() -> Roots {
        let folders = [("/p", "/p"), ("/link", "/p/a/b"), ("/p/a/b/c", "/p/a/b/c"), ("/pp", "/pp"), ("/again", "/p")];
        Roots::new(folders.map(|(path, canonical)| (PathBuf::from(path), PathBuf::from(canonical))))
    }

    fn named(effect: &Effect) -> String {
        match effect.touched() {
            Touched::Scope(scope) => format!("{}:{}", scope.root.0, scope.glob),
            Touched::Places { from, to } => format!("{}:{from} {}:{to}", from.root().0, to.root().0),
            Touched::Nothing => "-".to_owned(),
        }
    }

    #[test]
    fn a_file_has_a_name_in_every_root_that_holds_it() {
        for (root, glob, others) in [
            (0, "x", vec!["4:x"]),
            (0, "a", vec!["4:a"]),
            (0, "a/b", vec!["1:.", "4:a/b"]),
            (0, "a/b/x", vec!["1:x", "4:a/b/x"]),
            (0, "a/bb", vec!["4:a/bb"]),
            (1, "x", vec!["0:a/b/x", "4:a/b/x"]),
            (2, "x", vec!["0:a/b/c/x", "1:c/x", "4:a/b/c/x"]),
            (4, "a/b/c/x", vec!["0:a/b/c/x", "1:c/x", "2:x"]),
            (3, "x", vec![]),
            // Of a folder, what of it lies in another root.
            (0, "**", vec!["1:**", "2:**", "4:**"]),
            (0, "a/b/**", vec!["1:**", "2:**", "4:a/b/**"]),
            (0, "a/b/c/d/**", vec!["1:c/d/**", "2:d/**", "4:a/b/c/d/**"]),
            (0, "d/**", vec!["4:d/**"]),
            (1, "d/**", vec!["0:a/b/d/**", "4:a/b/d/**"]),
            // A pattern is taken for all that lies in its folder.
            (1, "d/*.md", vec!["0:a/b/d/**", "4:a/b/d/**"]),
            (0, "*.md", vec!["4:**"]),
            (0, "a/*", vec!["1:**", "4:a/**"]),
            (0, "**/*.md", vec!["1:**", "2:**", "4:**"]),
            (3, "**", vec![]),
        ] {
            let effect = Effect::Read(PathScope { root: RootId(root), glob: PathGlob::parse(glob).unwrap() });
            let mut found: Vec<_> = nested().aliases(&effect).iter().map(named).collect();
            found.sort();
            assert_eq!(found, others, "{root}:{glob}");
        }
    }

    #[test]
    fn a_move_has_each_of_its_ends_under_each_name() {
        let path = |root, path| WorkspacePath::new(RootId(root), path).unwrap();
        let moved = Effect::Move { from: path(1, "x"), to: path(3, "y") };
        let mut found: Vec<_> = nested().aliases(&moved).iter().map(named).collect();
        found.sort();
        assert_eq!(found, ["0:a/b/x 3:y", "4:a/b/x 3:y"]);
        let moved = Effect::Move { from: path(1, "x"), to: path(2, "y") };
        assert_eq!(nested().aliases(&moved).len(), 3 * 4 - 1);
        assert_eq!(nested().aliases(&Effect::ReadSession), []);
    }

    #[test]
    fn a_root_stands_on_the_folders_above_it() {
        for (root, path, stands) in [
            (0, "a", true),
            (0, "a/b", true),
            (0, "a/b/c", true),
            (0, "a/b/d", false),
            (0, "d", false),
            (1, "c", true),
            (2, "", false),
            (3, "", false),
        ] {
            let path = WorkspacePath::new(RootId(root), path).unwrap();
            assert_eq!(nested().stand_on(&path), stands, "{root}:{path}");
        }
    }
}
