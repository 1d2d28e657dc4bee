//! WASI for guests: wasmtime's, in which the project's folders give less.
//!
//! No links are made: one that leads out would wait there for somebody who may follow it. Only files and folders that
//! lie on a disk are opened (`open`), and a folder is listed whatever its entries are called (`list`). All else is
//! wasmtime's, in whose terms these functions are written. Tested by the guests that try to get out.

mod list;
mod open;

use std::fs::File;
use std::sync::Arc;

use wasmtime::component::{Linker, LinkerInstance, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::state::PluginState;

/// What guests are answered.
type Answer<T> = (Result<T, ErrorCode>,);

/// Puts WASI 0.2 into the linker.
pub(crate) fn link(linker: &mut Linker<PluginState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let mut files = linker.instance("wasi:filesystem/types@0.2.12")?;
    refuse_links(&mut files)?;
    open::link(&mut files)?;
    list::link(&mut files)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn refuse_links(files: &mut LinkerInstance<'_, PluginState>) -> wasmtime::Result<()> {
    type Link = (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String);
    files.func_wrap("[method]descriptor.symlink-at", |_, _: (Resource<Descriptor>, String, String)| {
        Ok::<Answer<()>, _>((Err(ErrorCode::NotPermitted),))
    })?;
    files.func_wrap("[method]descriptor.link-at", |_, _: Link| Ok::<Answer<()>, _>((Err(ErrorCode::NotPermitted),)))
}

/// An error as guests read it; a trap where it is none of theirs.
fn answer<T>(outcome: FsResult<T>) -> wasmtime::Result<Answer<T>> {
    match outcome {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

/// What is done in a folder, off the async threads.
async fn off_thread<T: Send + 'static>(
    folder: Arc<File>,
    work: impl FnOnce(cap_std::fs::Dir) -> FsResult<T> + Send + 'static,
) -> FsResult<T> {
    let done = tokio::task::spawn_blocking(move || work(cap_std::fs::Dir::from_std_file(folder.try_clone()?)));
    done.await.unwrap_or_else(|error| Err(FsError::trap(wasmtime::Error::msg(error.to_string()))))
}

/// The folder behind a guest's handle.
fn folder(state: &mut PluginState, handle: &Resource<Descriptor>) -> FsResult<Dir> {
    match state.table().get(handle)? {
        Descriptor::Dir(folder) => Ok(folder.clone()),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}
