//! Writing to an open file. In a folder of the plugin's own each piece takes its room first; where there is none left the
//! guest is told that the disk is full. Elsewhere this is wasmtime's.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor as _};
use wasmtime_wasi::p2::{DynOutputStream, FsError, FsResult, OutputStream, Pollable, StreamError, StreamResult};

use super::answer;
use crate::own_files::{FileId, Full, Own};
use crate::state::PluginState;

type Handle = Resource<Descriptor>;
type Caller<'a> = StoreContextMut<'a, PluginState>;

pub(super) fn link(files: &mut LinkerInstance<'_, PluginState>) -> wasmtime::Result<()> {
    files.func_wrap_async(
        "[method]descriptor.write",
        |mut store: Caller<'_>, (handle, bytes, offset): (Handle, Vec<u8>, u64)| {
            Box::new(async move { answer(write(store.data_mut(), handle, bytes, offset).await) })
        },
    )?;
    files.func_wrap_async("[method]descriptor.set-size", |mut store: Caller<'_>, (handle, size): (Handle, u64)| {
        Box::new(async move { answer(set_size(store.data_mut(), handle, size).await) })
    })?;
    files.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store: Caller<'_>, (handle, offset): (Handle, u64)| {
            answer(write_via_stream(store.data_mut(), handle, offset))
        },
    )?;
    files.func_wrap("[method]descriptor.append-via-stream", |mut store: Caller<'_>, (handle,): (Handle,)| {
        answer(append_via_stream(store.data_mut(), handle))
    })
}

impl From<Full> for ErrorCode {
    fn from(_: Full) -> Self {
        Self::InsufficientSpace
    }
}

impl From<Full> for FsError {
    fn from(full: Full) -> Self {
        ErrorCode::from(full).into()
    }
}

/// The file of the plugin's own behind a handle; none where it is another one.
fn own(state: &mut PluginState, handle: &Handle) -> Option<(Arc<Own>, FileId)> {
    let (files, _) = state.files();
    let place = files.place(handle)?;
    Some((place.own.clone()?, place.file?))
}

async fn write(state: &mut PluginState, handle: Handle, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
    if let Some((own, file)) = own(state, &handle) {
        own.meter().reach(file, offset.saturating_add(bytes.len() as u64))?;
    }
    state.filesystem().write(handle, bytes, offset).await
}

async fn set_size(state: &mut PluginState, handle: Handle, size: u64) -> FsResult<()> {
    let own = own(state, &handle);
    if let Some((own, file)) = &own {
        own.meter().reach(*file, size)?;
    }
    state.filesystem().set_size(handle, size).await?;
    if let Some((own, file)) = &own {
        own.meter().shortened(*file, size);
    }
    Ok(())
}

fn write_via_stream(state: &mut PluginState, handle: Handle, offset: u64) -> FsResult<Resource<DynOutputStream>> {
    let own = own(state, &handle);
    let stream = state.filesystem().write_via_stream(handle, offset)?;
    metered(state, stream, own, Some(offset))
}

fn append_via_stream(state: &mut PluginState, handle: Handle) -> FsResult<Resource<DynOutputStream>> {
    let own = own(state, &handle);
    let stream = state.filesystem().append_via_stream(handle)?;
    metered(state, stream, own, None)
}

fn metered(
    state: &mut PluginState,
    stream: Resource<DynOutputStream>,
    own: Option<(Arc<Own>, FileId)>,
    position: Option<u64>,
) -> FsResult<Resource<DynOutputStream>> {
    let Some((own, file)) = own else { return Ok(stream) };
    let inner = state.table().delete(stream)?;
    let metered: DynOutputStream = Box::new(Metered { inner, own, file, position });
    Ok(state.table().push(metered)?)
}

/// A stream into a file of the plugin's own.
struct Metered {
    inner: DynOutputStream,
    own: Arc<Own>,
    file: FileId,
    /// Where the next piece goes; none for the end.
    position: Option<u64>,
}

impl Metered {
    fn take_room(&mut self, bytes: usize) -> StreamResult<()> {
        let (meter, bytes) = (self.own.meter(), bytes as u64);
        let taken = match &mut self.position {
            Some(position) => {
                let end = position.saturating_add(bytes);
                meter.reach(self.file, end).map(|()| *position = end)
            }
            None => meter.append(self.file, bytes),
        };
        taken.map_err(|Full| StreamError::LastOperationFailed(full().into()))
    }
}

/// As the system says it.
#[cfg(unix)]
fn full() -> io::Error {
    rustix::io::Errno::NOSPC.into()
}

#[cfg(not(unix))]
fn full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

#[async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

#[async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take_room(bytes.len())?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner.check_write()
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take_room(bytes.len())?;
        self.inner.blocking_write_and_flush(bytes).await
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}
