//! WASI for guests: wasmtime's, with a view of the session's folders in front of it, and requests to the network (`http`)
//! as `aar:host` sends them.
//!
//! A guest sees only what it was lent, path by path (`spot` finds what it names, `Lent` judges it): what it may not read
//! is not listed and not opened, what it may not write is not made or changed, and it is asked each time before something
//! is removed or moved. No links are made: one that leads out would wait there for somebody who may follow it. Only files
//! and folders that lie on a disk are opened (`open`), a folder is listed whatever its entries are called (`list`), and
//! all that is done to a name is done in the name's own folder, without following links once more (`entries`). In the
//! folders of the plugin's own nothing is judged (`judge`), but what is written is counted (`metered`). All else that is
//! done with an open file is wasmtime's. Tested by the guests that try to get out.

mod entries;
mod http;
mod judge;
mod list;
mod metered;
mod open;
mod spot;

use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, OwnFolder, PathScope};
use acp_runtime_agent::gate::{Refusal, Way};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, Resource};
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use self::judge::Judge;
use self::spot::Spot;
use crate::own_files::Own;
use crate::scope::SessionScope;
use crate::state::{Place, PluginState};

/// Whether a guest's handle may block the thread that it is used on: whoever asks for folders is moved to one that may wait
/// ([`CallThread`](crate::call_thread)).
const BLOCKS: bool = true;

/// What guests are answered.
type Answer<T> = (Result<T, ErrorCode>,);

/// Puts WASI 0.2 into the linker.
pub(crate) fn link(linker: &mut Linker<PluginState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    linker.instance("wasi:filesystem/preopens@0.2.12")?.func_wrap_async(
        "get-directories",
        |mut store: wasmtime::StoreContextMut<'_, PluginState>, (): ()| {
            Box::new(async move { Ok((folders(store.data_mut()).await?,)) })
        },
    )?;
    let mut files = linker.instance("wasi:filesystem/types@0.2.12")?;
    refuse_links(&mut files)?;
    open::link(&mut files)?;
    list::link(&mut files)?;
    entries::link(&mut files)?;
    metered::link(&mut files)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn refuse_links(files: &mut LinkerInstance<'_, PluginState>) -> wasmtime::Result<()> {
    type Link = (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String);
    let refused = |state: &mut PluginState, handle: &Resource<Descriptor>, new: &str| -> FsResult<()> {
        Err(Seen::by(state, handle)?.bar(Effect::Write, new))
    };
    files.func_wrap(
        "[method]descriptor.symlink-at",
        move |mut store: StoreContextMut<'_, PluginState>, (handle, _, new): (Resource<Descriptor>, String, String)| {
            answer(refused(store.data_mut(), &handle, &new))
        },
    )?;
    files.func_wrap(
        "[method]descriptor.link-at",
        move |mut store: StoreContextMut<'_, PluginState>, (_, _, _, handle, new): Link| {
            answer(refused(store.data_mut(), &handle, &new))
        },
    )
}

/// An error as guests read it; a trap where it is none of theirs.
fn answer<T>(outcome: FsResult<T>) -> wasmtime::Result<Answer<T>> {
    match outcome {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

/// The folders that a guest begins with, as handles and where it sees them.
async fn folders(state: &mut PluginState) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
    state.call.thread.may_block().await;
    open_own(state);
    let (files, table) = state.files();
    let mut mounted = Vec::with_capacity(files.mounted().len());
    for mount in files.mounted() {
        let mode = if mount.perms.write_not_permitted() { OpenMode::READ } else { OpenMode::READ | OpenMode::WRITE };
        let folder = Dir::new(mount.dir.try_clone()?.into_std_file(), mount.perms, mode, BLOCKS);
        mounted.push((folder, Place::lent(mount.way.clone()), mount.guest.clone()));
    }
    for own in files.own() {
        let dir = own.dir().try_clone()?.into_std_file();
        let folder = Dir::new(dir, FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE, BLOCKS);
        mounted.push((folder, Place { way: Own::top(), own: Some(own.clone()), file: None }, own.guest()));
    }
    let enter = |(folder, place, guest)| Ok((files.enter(table, Descriptor::Dir(folder), place)?, guest));
    mounted.into_iter().map(enter).collect()
}

/// Opens the folders of the plugin's own, when the guest first looks for folders. One that cannot be opened is left out.
fn open_own(state: &mut PluginState) {
    let Some(session) = &state.call.session else { return };
    let (own_files, project, plugin) =
        (state.call.desks.own_files.clone(), session.scope.project.clone(), state.call.plugin.clone());
    let (files, _) = state.files();
    if files.granted().is_empty() || !files.own().is_empty() {
        return;
    }
    let granted = files.granted().to_vec();
    let open = |which: OwnFolder| match own_files.open(which, &project) {
        Ok(own) => Some(Arc::new(own)),
        Err(error) => {
            tracing::warn!("plugin `{plugin}` runs without `/{}`, which cannot be opened: {error}", which.as_str());
            None
        }
    };
    let opened = granted.into_iter().filter_map(open).collect();
    state.files().0.keep(opened);
}

/// What a guest wants to do to a path.
type Wanted = fn(PathScope) -> Effect;

/// A folder as a guest sees it, and what it was lent of the session.
#[derive(Clone)]
struct Seen {
    scope: Arc<SessionScope>,
    judge: Judge,
    folder: Dir,
    way: Way,
}

impl Seen {
    /// What the guest sees through the handle.
    fn by(state: &mut PluginState, handle: &Resource<Descriptor>) -> FsResult<Self> {
        let folder = folder(state, handle)?;
        let (way, judge) = judged(state, handle)?;
        let scope = state.call.session.as_ref().ok_or(ErrorCode::NotPermitted)?.scope.clone();
        Ok(Self { scope, judge, folder, way })
    }

    /// Refuses what is wanted of `path` in the folder before anybody judges it.
    fn bar(&self, wanted: Wanted, path: &str) -> FsError {
        if let Judge::Lent(lent) = &self.judge {
            // What lies outside has no path of the session: the folder that it was asked in stands for it.
            let named = self.way.named.join(path).unwrap_or_else(|_| self.way.named.clone());
            lent.turn_away(wanted(named.scope()));
        }
        ErrorCode::NotPermitted.into()
    }

    fn must_be_writable(&self, wanted: Wanted, path: &str) -> FsResult<()> {
        if self.folder.perms.write_not_permitted() { Err(self.bar(wanted, path)) } else { Ok(()) }
    }

    /// Finds what the guest calls `path`, and wants to do that to.
    fn find(&self, path: &str, follow: bool, wanted: Wanted) -> FsResult<Spot> {
        let root = match &self.judge {
            Judge::Lent(_) => self.scope.folders.root(self.way.real.root())?,
            Judge::Own(own) => own.dir(),
        };
        spot::find(root, &self.dir()?, &self.way, path, follow).map_err(|error| match error.downcast_ref() {
            Some(ErrorCode::NotPermitted) => self.bar(wanted, path),
            Some(_) | None => error,
        })
    }

    /// The folder itself.
    fn dir(&self) -> FsResult<cap_std::fs::Dir> {
        Ok(cap_std::fs::Dir::from_std_file(self.folder.dir.try_clone()?))
    }
}

/// The folder behind a guest's handle.
fn folder(state: &mut PluginState, handle: &Resource<Descriptor>) -> FsResult<Dir> {
    match state.table().get(handle)? {
        Descriptor::Dir(folder) => Ok(folder.clone()),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

/// The path behind a guest's handle, and who judges what is done there.
fn judged(state: &mut PluginState, handle: &Resource<Descriptor>) -> FsResult<(Way, Judge)> {
    let (files, table) = state.files();
    table.get(handle)?;
    let Place { way, own, .. } = files.place(handle).ok_or(ErrorCode::BadDescriptor)?.clone();
    let judge = match own {
        Some(own) => Judge::Own(own),
        None => Judge::Lent(state.call.session.as_ref().ok_or(ErrorCode::NotPermitted)?.lent.clone()),
    };
    Ok((way, judge))
}

/// A refusal, as WASI can say it. The reason is in the log.
fn refused(refusal: Refusal) -> FsError {
    tracing::debug!("a plugin is refused a file: {refusal}");
    ErrorCode::NotPermitted.into()
}
