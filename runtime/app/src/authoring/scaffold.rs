//! `plugin new`: a project that builds and passes its tests, before anything is changed in it.
#![expect(clippy::disallowed_methods, reason = "this room makes the folder that it is asked for")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::PluginId;

use super::vendored::{below, file};
use super::{AuthoringError, Language, sdk};

/// The namespace of a plugin whose author named none.
const OWN_NAMESPACE: &str = "my";
/// The only tool of every template.
const TOOL: &str = "greet";

/// A project that was laid out.
#[derive(Debug)]
pub struct Project {
    /// Its folder.
    pub folder: PathBuf,
    /// The plugin.
    pub id: PluginId,
    /// Its tool as the model knows it.
    pub tool: String,
    /// The file that `plugin build` makes, from the folder.
    pub built: PathBuf,
}

/// The file in the project that the plugin of that id is built into.
pub fn built(id: &PluginId) -> PathBuf {
    Path::new(super::BUILT).join(format!("{}-{}.wasm", id.namespace(), id.name()))
}

/// Lays out a project for the plugin `name`, which may leave its namespace out, in `folder`, or else in one of its name.
/// Nothing is left of it where that fails; a folder in which something is stays as it is.
pub fn lay_out(name: &str, language: Language, folder: Option<&Path>) -> Result<Project, AuthoringError> {
    let id = PluginId::new(if name.contains(':') { name.to_owned() } else { format!("{OWN_NAMESPACE}:{name}") })?;
    let folder = folder.map_or_else(|| PathBuf::from(id.name()), Path::to_owned);
    let tool = if id.name() == TOOL { TOOL.to_owned() } else { format!("{}__{TOOL}", id.name()) };
    let files = files(&id, language, &tool)?;
    let existed = is_free(&folder)?;
    let written = files.iter().try_for_each(|(name, text)| write(&folder.join(name), text));
    if let Err(error) = written {
        // What is told is why it failed.
        let _ = if existed { clear(&folder) } else { fs::remove_dir_all(&folder) };
        return Err(error);
    }
    Ok(Project { built: built(&id), folder, id, tool })
}

/// Whether the folder is there, and empty. Anything else in its place is an error.
fn is_free(folder: &Path) -> Result<bool, AuthoringError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(true),
            Some(_) => Err(AuthoringError::Taken(folder.to_owned())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(AuthoringError::Taken(folder.to_owned())),
        Err(error) => Err(AuthoringError::files(folder, error)),
    }
}

fn clear(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), AuthoringError> {
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    parent.and_then(|()| fs::write(path, text)).map_err(|error| AuthoringError::files(path, error))
}

/// All files of the project.
fn files(id: &PluginId, language: Language, tool: &str) -> Result<sdk::Files, AuthoringError> {
    let package = package(id);
    let (title, rust) = (title(id.name()), sdk::rust_version()?);
    let stem = built(id).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let values = [
        ("{{id}}", id.as_str()),
        ("{{title}}", &title),
        ("{{package}}", &package),
        ("{{rust}}", &rust),
        ("{{file}}", &stem),
        ("{{call}}", tool),
    ];
    let filled = |text: &str| values.iter().fold(text.to_owned(), |text, (key, value)| text.replace(key, value));
    let template = format!("runtime/app/templates/{}", language.id());
    let mut files: sdk::Files = below(&template)
        // Under its own name it would hold for the templates.
        .map(|(name, text)| (if name == "gitignore" { ".gitignore" } else { name }.to_owned(), filled(text)))
        .collect();
    for (every, own) in [("plugin.toml", super::MANIFEST), ("tests.toml", "tests/greet.toml")] {
        let name = format!("runtime/app/templates/every/{every}");
        let text = file(&name).ok_or_else(|| AuthoringError::Vendored(format!("`{name}` is not there")))?;
        files.push((own.to_owned(), filled(text)));
    }
    let brought = match language {
        Language::Rust => sdk::for_rust(&package)?,
        Language::Python | Language::Js | Language::C => {
            let name = format!("{template}/world.wit");
            let world = file(&name).ok_or_else(|| AuthoringError::Vendored(format!("`{name}` is not there")))?;
            files.retain(|(name, _)| name != "world.wit");
            sdk::for_others(world)
        }
    };
    files.extend(brought);
    Ok(files)
}

/// What registries of packages take as a name: it begins with a letter, and is no word of a language.
fn package(id: &PluginId) -> String {
    let name = format!("{}-{}", id.namespace(), id.name());
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("plugin-{name}") } else { name }
}

/// `word-count` as people write it: `Word count`.
fn title(name: &str) -> String {
    let words = name.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("greet");
        let made = lay_out("acme:greet", Language::Rust, Some(&folder)).unwrap();
        assert_eq!((made.id.as_str(), made.tool.as_str()), ("acme:greet", "greet"));
        let manifest = fs::read_to_string(folder.join("plugin.toml")).unwrap();
        assert!(manifest.contains("id = \"acme:greet\"\n"), "{manifest}");
        let error = lay_out("acme:other", Language::Rust, Some(&folder)).unwrap_err();
        assert!(error.to_string().ends_with("greet` is there already"), "{error}");
        assert_eq!(fs::read_to_string(folder.join("plugin.toml")).unwrap(), manifest);
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(lay_out("acme:x", Language::Rust, Some(&file)), Err(AuthoringError::Taken(_))));
        let empty = place.path().join("empty");
        fs::create_dir(&empty).unwrap();
        lay_out("x", Language::Rust, Some(&empty)).unwrap();
    }

    #[test]
    fn names_follow_the_rules_of_the_manifest() {
        for bad in ["", "Greet", "a:b:c", "a b", "../x", "acme:", ":x", "a/b"] {
            let place = tempfile::tempdir().unwrap();
            let error = lay_out(bad, Language::Rust, Some(&place.path().join("x"))).unwrap_err();
            assert!(matches!(error, AuthoringError::Name(_)), "{bad}: {error}");
            assert!(!place.path().join("x").exists());
        }
    }

    #[test]
    fn every_placeholder_is_filled() {
        let id = PluginId::new("acme:word-count").unwrap();
        for language in Language::ALL {
            let files = files(&id, language, "word-count__greet").unwrap();
            for (name, text) in files.iter().filter(|(name, _)| !name.starts_with("vendor/")) {
                assert!(!text.contains("{{"), "{}: {name}", language.id());
            }
            for wanted in ["plugin.toml", "README.md", ".gitignore", "tests/greet.toml", language.mark()] {
                assert!(files.iter().any(|(name, _)| name == wanted), "{}: {wanted}", language.id());
            }
        }
        assert_eq!(title("word-count"), "Word count");
        assert_eq!(package(&PluginId::new("7up:x").unwrap()), "plugin-7up-x");
    }
}
