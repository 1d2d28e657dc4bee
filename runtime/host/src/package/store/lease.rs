//! What running processes use of the store: as long as one of them lives, its files stay, whatever is updated or removed.
//!
//! A lease is a file that its process has locked; the system lets go of the lock when the process ends, however it ends.
//! An empty one stands for everything: so nothing is lost between reading the index and writing down what it says.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Digest;
use crate::regular_file;

/// Bytes of a lease: some ten thousand digests.
const MOST: u64 = 1 << 20;
/// How often one is begun, where each time another process takes it for one that was left behind.
const TRIES: usize = 8;

/// Keeps the files of what was read from the index. It ends with the value.
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
}

impl Lease {
    /// A lease of everything.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        static BEGUN: AtomicU32 = AtomicU32::new(0);
        regular_file::private_folder(folder)?;
        for _ in 0..TRIES {
            let path = folder.join(format!("{}-{}", std::process::id(), BEGUN.fetch_add(1, Ordering::Relaxed)));
            let made =
                regular_file::open_own(&path, regular_file::private(OpenOptions::new().write(true).create_new(true)));
            match made {
                // Of a process that had the same number, in another container or before.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    let file = made?;
                    if file.try_lock().is_ok() && path.exists() {
                        return Ok(Self { file, path });
                    }
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "its leases are held by other processes"))
    }

    /// A lease of these files from now on.
    pub(super) fn narrow(&mut self, digests: impl Iterator<Item = Digest>) -> io::Result<()> {
        // One that names nothing would name everything.
        let text: String = std::iter::once("these\n".to_owned()).chain(digests.map(|one| format!("{one}\n"))).collect();
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Whoever sweeps next finds it without its lock.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What must stay for the sake of others.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leased {
    Everything,
    These(BTreeSet<Digest>),
}

/// What is held by living processes. Leases that were left behind are taken away.
pub(super) fn leased(folder: &Path) -> io::Result<Leased> {
    let mut held = BTreeSet::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Leased::These(held)),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let file = match regular_file::open_own(&path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => std::fs::remove_file(&path)?,
            Err(TryLockError::WouldBlock) => match regular_file::text(file, MOST) {
                Ok(text) if text.starts_with("these\n") && text.ends_with('\n') => {
                    held.extend(text.lines().filter_map(|line| line.parse::<Digest>().ok()));
                }
                Ok(_) | Err(_) => return Ok(Leased::Everything),
            },
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(Leased::These(held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_leased_is_held_until_the_lease_ends() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("leases");
        assert_eq!(leased(&place).unwrap(), Leased::These(BTreeSet::new()));
        let digests = [Digest::of(b"a"), Digest::of(b"b")];
        let mut one = Lease::begin(&place).unwrap();
        assert_eq!(leased(&place).unwrap(), Leased::Everything);
        one.narrow(digests.into_iter()).unwrap();
        assert_eq!(leased(&place).unwrap(), Leased::These(digests.into()));
        let mut other = Lease::begin(&place).unwrap();
        other.narrow(std::iter::empty()).unwrap();
        assert_eq!(leased(&place).unwrap(), Leased::These(digests.into()));
        drop(one);
        assert_eq!(leased(&place).unwrap(), Leased::These(BTreeSet::new()));
        // One that was left behind is no lease.
        std::fs::write(place.join("1-0"), "").unwrap();
        assert_eq!(leased(&place).unwrap(), Leased::These(BTreeSet::new()));
        assert!(!place.join("1-0").exists());
    }
}
