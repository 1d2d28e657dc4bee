//! What a project brings along that counts only once its owner has looked at it: plugins and steering files.
//!
//! `.acp-runtime/plugins/*.wasm` is code, and `.acp-runtime/steering/*.md` speaks to the model in its owner's name, so
//! neither is loaded before the owner has trusted exactly what is there. Trust is in a digest over the name and every
//! byte of each of these files: whatever is changed, added or removed later is not trusted. `config.toml` beside them
//! needs none, since it only narrows. Knows nothing about where answers are kept, how the owner is asked, and what a
//! plugin is made into.

use std::fmt::Write as _;
use std::path::PathBuf;

use acp_runtime_agent::noun::counted;
use acp_runtime_agent::plain;
use acp_runtime_agent::workspace::WorkspaceError;
use acp_runtime_host::package::{Digest, Package};

use crate::workspace::OpenRoot;

/// Where a project keeps plugins of its own.
pub const PROJECT_PLUGINS: &str = ".acp-runtime/plugins";
/// Where a project keeps what it tells every model.
pub const PROJECT_STEERING: &str = ".acp-runtime/steering";

/// The most files of each kind.
const COUNT: usize = 64;
/// The most bytes of all plugins: they are read whole for every session of the project.
const PLUGIN_BYTES: u64 = 64 << 20;
/// The most bytes of all steering files.
const STEERING_BYTES: u64 = 256 << 10;
/// Bytes of a file's name that people are shown.
const NAME: usize = 120;

/// The plugins and steering files of a project, as they are now.
#[derive(Debug, Clone)]
pub struct ProjectContent {
    /// The project's folder, absolute and without links: what trust is kept under.
    pub folder: String,
    /// Of all that is here.
    pub digest: Digest,
    /// By name.
    pub plugins: Vec<ProjectPlugin>,
    /// By name.
    pub steering: Vec<Steering>,
}

/// A project's plugin. Its code is not kept in memory.
#[derive(Debug, Clone)]
pub struct ProjectPlugin {
    /// Below the project's folder.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    /// Of the file as it was read.
    pub digest: Digest,
}

/// A project's steering file.
#[derive(Debug, Clone)]
pub struct Steering {
    /// Below the project's folder.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl ProjectContent {
    /// What to do about a project whose own files cannot be read.
    pub const HINT: &str = "make them ordinary files in the project's own folder, or remove them";

    /// What trust in the project in `root` is kept under.
    pub fn folder_of(root: &OpenRoot) -> String {
        root.canonical.display().to_string()
    }

    /// Reads what the project in `root` has; none where it has neither plugins nor steering files. Links are errors, as
    /// is more than anybody can look at: 64 files of a kind, 64 MiB of plugins, 256 KiB of steering files.
    pub fn read(root: &OpenRoot) -> Result<Option<Self>, WorkspaceError> {
        let plugins = root.files(PROJECT_PLUGINS, "wasm", COUNT, PLUGIN_BYTES)?;
        let steering = root.files(PROJECT_STEERING, "md", COUNT, STEERING_BYTES)?;
        if plugins.is_empty() && steering.is_empty() {
            return Ok(None);
        }
        let mut listing = String::new();
        let mut list = |name: &str, digest: Digest| {
            // No name has a NUL. Writing to a string cannot fail.
            let _ = write!(listing, "{digest}\0{name}\0");
        };
        let plugins = plugins.into_iter().map(|(file, bytes)| {
            let (name, digest) = (format!("{PROJECT_PLUGINS}/{file}"), Digest::of(&bytes));
            list(&name, digest);
            ProjectPlugin { path: root.path.join(&name), name, digest }
        });
        let plugins = plugins.collect();
        let steering = steering.into_iter().map(|(file, bytes)| {
            let name = format!("{PROJECT_STEERING}/{file}");
            list(&name, Digest::of(&bytes));
            let text = String::from_utf8(bytes)
                .map_err(|_| WorkspaceError::NotText { path: name.clone(), seems: "something else" })?;
            Ok(Steering { name, text })
        });
        let steering = steering.collect::<Result<_, WorkspaceError>>()?;
        let folder = Self::folder_of(root);
        Ok(Some(Self { folder, digest: Digest::of(listing.as_bytes()), plugins, steering }))
    }

    /// In a few words: `2 plugins and 1 steering file`.
    pub fn summary(&self) -> String {
        let parts = [(self.plugins.len(), "plugin"), (self.steering.len(), "steering file")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| counted(count, what)).collect();
        parts.join(" and ")
    }

    /// All of it for whoever is to trust it, as Markdown: each plugin with the rights that it asks for, and each steering
    /// file with its size.
    pub fn described(&self) -> String {
        let mut text = String::new();
        for plugin in &self.plugins {
            let name = shown(&plugin.name);
            let _ = match Package::read_pinned(&plugin.path, plugin.digest) {
                Ok(package) => {
                    let manifest = package.manifest();
                    let rights: Vec<String> =
                        manifest.ceiling().iter().map(|right| plain::code(&right.to_string())).collect();
                    let rights = if rights.is_empty() { "nothing".to_owned() } else { rights.join(", ") };
                    let events: Vec<String> = manifest.hooks.iter().map(|hook| format!("`{}`", hook.event)).collect();
                    let hooks = match events.as_slice() {
                        [] => String::new(),
                        events => format!(
                            "; once trusted, its hooks are told of {}, and may stop or change what is about to happen",
                            events.join(", ")
                        ),
                    };
                    let (id, version) = (&manifest.id, &manifest.version);
                    writeln!(text, "- {name}: plugin `{id}` {version}, asks for {rights}{hooks}")
                }
                Err(error) => writeln!(text, "- {name}: cannot be used: {}", plain::line(&error.to_string(), 400)),
            };
        }
        for Steering { name, text: said } in &self.steering {
            let name = shown(name);
            let _ = writeln!(text, "- {name}: {} bytes that every model is told as your instructions", said.len());
        }
        let _ = writeln!(text, "- all of it: `{}`", self.digest);
        text
    }
}

/// A file's name as people read it.
fn shown(name: &str) -> String {
    plain::code(plain::cut(name, NAME))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::workspace::RootRegistry;

    fn read(folder: &Path) -> Result<Option<ProjectContent>, String> {
        let root = RootRegistry::default().open(folder).unwrap();
        ProjectContent::read(&root).map_err(|error| error.to_string())
    }

    fn digest(folder: &Path) -> Digest {
        read(folder).unwrap().unwrap().digest
    }

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in [PROJECT_PLUGINS, PROJECT_STEERING] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        folder
    }

    #[test]
    fn every_byte_and_every_name_counts() {
        let project = project();
        let at = |name: &str| project.path().join(".acp-runtime").join(name);
        assert!(read(project.path()).unwrap().is_none());
        fs::write(at("steering/a.md"), "one").unwrap();
        fs::write(at("plugins/p.wasm"), "two").unwrap();
        let first = digest(project.path());
        // What is not loaded does not count.
        fs::write(at("steering/notes.txt"), "x").unwrap();
        fs::write(at("config.toml"), "mode = 'plan'").unwrap();
        assert_eq!(digest(project.path()), first);
        fs::write(at("steering/a.md"), "onE").unwrap();
        let changed = digest(project.path());
        fs::write(at("steering/a.md"), "one").unwrap();
        assert_eq!(digest(project.path()), first);
        fs::write(at("plugins/p.wasm"), "tw").unwrap();
        let shorter = digest(project.path());
        fs::write(at("plugins/p.wasm"), "two").unwrap();
        fs::write(at("steering/b.md"), "").unwrap();
        let added = digest(project.path());
        fs::remove_file(at("steering/b.md")).unwrap();
        fs::rename(at("steering/a.md"), at("steering/c.md")).unwrap();
        let renamed = digest(project.path());
        fs::rename(at("steering/c.md"), at("steering/a.md")).unwrap();
        fs::remove_file(at("plugins/p.wasm")).unwrap();
        let removed = digest(project.path());
        let mut all = vec![first, changed, shorter, added, renamed, removed];
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn it_says_what_is_to_be_trusted() {
        let project = project();
        let at = |name: &str| project.path().join(".acp-runtime").join(name);
        fs::write(at("steering/a.md"), "Use tabs.").unwrap();
        fs::write(at("plugins/p.wasm"), "no component").unwrap();
        let content = read(project.path()).unwrap().unwrap();
        assert_eq!(content.summary(), "1 plugin and 1 steering file");
        let text = content.described();
        assert!(text.contains("- `.acp-runtime/plugins/p.wasm`: cannot be used: "), "{text}");
        assert!(text.contains("- `.acp-runtime/steering/a.md`: 9 bytes that every model is told"), "{text}");
        assert!(text.contains(&content.digest.to_string()), "{text}");
        fs::write(at("steering/b`: 1 byte. [x](y) `.md"), "x").unwrap();
        let text = read(project.path()).unwrap().unwrap().described();
        assert!(text.contains(r"- `.acp-runtime/steering/b\u{60}: 1 byte. [x](y) \u{60}.md`: 1 bytes"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn links_odd_files_and_too_much_are_refused() {
        use std::os::unix::fs::symlink;
        let project = project();
        let at = |name: &str| project.path().join(".acp-runtime").join(name);
        let refused = || read(project.path()).unwrap_err();
        fs::write(project.path().join("a.md"), "x").unwrap();
        symlink("../../a.md", at("steering/a.md")).unwrap();
        assert_eq!(refused(), "`.acp-runtime/steering/a.md`: it is a link, and none is followed here");
        fs::remove_file(at("steering/a.md")).unwrap();
        fs::create_dir(at("steering/a.md")).unwrap();
        assert_eq!(refused(), "`.acp-runtime/steering/a.md` is not a file");
        fs::remove_dir(at("steering/a.md")).unwrap();
        fs::write(at("steering/a.md"), b"\xff\xfe").unwrap();
        assert!(refused().contains("is not a text file: it seems to be something else"), "{}", refused());
        fs::write(at("steering/a.md"), vec![b'a'; usize::try_from(STEERING_BYTES).unwrap() + 1]).unwrap();
        assert_eq!(refused(), "`.acp-runtime/steering`: its files `*.md` have more than 262144 bytes");
        fs::remove_file(at("steering/a.md")).unwrap();
        for number in 0..=COUNT {
            fs::write(at(&format!("steering/{number}.md")), "x").unwrap();
        }
        assert_eq!(refused(), "`.acp-runtime/steering`: it has more than 64 files `*.md`");
        fs::remove_dir_all(at("steering")).unwrap();
        fs::create_dir(project.path().join("elsewhere")).unwrap();
        fs::write(project.path().join("elsewhere/a.md"), "x").unwrap();
        symlink("../elsewhere", at("steering")).unwrap();
        assert_eq!(refused(), "`.acp-runtime/steering`: it is behind a link, and none is followed here");
        fs::rename(project.path().join(".acp-runtime"), project.path().join("moved")).unwrap();
        symlink("moved", project.path().join(".acp-runtime")).unwrap();
        assert_eq!(refused(), "`.acp-runtime/plugins`: it is behind a link, and none is followed here");
    }
}
