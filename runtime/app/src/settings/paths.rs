//! Where files are kept: by the XDG rules, or all under one folder.

use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::PathGlob;
use acp_runtime_host::package::LOCKFILE;
use directories::{BaseDirs, ProjectDirs};

use super::SettingsError;

/// The variable that puts everything under one folder.
pub const HOME_VARIABLE: &str = "ACP_RUNTIME_HOME";

/// Where files are kept. Finding out makes no folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
    cache: PathBuf,
    bundled: Option<PathBuf>,
    program: Option<PathBuf>,
}

impl Paths {
    /// As the environment says.
    pub fn find() -> Result<Self, SettingsError> {
        let home = std::env::var_os(HOME_VARIABLE).filter(|home| !home.is_empty());
        let mut paths = match home {
            Some(home) => Self::under(&PathBuf::from(home))?,
            None => Self::by_convention()?,
        };
        paths.bundled = std::env::current_exe().ok().as_deref().and_then(beside);
        Ok(paths)
    }

    /// Everything under one folder, without bundled plugins.
    pub fn under(home: &Path) -> Result<Self, SettingsError> {
        let home =
            std::path::absolute(home).map_err(|source| SettingsError::Unreadable { path: home.to_owned(), source })?;
        Ok(Self {
            config: home.join("config.toml"),
            data: home.clone(),
            state: home.clone(),
            cache: home,
            bundled: None,
            program: None,
        })
    }

    fn by_convention() -> Result<Self, SettingsError> {
        let folders = ProjectDirs::from("", "", "acp-runtime").ok_or(SettingsError::Homeless)?;
        let paths = Self {
            config: folders.config_dir().join("config.toml"),
            data: folders.data_dir().to_owned(),
            state: folders.state_dir().unwrap_or(folders.data_local_dir()).to_owned(),
            cache: folders.cache_dir().to_owned(),
            bundled: None,
            program: None,
        };
        // The XDG rules leave out what is relative. Under a home that is, files would be wherever the program is started.
        if [&paths.config, &paths.data, &paths.state, &paths.cache].into_iter().any(|path| path.is_relative()) {
            home_folder()?;
        }
        Ok(paths)
    }

    /// The same for a program that is not the running one: it has its own bundled plugins, and is what other programs are
    /// started through.
    #[must_use]
    pub fn of_program(self, executable: &Path) -> Self {
        Self { bundled: beside(executable), program: Some(executable.to_owned()), ..self }
    }

    /// The same, with compiled plugins where `other` has them.
    #[must_use]
    pub fn compiled_as(self, other: &Self) -> Self {
        Self { cache: other.cache.clone(), ..self }
    }

    /// The program's file; none where it is the running one.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// The user's settings.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// The publishers of plugins that are trusted.
    pub fn trust(&self) -> PathBuf {
        self.config.with_file_name("trust.toml")
    }

    /// The sessions.
    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions.db")
    }

    /// The secrets that were kept.
    pub fn secrets(&self) -> PathBuf {
        self.data.join("secrets.json")
    }

    /// The installed plugins.
    pub fn plugins(&self) -> PathBuf {
        self.data.join("plugins")
    }

    /// The plugins that somebody is just working on.
    pub fn developments(&self) -> PathBuf {
        self.data.join("developments")
    }

    /// Which plugins are installed, and exactly which files they are: beside the settings, so that it goes where they go.
    pub fn lockfile(&self) -> PathBuf {
        self.config.with_file_name(LOCKFILE)
    }

    /// What plugins keep in files.
    pub fn plugin_data(&self) -> PathBuf {
        self.data.join("plugin-data")
    }

    /// The plugins that came with the program; none where there are none.
    pub fn bundled_plugins(&self) -> Option<&Path> {
        self.bundled.as_deref()
    }

    /// The decisions of the gate.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }

    /// The compiled plugins.
    pub fn compiled(&self) -> PathBuf {
        self.cache.join("compiled")
    }

    /// What of the program's own lies in `folder`, which is absolute and without links: as paths there, each with all that is
    /// below it. All of the folder where it lies in one of the program's own.
    pub fn own_in(&self, folder: &Path) -> Vec<PathGlob> {
        let beside = ["-wal", "-shm", "-journal", "-outputs", "-owners"].map(|end| {
            let mut file = self.sessions().into_os_string();
            file.push(end);
            file.into()
        });
        let kept = self.kept().into_iter().map(|(_, path)| path);
        let all = kept.chain(beside).chain([self.config.clone()]);
        let own = all.filter_map(|path| {
            let path = without_links(path);
            match path.strip_prefix(folder) {
                Ok(there) => Some(PathGlob::subtree(there.to_str()?)),
                Err(_) => folder.starts_with(&path).then(|| PathGlob::subtree("")),
            }
        });
        own.collect()
    }

    /// All that is kept and loaded, apart from the settings, by name.
    pub fn kept(&self) -> Vec<(&'static str, PathBuf)> {
        let mut named = vec![
            ("sessions", self.sessions()),
            ("secrets", self.secrets()),
            ("trust", self.trust()),
            ("plugins", self.plugins()),
            ("lockfile", self.lockfile()),
            ("plugin data", self.plugin_data()),
            ("audit", self.audit()),
            ("compiled", self.compiled()),
        ];
        named.extend(self.bundled.clone().map(|bundled| ("bundled", bundled)));
        named
    }
}

/// The person's home folder. One that has no absolute path is an error.
pub(super) fn home_folder() -> Result<PathBuf, SettingsError> {
    let home = BaseDirs::new().ok_or(SettingsError::Homeless)?.home_dir().to_owned();
    if home.is_relative() {
        let problem = format!("`{}` is not an absolute path", home.display());
        return Err(SettingsError::Variable { name: "HOME", problem });
    }
    Ok(home)
}

/// As far as it is there.
fn without_links(path: PathBuf) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path,
    }
}

/// The folder of bundled plugins for a program at `executable`.
fn beside(executable: &Path) -> Option<PathBuf> {
    let folder = executable.parent()?;
    let installed = folder.parent().map(|prefix| prefix.join("share/acp-runtime/plugins"));
    [Some(folder.join("plugins")), installed].into_iter().flatten().find(|place| place.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_holds_everything() {
        let paths = Paths::under(Path::new("/h")).unwrap();
        let named: Vec<String> =
            paths.kept().into_iter().map(|(name, path)| format!("{name} {}", path.display())).collect();
        let expected = [
            "sessions /h/sessions.db",
            "secrets /h/secrets.json",
            "trust /h/trust.toml",
            "plugins /h/plugins",
            "lockfile /h/acp-plugins.lock",
            "plugin data /h/plugin-data",
            "audit /h/audit",
            "compiled /h/compiled",
        ];
        assert_eq!(named, expected);
        assert_eq!(paths.config(), Path::new("/h/config.toml"));
    }

    #[test]
    fn what_is_the_program_s_own_is_known_in_every_folder() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let home = place.join("home");
        std::fs::create_dir_all(home.join("plugins/kept")).unwrap();
        let paths = Paths::under(&home).unwrap();
        let own = |folder: &Path| {
            let globs = paths.own_in(folder).into_iter().map(|glob| glob.as_str().to_owned());
            globs.collect::<Vec<_>>()
        };
        let around = own(&place);
        for expected in ["home/config.toml/**", "home/plugins/**", "home/sessions.db/**", "home/sessions.db-wal/**"] {
            assert!(around.iter().any(|glob| glob == expected), "{expected}: {around:?}");
        }
        assert!(own(&home).contains(&"audit/**".to_owned()));
        assert_eq!(own(&home.join("plugins/kept")), ["**"]);
        assert_eq!(own(&place.join("elsewhere")), Vec::<String>::new());
    }

    #[test]
    fn bundled_plugins_are_beside_the_program_or_in_its_prefix() {
        let prefix = tempfile::tempdir().unwrap();
        let program = prefix.path().join("bin/acp-runtime");
        assert_eq!(beside(&program), None);
        let shared = prefix.path().join("share/acp-runtime/plugins");
        std::fs::create_dir_all(&shared).unwrap();
        assert_eq!(beside(&program), Some(shared));
        let near = prefix.path().join("bin/plugins");
        std::fs::create_dir_all(&near).unwrap();
        assert_eq!(beside(&program), Some(near));
    }
}
