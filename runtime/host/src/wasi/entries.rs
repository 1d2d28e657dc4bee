//! What is done to a name: looking at it, making it a folder, removing and moving it.
//!
//! Each function finds the name's own folder, has the name judged, and hands both to wasmtime's. Removing and moving are
//! asked for each time, whatever was lent.

use std::sync::Arc;

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::{Exhibit, Permit, Way};
use cap_std::fs::Dir;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::{self, Descriptor, OpenMode, WasiFilesystemView as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, ErrorCode, HostDescriptor as _, MetadataHashValue, NewTimestamp, PathFlags,
};

use super::spot::Spot;
use super::{BLOCKS, Seen, answer};
use crate::own_files::{FileId, Own};
use crate::state::{Call, PluginState};

/// The most that is looked at below a folder before it is moved.
const MOST_MOVED: usize = 100_000;
/// How deep.
const MOST_DEPTH: usize = 128;

type Handle = Resource<Descriptor>;
type Caller<'a> = StoreContextMut<'a, PluginState>;
type SetTimes = (Handle, PathFlags, String, NewTimestamp, NewTimestamp);

pub(super) fn link(files: &mut LinkerInstance<'_, PluginState>) -> wasmtime::Result<()> {
    files.func_wrap_async(
        "[method]descriptor.stat-at",
        |mut store: Caller<'_>, (handle, follow, path): (Handle, PathFlags, String)| {
            Box::new(async move { answer(stat_at(store.data_mut(), &handle, follow, path).await) })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.metadata-hash-at",
        |mut store: Caller<'_>, (handle, follow, path): (Handle, PathFlags, String)| {
            Box::new(async move { answer(metadata_hash_at(store.data_mut(), &handle, follow, path).await) })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.readlink-at",
        |mut store: Caller<'_>, (handle, path): (Handle, String)| {
            Box::new(async move { answer(readlink_at(store.data_mut(), &handle, path).await) })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.create-directory-at",
        |mut store: Caller<'_>, (handle, path): (Handle, String)| {
            Box::new(async move { answer(create_directory_at(store.data_mut(), &handle, path).await) })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.set-times",
        |mut store: Caller<'_>, (handle, accessed, modified): (Handle, NewTimestamp, NewTimestamp)| {
            Box::new(async move { answer(set_times(store.data_mut(), handle, accessed, modified).await) })
        },
    )?;
    files.func_wrap_async("[method]descriptor.set-times-at", |mut store: Caller<'_>, arguments: SetTimes| {
        Box::new(async move { answer(set_times_at(store.data_mut(), arguments).await) })
    })?;
    files.func_wrap_async(
        "[method]descriptor.unlink-file-at",
        |mut store: Caller<'_>, (handle, path): (Handle, String)| {
            Box::new(async move { answer(unlink_file_at(store.data_mut(), &handle, path).await) })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.remove-directory-at",
        |mut store: Caller<'_>, (handle, path): (Handle, String)| {
            Box::new(async move { answer(remove_directory_at(store.data_mut(), &handle, path).await) })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.rename-at",
        |mut store: Caller<'_>, (from, old, to, new): (Handle, String, Handle, String)| {
            Box::new(async move { answer(rename_at(store.data_mut(), (&from, old), (&to, new)).await) })
        },
    )
}

/// The name where it may be looked at.
fn looked_at(state: &mut PluginState, handle: &Handle, follow: bool, path: &str) -> FsResult<Spot> {
    let seen = Seen::by(state, handle)?;
    let spot = seen.find(path, follow, Effect::Read)?;
    if !seen.judge.shows(&spot.way) && !seen.judge.enters(&spot.way) {
        seen.judge.read(&spot.way).map_err(super::refused)?;
    }
    Ok(spot)
}

/// The name where it may be written.
fn written(state: &mut PluginState, handle: &Handle, follow: bool, path: &str) -> FsResult<Spot> {
    let seen = Seen::by(state, handle)?;
    seen.must_be_writable(Effect::Write, path)?;
    let spot = seen.find(path, follow, Effect::Write)?;
    seen.judge.write(&spot.way).map_err(super::refused)?;
    Ok(spot)
}

/// A handle for the name's folder, for the one call that it is handed to.
fn lend(state: &mut PluginState, handle: &Handle, folder: Dir) -> FsResult<Handle> {
    let perms = super::folder(state, handle)?.perms;
    let mode = OpenMode::READ | OpenMode::WRITE;
    let folder = filesystem::Dir::new(folder.into_std_file(), perms, mode, BLOCKS);
    Ok(state.table().push(Descriptor::Dir(folder))?)
}

fn borrowed(handle: &Handle) -> Handle {
    Resource::new_borrow(handle.rep())
}

async fn stat_at(
    state: &mut PluginState,
    handle: &Handle,
    follow: PathFlags,
    path: String,
) -> FsResult<DescriptorStat> {
    let Spot { folder, name, .. } = looked_at(state, handle, follows(follow), &path)?;
    let folder = lend(state, handle, folder)?;
    let found = state.filesystem().stat_at(borrowed(&folder), PathFlags::empty(), name).await;
    state.table().delete(folder)?;
    found
}

async fn metadata_hash_at(
    state: &mut PluginState,
    handle: &Handle,
    follow: PathFlags,
    path: String,
) -> FsResult<MetadataHashValue> {
    let Spot { folder, name, .. } = looked_at(state, handle, follows(follow), &path)?;
    let folder = lend(state, handle, folder)?;
    let found = state.filesystem().metadata_hash_at(borrowed(&folder), PathFlags::empty(), name).await;
    state.table().delete(folder)?;
    found
}

async fn readlink_at(state: &mut PluginState, handle: &Handle, path: String) -> FsResult<String> {
    let Spot { folder, name, .. } = looked_at(state, handle, false, &path)?;
    let folder = lend(state, handle, folder)?;
    let found = state.filesystem().readlink_at(borrowed(&folder), name).await;
    state.table().delete(folder)?;
    found
}

async fn create_directory_at(state: &mut PluginState, handle: &Handle, path: String) -> FsResult<()> {
    let Spot { folder, name, .. } = written(state, handle, false, &path)?;
    let own = own(state, handle)?;
    if let Some(own) = &own {
        own.meter().enter()?;
    }
    let folder = lend(state, handle, folder)?;
    let done = state.filesystem().create_directory_at(borrowed(&folder), name).await;
    state.table().delete(folder)?;
    if let (Some(own), Err(_)) = (own, &done) {
        own.meter().leave();
    }
    done
}

async fn set_times(
    state: &mut PluginState,
    handle: Handle,
    accessed: NewTimestamp,
    modified: NewTimestamp,
) -> FsResult<()> {
    let (way, judge) = super::judged(state, &handle)?;
    judge.write(&way).map_err(super::refused)?;
    state.filesystem().set_times(handle, accessed, modified).await
}

async fn set_times_at(state: &mut PluginState, (handle, follow, path, accessed, modified): SetTimes) -> FsResult<()> {
    let Spot { folder, name, .. } = written(state, &handle, follows(follow), &path)?;
    let folder = lend(state, &handle, folder)?;
    let times = state.filesystem().set_times_at(borrowed(&folder), PathFlags::empty(), name, accessed, modified).await;
    state.table().delete(folder)?;
    times
}

async fn unlink_file_at(state: &mut PluginState, handle: &Handle, path: String) -> FsResult<()> {
    let Spot { folder, name, .. } = removed(state, handle, path).await?;
    let counted = counted(state, handle, &folder, &name)?;
    let folder = lend(state, handle, folder)?;
    let done = state.filesystem().unlink_file_at(borrowed(&folder), name).await;
    state.table().delete(folder)?;
    if let (Some(counted), Ok(())) = (counted, &done) {
        counted.discount();
    }
    done
}

async fn remove_directory_at(state: &mut PluginState, handle: &Handle, path: String) -> FsResult<()> {
    let Spot { folder, name, .. } = removed(state, handle, path).await?;
    let counted = counted(state, handle, &folder, &name)?;
    let folder = lend(state, handle, folder)?;
    let done = state.filesystem().remove_directory_at(borrowed(&folder), name).await;
    state.table().delete(folder)?;
    if let (Some(counted), Ok(())) = (counted, &done) {
        counted.discount();
    }
    done
}

/// The folder of the plugin's own that a handle is of; none where it is the session's.
fn own(state: &mut PluginState, handle: &Handle) -> FsResult<Option<Arc<Own>>> {
    Ok(super::judged(state, handle)?.1.own().cloned())
}

/// What stands under a name in a folder of the plugin's own, and counts there.
struct Counted {
    own: Arc<Own>,
    file: Option<(FileId, u64)>,
}

/// None in the session's folders, and where nothing stands there.
fn counted(state: &mut PluginState, handle: &Handle, folder: &Dir, name: &str) -> FsResult<Option<Counted>> {
    let standing = |own| {
        let found = folder.symlink_metadata(name).ok()?;
        Some(Counted { own, file: FileId::standing(&found) })
    };
    Ok(own(state, handle)?.and_then(standing))
}

impl Counted {
    /// It is not there any more.
    fn discount(self) {
        self.own.meter().removed(self.file);
    }
}

/// The name where it may be removed.
async fn removed(state: &mut PluginState, handle: &Handle, path: String) -> FsResult<Spot> {
    let seen = Seen::by(state, handle)?;
    seen.must_be_writable(Effect::Delete, &path)?;
    if seen.judge.own().is_some() {
        return seen.find(&path, false, Effect::Delete);
    }
    let named = seen.find(&path, false, Effect::Delete)?.way.named;
    let permit = ask(&state.call, vec![Effect::Delete(named.scope())]).await?;
    // Links may lead elsewhere by now.
    let spot = Seen::by(state, handle)?.find(&path, false, Effect::Delete)?;
    holds(&permit, &Effect::Delete(spot.way.named.scope()), &Effect::Delete(spot.way.real.scope()))?;
    Ok(spot)
}

async fn rename_at(
    state: &mut PluginState,
    (from, old): (&Handle, String),
    (to, new): (&Handle, String),
) -> FsResult<()> {
    let (seen_from, seen_to) = (Seen::by(state, from)?, Seen::by(state, to)?);
    // Where it is taken away it is gone, and where it comes to be it is written.
    seen_from.must_be_writable(Effect::Delete, &old)?;
    seen_to.must_be_writable(Effect::Write, &new)?;
    match (seen_from.judge.own(), seen_to.judge.own()) {
        (None, None) => {}
        (Some(one), Some(other)) if Arc::ptr_eq(one, other) => {
            return rename_own(state, (from, seen_from, old), (to, seen_to, new)).await;
        }
        (Some(_), _) | (_, Some(_)) => return Err(ErrorCode::CrossDevice.into()),
    }
    let named_from = seen_from.find(&old, false, Effect::Delete)?.way.named;
    let named_to = seen_to.find(&new, false, Effect::Write)?.way.named;
    // What stood there before is gone then.
    let effects = vec![Effect::Move { from: named_from, to: named_to.clone() }, Effect::Write(named_to.scope())];
    let permit = ask(&state.call, effects).await?;
    let (seen_from, seen_to) = (Seen::by(state, from)?, Seen::by(state, to)?);
    let place = seen_to.find(&new, false, Effect::Write)?;
    let moved = seen_from.find(&old, false, Effect::Delete)?;
    if moved.folder.symlink_metadata(&moved.name).is_ok_and(|found| found.is_dir()) {
        refuse_denied_below(&seen_from, &moved, &place.way, &old)?;
    }
    let named = Effect::Move { from: moved.way.named.clone(), to: place.way.named.clone() };
    let real = Effect::Move { from: moved.way.real.clone(), to: place.way.real.clone() };
    holds(&permit, &named, &real)?;
    let folder = lend(state, from, moved.folder)?;
    let target = lend(state, to, place.folder)?;
    let done = state.filesystem().rename_at(borrowed(&folder), moved.name, borrowed(&target), place.name).await;
    state.table().delete(folder)?;
    state.table().delete(target)?;
    done
}

/// In one folder of the plugin's own. What stood there before is gone then.
async fn rename_own(
    state: &mut PluginState,
    (from, seen_from, old): (&Handle, Seen, String),
    (to, seen_to, new): (&Handle, Seen, String),
) -> FsResult<()> {
    let moved = seen_from.find(&old, false, Effect::Delete)?;
    let place = seen_to.find(&new, false, Effect::Write)?;
    let replaced = counted(state, to, &place.folder, &place.name)?;
    let is_itself = moved.way.real == place.way.real;
    let folder = lend(state, from, moved.folder)?;
    let target = lend(state, to, place.folder)?;
    let done = state.filesystem().rename_at(borrowed(&folder), moved.name, borrowed(&target), place.name).await;
    state.table().delete(folder)?;
    state.table().delete(target)?;
    if let (Some(replaced), Ok(())) = (replaced.filter(|_| !is_itself), &done) {
        replaced.discount();
    }
    done
}

/// Under another name what is denied below would be denied no more, or what is free would be in a denied place.
fn refuse_denied_below(seen: &Seen, from: &Spot, to: &Way, path: &str) -> FsResult<()> {
    let inner = from.folder.open_dir(&from.name)?;
    let mut open = vec![(inner, from.way.clone(), to.clone(), 0)];
    let mut looked_at = 0;
    while let Some((dir, from, to, depth)) = open.pop() {
        for entry in dir.entries()? {
            let entry = entry?;
            looked_at += 1;
            let name = entry.file_name();
            let ways = name.to_str().and_then(|name| Some((from.entry(name)?, to.entry(name)?)));
            // What no rule can name is not moved.
            let Some((from, to)) = ways else { return Err(seen.bar(Effect::Delete, path)) };
            if looked_at > MOST_MOVED || depth == MOST_DEPTH || seen.judge.forbids_move(&from, &to) {
                return Err(seen.bar(Effect::Delete, path));
            }
            if entry.file_type()?.is_dir() {
                open.push((entry.open_dir()?, from, to, depth + 1));
            }
        }
    }
    Ok(())
}

async fn ask(call: &Call, effects: Vec<Effect>) -> FsResult<Permit> {
    let session = call.session.as_ref().ok_or(ErrorCode::NotPermitted)?;
    let asked = call.ask(session, effects, Exhibit::default()).await;
    asked.map_err(super::refused)
}

fn holds(permit: &Permit, named: &Effect, real: &Effect) -> FsResult<()> {
    if permit.covers(named) && permit.reaches(real) { Ok(()) } else { Err(ErrorCode::NotPermitted.into()) }
}

fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}
