//! `acp-runtime plugin new` and `build`: a project, and the plugin that comes of it.
#![expect(clippy::disallowed_methods, reason = "`plugin build` writes the file that it is asked for")]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use acp_runtime_host::build::{BuildError, embed};
use acp_runtime_host::limits::COMPONENT;
use acp_runtime_host::manifest::{Inventory, MOST_BYTES, Manifest};
use acp_runtime_host::package::{Digest, read_whole};
use acp_runtime_host::publishers::RESERVED;

use super::super::arguments::plugin::{BuildArguments, NewArguments};
use super::super::failure::Failure;
use crate::authoring::{AuthoringError, Language, MANIFEST, Project, built, compile, lay_out};
use crate::compose::Runtime;

pub(super) fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let NewArguments { name, lang, dir } = arguments;
    let Project { folder, id, tool, built } = lay_out(name, *lang, dir.as_deref())?;
    writeln!(io::stdout(), "{}", folder.display())?;
    let mut err = io::stderr();
    if RESERVED.contains(&id.namespace()) {
        writeln!(
            err,
            "warning: the namespace `{}` is reserved: nobody installs a plugin of it that you have signed",
            id.namespace()
        )?;
    }
    writeln!(err, "`{id}` is laid out in `{}`. Next:", folder.display())?;
    let mut steps = vec![format!("cd {}", quoted(&folder))];
    steps.extend(lang.preparation().iter().map(|step| (*step).to_owned()));
    steps.extend([
        "acp-runtime plugin test".to_owned(),
        format!("acp-runtime plugin install {}", built.display()),
        format!("acp-runtime run '/call {tool} {{\"name\": \"Ada\"}}'"),
    ]);
    steps.iter().try_for_each(|step| writeln!(err, "  {step}"))?;
    Ok(())
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    shlex::try_quote(&path).map_or_else(|_| path.clone(), std::borrow::Cow::into_owned)
}

pub(super) async fn command(runtime: &Runtime, arguments: BuildArguments) -> Result<(), Failure> {
    let folder = arguments.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let output = build(runtime, &folder, Some(arguments)).await?;
    writeln!(io::stdout(), "{}", output.display())?;
    Ok(())
}

/// What a plugin is built from.
enum Source {
    Compiled { path: PathBuf, bytes: Vec<u8> },
    Project(Language),
}

/// Builds the project in `folder`; answers where the plugin is. Nothing is left half written.
pub(super) async fn build(
    runtime: &Runtime,
    folder: &Path,
    arguments: Option<BuildArguments>,
) -> Result<PathBuf, Failure> {
    let (component, manifest, output) = match arguments {
        Some(BuildArguments { component, manifest, output, .. }) => (component, manifest, output),
        None => (None, None, None),
    };
    let manifest = manifest.unwrap_or_else(|| folder.join(MANIFEST));
    let source = match component {
        Some(path) => Source::Compiled { bytes: read_whole(&path, COMPONENT)?, path },
        None => Source::Project(Language::of(folder)?),
    };
    // What is wrong with it is told before anything is compiled.
    let toml = String::from_utf8(read_whole(&manifest, MOST_BYTES as u64)?).map_err(|error| {
        Failure::new(format!("`{}` is not text: {error}", manifest.display())).hint("name the plugin's `plugin.toml`")
    })?;
    let wrong =
        |place: &Path, error: &BuildError| Failure::new(format!("`{}`: {error}", place.display())).hint(error.hint());
    let alone = Manifest::from_toml(&toml, Inventory::default()).map_err(|error| wrong(&manifest, &error.into()))?;
    let (component, bytes) = match source {
        Source::Compiled { path, bytes } => (path, bytes),
        Source::Project(language) => {
            let folder = folder.to_owned();
            let compiled = tokio::task::spawn_blocking(move || compile(&folder, language)).await;
            let path =
                compiled.map_err(|error| Failure::new(format!("the compiler was not waited for: {error}")))??;
            let bytes = read_whole(&path, COMPONENT)?;
            (path, bytes)
        }
    };
    let plugin = embed(runtime.shelf().host(), &bytes, &toml).await.map_err(|error| match &error {
        BuildError::Manifest(_) => wrong(&manifest, &error),
        BuildError::NotAComponent(_) | BuildError::Inspect(_) | BuildError::Schema(_) | BuildError::Hooks(_) => {
            wrong(&component, &error)
        }
    })?;
    let output = output.unwrap_or_else(|| folder.join(built(&alone.id)));
    write(&output, &plugin).map_err(|error| Failure::unwritable(&output, &error))?;
    let (id, version, size) = (&alone.id, &alone.version, plugin.len().div_ceil(1024));
    writeln!(io::stderr(), "built {id} {version}: {size} KiB, {}", Digest::of(&plugin))?;
    Ok(output)
}

/// Renamed into place, so that a program that looks there never sees a half.
fn write(output: &Path, plugin: &[u8]) -> io::Result<()> {
    if let Some(folder) = output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let unfinished = output.with_extension(format!("{}.new", std::process::id()));
    // Nothing is written through what somebody has put there: the project may be anybody's.
    let mut file = std::fs::File::create_new(&unfinished)?;
    let written = file.write_all(plugin).and_then(|()| std::fs::rename(&unfinished, output));
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(&unfinished);
    })
}

impl From<AuthoringError> for Failure {
    fn from(error: AuthoringError) -> Self {
        let hint = error.hint();
        let told = if error.is_misuse() { Self::usage(error.to_string()) } else { Self::new(error.to_string()) };
        told.hint(hint)
    }
}
