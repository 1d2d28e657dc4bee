//! Whether the folders and files that are written can be. Nothing that is made stays, and nothing is opened that could
//! wait.

use std::io;
use std::path::{Path, PathBuf};

use acp_runtime_host::regular_file;

use super::Check;
use crate::audit;
use crate::settings::{Paths, Settings};

pub(super) fn folders(paths: &Paths) -> Vec<Check> {
    let hint = "check its permissions, or set `ACP_RUNTIME_HOME` to a folder that can be written";
    let checked = |path: PathBuf, without: &str| match writable(&path) {
        Ok(()) => Check::ok("folders", format!("`{}`", path.display())),
        Err(problem) => {
            Check::warn("folders", format!("`{}` cannot be written: {problem}; {without}", path.display()), hint)
        }
    };
    vec![
        checked(paths.plugins(), "none can be installed"),
        checked(paths.audit(), "decisions are not kept"),
        checked(paths.compiled(), "plugins are compiled anew by each process"),
    ]
}

/// The files that lines are added to. One that is not there is made later.
pub(super) fn files(settings: &Settings, paths: &Paths) -> Vec<Check> {
    let mut checks = Vec::new();
    let audit = paths.audit().join(audit::FILE);
    // Of a link to nothing the system says that nothing is there.
    if audit.exists() || audit.is_symlink() {
        let hint = "make it a file that you can write, or move it away";
        checks.push(checked(
            "audit",
            &audit,
            appendable(&audit, regular_file::require_own),
            "decisions are not kept",
            hint,
        ));
    }
    if let Some(log) = &settings.log.file {
        let hint = "name another one with `--log-file` or `log.file`";
        checks.push(checked(
            "log",
            log,
            appendable(log, regular_file::require_or_device),
            "nothing starts without its log",
            hint,
        ));
    }
    checks
}

fn checked(name: &'static str, path: &Path, can: Result<(), String>, without: &str, hint: &str) -> Check {
    match can {
        Ok(()) => Check::ok(name, format!("`{}`", path.display())),
        Err(problem) => {
            Check::fail(name, format!("`{}` cannot be written: {problem}; {without}", path.display()), hint)
        }
    }
}

/// Whether something at `path` can be added to, or a file be made there. Folders are not made for it.
fn appendable(path: &Path, require: fn(&Path) -> io::Result<()>) -> Result<(), String> {
    require(path).map_err(|error| error.to_string())?;
    if !path.exists() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return if folder.is_dir() { writable(folder) } else { Err(format!("`{}` is not a folder", folder.display())) };
    }
    may_write(path)
}

/// Whether a folder can be written, or be made and written. Permissions do not say all: a file system may be read-only,
/// full, or one that the kernel makes up. So a folder is made there, and removed again.
fn writable(path: &Path) -> Result<(), String> {
    let there = nearest_folder(path)?;
    may_write(there)?;
    let tried = there.join(format!(".acp-runtime-{}", std::process::id()));
    match std::fs::create_dir(&tried) {
        Ok(()) => std::fs::remove_dir(&tried).map_err(|error| format!("`{}` stays: {error}", tried.display())),
        // Another one like this, which found it writable.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(format!("nothing can be made in `{}`: {error}", there.display())),
    }
}

#[cfg(unix)]
fn may_write(path: &Path) -> Result<(), String> {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(|error| error.to_string())
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Ok(metadata) if metadata.permissions().readonly() => Err("it is read-only".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The folder itself, or what there is of the way to it.
fn nearest_folder(path: &Path) -> Result<&Path, String> {
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        let is = |what: &str| Err(format!("`{}` {what}", part.display()));
        match (part.symlink_metadata(), part.is_dir()) {
            (Ok(_), true) => return Ok(part),
            (Ok(found), false) if found.is_symlink() && !part.exists() => return is("is a link that leads nowhere"),
            (Ok(_), false) => return is("is not a folder"),
            (Err(error), _) if is_absent(&error) => {}
            (Err(error), _) => return Err(format!("`{}`: {error}", part.display())),
        }
    }
    Ok(Path::new("."))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_under_a_file_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(writable(&folder.path().join("a/b")), Ok(()));
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(writable(&folder.path().join("file/b")).unwrap_err().ends_with("file` is not a folder"));
        let long = folder.path().join("x".repeat(300)).join("b");
        assert!(writable(&long).unwrap_err().contains("File name too long"));
        let left: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["file"], "nothing stays");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_cannot_be_made_is_none_that_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path().join("nowhere"), folder.path().join("link")).unwrap();
        let lost = folder.path().join("link/acp-runtime");
        assert!(writable(&lost).unwrap_err().ends_with("link` is a link that leads nowhere"));
        // Whoever may do anything may write there, and makes nothing all the same.
        let made_up = writable(Path::new("/proc/acp-runtime/plugins")).unwrap_err();
        assert!(made_up.contains("`/proc`: ") || made_up.contains("ermission denied"), "{made_up}");
    }

    #[test]
    fn a_file_is_added_to_where_it_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let can = |path: &Path| appendable(path, regular_file::require_or_device);
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(can(&folder.path().join("file")), Ok(()));
        assert_eq!(can(&folder.path().join("new")), Ok(()));
        assert_eq!(can(folder.path()), Err("it is a folder, not a file".to_owned()));
        assert!(can(&folder.path().join("no/new")).unwrap_err().ends_with("no` is not a folder"));
        assert!(!folder.path().join("new").exists(), "nothing is made");
        #[cfg(unix)]
        assert_eq!(can(Path::new("/dev/null")), Ok(()));
    }
}
