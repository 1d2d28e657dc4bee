//! Set-ups in the target folder: made from pinned files, and kept until these change.
#![expect(clippy::disallowed_methods, reason = "installs into the target folder")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{program, run};

/// Has `make` fill the new folder `folder`, unless it was filled from the same files before.
pub(crate) fn keep(folder: &Path, pinned: &[PathBuf], make: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut made_from = String::new();
    for file in pinned {
        made_from.push_str(&fs::read_to_string(file)?);
    }
    let stamp = folder.join("pinned");
    if fs::read_to_string(&stamp).is_ok_and(|kept| kept == made_from) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    make()?;
    fs::write(stamp, made_from)?;
    Ok(())
}

/// A virtual environment in `folder` with what `requirements` has, by hash; answers its Python. `more` are further options
/// of pip.
pub(crate) fn python(folder: &Path, requirements: &Path, more: &[&str]) -> Result<PathBuf> {
    let made = run(program("python3").args(["-m", "venv"]).arg(folder));
    made.map_err(|error| format!("{error}; install Python 3.10 or later, with its module `venv`"))?;
    let python = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
    run(program(&python).args(install).args(more).arg("--requirement").arg(requirements))?;
    Ok(python)
}

/// Makes `to` another name of the file `from`.
#[cfg(unix)]
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(from, to)?)
}

/// Makes `to` another name of the file `from`: a copy, since links need rights here.
#[cfg(not(unix))]
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)?;
    Ok(())
}
