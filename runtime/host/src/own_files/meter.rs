//! How much a folder may hold, and holds.
//!
//! What counts is how long files are, whether they have holes or not. Room is taken before a file grows. It is given back
//! when a file becomes shorter or goes, and nobody holds that file open any more: until then the disk has it.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

/// There is no room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId(u64, u64);

/// Counts what a folder holds.
#[derive(Debug)]
pub(crate) struct Meter {
    bytes: u64,
    entries: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: u64,
    entries: u64,
    /// Files that were opened.
    open: HashMap<FileId, Opened>,
    /// Files that have no name any more.
    gone: Vec<Opened>,
}

/// A file that was opened.
#[derive(Debug)]
struct Opened {
    /// How long it is, or will be when all is written that it was given room for.
    size: u64,
    holders: Vec<Weak<File>>,
}

impl Opened {
    fn holders(&self) -> usize {
        self.holders.iter().map(Weak::strong_count).sum()
    }
}

impl Meter {
    /// Counts what is in `folder`, which may hold so much.
    pub(crate) fn of(folder: &Dir, bytes: u64, entries: u64) -> io::Result<Self> {
        let mut held = Held::default();
        let mut open = vec![folder.try_clone()?];
        while let Some(folder) = open.pop() {
            for entry in folder.entries()? {
                let entry = entry?;
                // What has vanished meanwhile is not there.
                let Ok(metadata) = entry.metadata() else { continue };
                held.entries += 1;
                if metadata.is_file() {
                    held.bytes += metadata.len();
                } else if metadata.is_dir() {
                    open.push(folder.open_dir_nofollow(entry.file_name())?);
                }
            }
            if held.entries > entries {
                // More than may be there: nothing is made in any case.
                break;
            }
        }
        Ok(Self { bytes, entries, held: Mutex::new(held) })
    }

    /// Takes room for one more file or folder.
    pub(crate) fn enter(&self) -> Result<(), Full> {
        let mut held = self.held();
        if held.entries >= self.entries {
            return Err(Full);
        }
        held.entries += 1;
        Ok(())
    }

    /// A file or folder is not there any more, or was not made.
    pub(crate) fn leave(&self) {
        let mut held = self.held();
        held.entries = held.entries.saturating_sub(1);
    }

    /// A file was opened.
    pub(crate) fn opened(&self, file: &Arc<File>, metadata: &Metadata) -> FileId {
        let (id, size) = (id(metadata), metadata.len());
        let mut held = self.held();
        let opened = held.open.entry(id).or_insert_with(|| Opened { size, holders: Vec::new() });
        if opened.holders() == 0 {
            opened.size = size;
        }
        opened.holders.retain(|holder| holder.strong_count() > 0);
        opened.holders.push(Arc::downgrade(file));
        id
    }

    /// Takes room for a file to reach until `end`.
    pub(crate) fn reach(&self, id: FileId, end: u64) -> Result<(), Full> {
        self.grow(id, |size| Some(end.saturating_sub(size)))
    }

    /// Takes room for so many bytes at the end of a file.
    pub(crate) fn append(&self, id: FileId, more: u64) -> Result<(), Full> {
        self.grow(id, |size| size.checked_add(more).map(|_| more))
    }

    fn grow(&self, id: FileId, more: impl Fn(u64) -> Option<u64>) -> Result<(), Full> {
        let mut held = self.held();
        // A file that is not known was not opened here.
        let more = held.open.get(&id).and_then(|opened| more(opened.size)).ok_or(Full)?;
        let fits = |held: &Held| held.bytes.checked_add(more).is_some_and(|bytes| bytes <= self.bytes);
        if more > 0 && !fits(&held) {
            held.reclaim();
            if !fits(&held) {
                return Err(Full);
            }
        }
        held.bytes += more;
        if let Some(opened) = held.open.get_mut(&id) {
            opened.size += more;
        }
        Ok(())
    }

    /// A file was made shorter. Where somebody else holds it, more may be on its way to it.
    pub(crate) fn shortened(&self, id: FileId, size: u64) {
        let mut held = self.held();
        let Some(opened) = held.open.get_mut(&id).filter(|opened| opened.holders() <= 1 && size < opened.size) else {
            return;
        };
        let less = opened.size - size;
        opened.size = size;
        held.bytes = held.bytes.saturating_sub(less);
    }

    /// A file lost its name: which it was, and how long, where that is known.
    pub(crate) fn removed(&self, file: Option<(FileId, u64)>) {
        let mut held = self.held();
        held.entries = held.entries.saturating_sub(1);
        let Some((id, size)) = file else { return };
        match held.open.remove(&id) {
            Some(opened) => held.gone.push(opened),
            None => held.bytes = held.bytes.saturating_sub(size),
        }
        held.reclaim();
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Gives back the room of files that nobody holds any more.
    fn reclaim(&mut self) {
        let bytes = &mut self.bytes;
        self.gone.retain(|gone| {
            let is_held = gone.holders() > 0;
            if !is_held {
                *bytes = bytes.saturating_sub(gone.size);
            }
            is_held
        });
    }
}

#[cfg(unix)]
fn id(metadata: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt as _;
    FileId(metadata.dev(), metadata.ino())
}

/// Here files have no number: each that is opened is another one.
#[cfg(not(unix))]
fn id(_metadata: &Metadata) -> FileId {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    FileId(0, NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

impl FileId {
    /// Which file stands under a name, and how long it is; none for what is no file, and where files have no number.
    pub(crate) fn standing(metadata: &cap_std::fs::Metadata) -> Option<(Self, u64)> {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            metadata.is_file().then(|| (Self(metadata.dev(), metadata.ino()), metadata.len()))
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            None
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "lays out a folder")]
mod tests {
    use cap_std::ambient_authority;
    use tempfile::TempDir;

    use super::*;

    struct Place {
        folder: TempDir,
        meter: Meter,
    }

    fn place(bytes: u64, entries: u64) -> Place {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("old")).unwrap();
        std::fs::write(folder.path().join("old/file"), [0; 40]).unwrap();
        let meter = Meter::of(&Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap(), bytes, entries);
        Place { folder, meter: meter.unwrap() }
    }

    impl Place {
        fn open(&self, name: &str) -> (Arc<File>, FileId) {
            let mut options = File::options();
            let file = options.write(true).create(true).truncate(false).open(self.folder.path().join(name)).unwrap();
            let file = Arc::new(file);
            let id = self.meter.opened(&file, &file.metadata().unwrap());
            (file, id)
        }

        fn used(&self) -> (u64, u64) {
            let held = self.meter.held();
            (held.bytes, held.entries)
        }
    }

    #[test]
    fn what_is_there_counts() {
        assert_eq!(place(100, 10).used(), (40, 2));
    }

    #[test]
    fn a_file_grows_until_there_is_no_room() {
        let place = place(100, 10);
        let (_file, id) = place.open("a");
        assert_eq!(place.meter.reach(id, 50), Ok(()));
        assert_eq!(place.meter.reach(id, 20), Ok(()), "it is longer than that already");
        assert_eq!(place.meter.append(id, 10), Ok(()));
        assert_eq!(place.used().0, 100);
        for end in [61, u64::MAX] {
            assert_eq!(place.meter.reach(id, end), Err(Full), "{end}");
        }
        for more in [1, u64::MAX] {
            assert_eq!(place.meter.append(id, more), Err(Full), "{more}");
        }
        place.meter.shortened(id, 10);
        assert_eq!(place.used().0, 50);
        // The other name for it is the same file.
        let (_again, same) = place.open("a");
        assert_eq!(same, id);
        place.meter.shortened(id, 0);
        assert_eq!(place.used().0, 50, "somebody else may be writing");
    }

    #[test]
    fn a_file_without_a_name_has_its_room_until_nobody_holds_it() {
        let place = place(100, 10);
        let (file, id) = place.open("a");
        place.meter.reach(id, 60).unwrap();
        place.meter.removed(Some((id, 0)));
        std::fs::remove_file(place.folder.path().join("a")).unwrap();
        let (_other, other) = place.open("b");
        assert_eq!(place.meter.reach(other, 1), Err(Full));
        drop(file);
        assert_eq!(place.meter.reach(other, 60), Ok(()));
    }

    #[test]
    fn entries_are_counted() {
        let place = place(100, 3);
        assert_eq!((place.meter.enter(), place.meter.enter()), (Ok(()), Err(Full)));
        place.meter.leave();
        place.meter.removed(None);
        assert_eq!((place.meter.enter(), place.meter.enter(), place.meter.enter()), (Ok(()), Ok(()), Err(Full)));
        assert_eq!(place.used(), (40, 3));
    }
}
