//! Listing a folder: what the guest may read, and the folders on the way to it. WASI has names in Unicode only; a name that is none is listed with `U+FFFD` in the place of what it
//! cannot say, instead of ending the whole listing: the guest sees that something is there, and cannot open it.

use cap_std::fs::FileType;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry};

use super::{Seen, answer};
use crate::state::PluginState;

/// The entries that the guest has not taken yet.
struct Listing(std::vec::IntoIter<DirectoryEntry>);

pub(super) fn link(files: &mut LinkerInstance<'_, PluginState>) -> wasmtime::Result<()> {
    files.resource("directory-entry-stream", ResourceType::host::<Listing>(), |mut store, listing| {
        store.data_mut().table().delete::<Listing>(Resource::new_own(listing))?;
        Ok(())
    })?;
    files.func_wrap(
        "[method]descriptor.read-directory",
        |mut store: StoreContextMut<'_, PluginState>, (handle,): (Resource<Descriptor>,)| {
            answer(read_directory(store.data_mut(), &handle))
        },
    )?;
    files.func_wrap(
        "[method]directory-entry-stream.read-directory-entry",
        |mut store: StoreContextMut<'_, PluginState>, (listing,): (Resource<Listing>,)| {
            let next = store.data_mut().table().get_mut(&listing).map(|listing| listing.0.next());
            answer(next.map_err(Into::into))
        },
    )
}

fn read_directory(state: &mut PluginState, handle: &Resource<Descriptor>) -> FsResult<Resource<Listing>> {
    let entries = entries(&Seen::by(state, handle)?)?;
    Ok(state.table().push(Listing(entries.into_iter()))?)
}

fn entries(seen: &Seen) -> FsResult<Vec<DirectoryEntry>> {
    let mut entries = Vec::new();
    for entry in seen.dir()?.entries()? {
        let entry = entry?;
        // What has vanished meanwhile is not listed.
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        // A name that no path can have is judged as it is shown. It cannot be opened.
        let way = seen.way.entry(&name.to_string_lossy().replace('\\', "\u{fffd}"));
        if way.is_none_or(|way| seen.judge.shows(&way) || (!kind.is_file() && seen.judge.enters(&way))) {
            entries.push(DirectoryEntry { type_: described(kind), name: name.to_string_lossy().into_owned() });
        }
    }
    Ok(entries)
}

fn described(kind: FileType) -> DescriptorType {
    if kind.is_dir() {
        DescriptorType::Directory
    } else if kind.is_file() {
        DescriptorType::RegularFile
    } else if kind.is_symlink() {
        DescriptorType::SymbolicLink
    } else {
        DescriptorType::Unknown
    }
}
