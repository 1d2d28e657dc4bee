//! Opening a file or a folder: never a pipe, which would hold a thread until somebody writes to it, never a device,
//! nothing that the kernel makes up, and to write no file that has another name elsewhere.

use acp_runtime_agent::capability::Effect;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsMaybeDirExt};
use cap_std::fs::OpenOptions;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::spot::Spot;
use super::{BLOCKS, Seen, Wanted, answer, refused};
use crate::kernel_files::is_made_up;
use crate::own_files::FileId;
use crate::state::{Place, PluginState};

type Arguments = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);

pub(super) fn link(files: &mut LinkerInstance<'_, PluginState>) -> wasmtime::Result<()> {
    files.func_wrap(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, PluginState>, arguments: Arguments| {
            answer(open_at(store.data_mut(), arguments))
        },
    )
}

fn open_at(state: &mut PluginState, (handle, follow, path, how, rights): Arguments) -> FsResult<Resource<Descriptor>> {
    let wish = Wish::new(how, rights)?;
    let seen = Seen::by(state, &handle)?;
    let wanted = wish.wanted();
    if wish.writes() {
        seen.must_be_writable(wanted, &path)?;
    }
    let (mode, perms, own) = (wish.mode, seen.folder.perms, seen.judge.own().cloned());
    let follow = follow.contains(PathFlags::SYMLINK_FOLLOW);
    let spot = seen.find(&path, follow, wanted)?;
    let (opened, way) = (wish.open(&spot, &seen, &path)?, spot.way);
    let (opened, file) = match opened {
        Opened::Folder(folder) => (Descriptor::Dir(Dir::new(folder, perms, mode, BLOCKS)), None),
        Opened::File(file, id) => (Descriptor::File(file), id),
    };
    let (files, table) = state.files();
    files.enter(table, opened, Place { way, own, file }).map_err(FsError::trap)
}

/// How something is to be opened.
struct Wish {
    options: OpenOptions,
    mode: OpenMode,
    /// Nothing but a folder will do.
    folder: bool,
    /// A file is made where there is none.
    makes: bool,
    /// The file is emptied, once it is clear that it may be written.
    empties: bool,
}

enum Opened {
    Folder(std::fs::File),
    /// With its number in a folder of the plugin's own.
    File(File, Option<FileId>),
}

impl Wish {
    fn new(how: OpenFlags, rights: DescriptorFlags) -> FsResult<Self> {
        let synced = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if rights.intersects(synced) {
            return Err(ErrorCode::Unsupported.into());
        }
        let folder = how.contains(OpenFlags::DIRECTORY);
        let makes = how.contains(OpenFlags::CREATE);
        if folder && how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE) {
            return Err(ErrorCode::Invalid.into());
        }
        let writes = makes || how.contains(OpenFlags::TRUNCATE) || rights.contains(DescriptorFlags::WRITE);
        // The system wants one of both.
        let reads = rights.contains(DescriptorFlags::READ) || !rights.contains(DescriptorFlags::WRITE);
        let mut options = OpenOptions::new();
        options.read(reads).write(writes);
        match (makes, how.contains(OpenFlags::EXCLUSIVE)) {
            (true, true) => options.create_new(true),
            (true, false) => options.create(true),
            (false, _) => &mut options,
        };
        options.follow(FollowSymlinks::No).maybe_dir(true);
        never_wait(&mut options);
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, reads);
        mode.set(OpenMode::WRITE, writes);
        Ok(Self { options, mode, folder, makes, empties: how.contains(OpenFlags::TRUNCATE) })
    }

    fn writes(&self) -> bool {
        self.mode.contains(OpenMode::WRITE)
    }

    fn wanted(&self) -> Wanted {
        if self.writes() { Effect::Write } else { Effect::Read }
    }

    /// Opens the name where it may be. Before a file is written or made, that is judged; to look costs nothing, so what is
    /// read is judged when it is clear whether it is a file.
    fn open(&self, spot: &Spot, seen: &Seen, path: &str) -> FsResult<Opened> {
        let reads = || seen.judge.read(&spot.way).map_err(refused);
        let enters = seen.judge.enters(&spot.way);
        if self.writes() {
            seen.judge.write(&spot.way).map_err(refused)?;
            if self.mode.contains(OpenMode::READ) {
                reads()?;
            }
        } else if !enters {
            reads()?;
        }
        let opened = self.open_there(spot, seen)?;
        let metadata = opened.metadata()?;
        if is_made_up(&opened) {
            Err(seen.bar(self.wanted(), path))
        } else if metadata.is_dir() {
            Ok(Opened::Folder(opened))
        } else if self.folder {
            Err(ErrorCode::NotDirectory.into())
        } else if !metadata.is_file() || (self.writes() && has_other_names(&metadata)) {
            Err(seen.bar(self.wanted(), path))
        } else {
            if enters && !self.writes() {
                reads()?;
            }
            let file = File::new(opened, seen.folder.perms, self.mode, BLOCKS);
            let meter = seen.judge.own().map(|own| own.meter());
            let counted = meter.map(|meter| (meter, meter.opened(&file.file, &metadata)));
            if self.empties {
                file.file.set_len(0)?;
                if let Some((meter, id)) = counted {
                    meter.shortened(id, 0);
                }
            }
            Ok(Opened::File(file, counted.map(|(_, id)| id)))
        }
    }

    /// Opens whatever stands there. In a folder of the plugin's own a new file takes its room.
    fn open_there(&self, spot: &Spot, seen: &Seen) -> FsResult<std::fs::File> {
        let is_new = || spot.folder.symlink_metadata(&spot.name).is_err();
        let own = seen.judge.own().filter(|_| self.makes && is_new());
        if let Some(own) = own {
            own.meter().enter()?;
        }
        let opened = spot.folder.open_with(&spot.name, &self.options);
        if let (Some(own), Err(_)) = (own, &opened) {
            own.meter().leave();
        }
        Ok(opened?.into_std())
    }
}

/// Whether the file has hard links: what is written to it is written wherever they are.
#[cfg(unix)]
fn has_other_names(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_metadata: &std::fs::Metadata) -> bool {
    false
}

/// A pipe is opened at once, and refused then. To files and folders this makes no difference.
#[cfg(unix)]
fn never_wait(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
}

#[cfg(not(unix))]
fn never_wait(_options: &mut OpenOptions) {}
