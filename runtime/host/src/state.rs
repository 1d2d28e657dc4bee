//! What one store holds: a WASI view with nothing inherited, the limiter, and the running call.
//!
//! Guests get clocks and random numbers; no environment, arguments, stdin or network, and folders only as mounts that
//! were allowed. Stdout and stderr go to the log. Knows nothing about what the host interfaces do. Tested by the
//! hostile guests.

mod deadline;
mod error;
mod files;
mod log;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_runtime_agent::capability::{Effect, OwnFolder, PanelName, PluginId};
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::{Exhibit, Gate, Lent, Origin, Permit, Refusal, RefusalKind};
use acp_runtime_agent::plain;
use acp_runtime_agent::transcript::ToolCallId;
use futures::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Result};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

pub(crate) use self::deadline::Deadline;
pub(crate) use self::error::HostError;
pub(crate) use self::files::{Files, Place};
pub(crate) use self::log::CallLog;
use crate::call_thread::CallThread;
use crate::egress::{Desk, Gatekeeper};
use crate::kv::KvDesk;
use crate::limits::Limits;
use crate::own_files::OwnFiles;
use crate::scope::{Mount, SessionScope};
use crate::secrets::SecretDesk;

/// Why there is nothing for a guest outside of a session.
const UNLENT: &str = "the plugin is only asked what it offers, and is lent nothing for that";

/// What a store holds.
pub(crate) struct PluginState {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    files: Files,
    pub(crate) limiter: Limiter,
    /// The call that runs now.
    pub(crate) call: Call,
}

/// The running call: on whose behalf, in which session, until when.
pub(crate) struct Call {
    /// The plugin.
    pub(crate) plugin: PluginId,
    /// Its limits.
    pub(crate) limits: Arc<Limits>,
    /// What its calls have in common.
    pub(crate) desks: Desks,
    /// What the session lends; nothing when a plugin is only asked what it offers.
    pub(crate) session: Option<SessionCall>,
    /// When it must be over.
    pub(crate) deadline: Deadline,
    /// How long the guest itself may compute.
    pub(crate) cpu: Duration,
    /// For how many epochs it still may.
    pub(crate) ticks: u64,
    /// Bytes that the guest may have copied to the host at once.
    pub(crate) crossing: usize,
    /// Handles that the guest may hold.
    pub(crate) handles: usize,
    /// When the caller does not want it any more.
    pub(crate) cancel: CancellationToken,
    /// Where its lines go.
    pub(crate) log: CallLog,
    /// How many programs it has run.
    pub(crate) runs: u32,
    /// Where it runs.
    pub(crate) thread: CallThread,
}

/// What all calls of a plugin have in common. Clones are the same.
#[derive(Clone)]
pub(crate) struct Desks {
    /// Its storage.
    pub(crate) kv: Arc<KvDesk>,
    /// Its own folders.
    pub(crate) own_files: Arc<OwnFiles>,
    /// Where its requests leave.
    pub(crate) net: Arc<Desk>,
    /// The secrets that it may have sent.
    pub(crate) secrets: Arc<SecretDesk>,
}

/// Decides on what a request of the running call comes to.
pub(crate) struct CallKeeper {
    gate: Arc<Gate>,
    origin: Origin,
    deadline: Deadline,
}

impl Gatekeeper for CallKeeper {
    fn admit(&self, effects: Vec<Effect>) -> BoxFuture<'_, Result<Permit, Refusal>> {
        async move {
            let _paused = self.deadline.pause();
            self.gate.authorize(self.origin.clone(), effects).await
        }
        .boxed()
    }

    fn undone(&self, effect: &Effect, by: &str) {
        self.gate.record_undone(&self.origin, effect, by);
    }
}

/// What a session lends to the running call.
pub(crate) struct SessionCall {
    /// The session.
    pub(crate) scope: Arc<SessionScope>,
    /// What of its folders.
    pub(crate) lent: Arc<Lent>,
    /// Which folders of the plugin's own it may use.
    pub(crate) own: Vec<OwnFolder>,
    /// The tool call that it is; none in a panel or a command.
    pub(crate) tool_call: Option<ToolCallId>,
    /// The plugin's panels: its own name for each, and the session's.
    pub(crate) panels: Arc<[(String, PanelName)]>,
    /// The settings, as JSON.
    pub(crate) settings: Arc<str>,
    /// Holds back what the guest says too often.
    pub(crate) notices: Notices,
    /// Whether a person may be asked about what the guest wants to do. Not in a hook, which others wait for.
    pub(crate) may_ask: bool,
}

/// Holds back what a guest says too often: one progress line and one change of panels in a time, and so much in a call.
#[derive(Debug)]
pub(crate) struct Notices {
    every: Duration,
    most: u32,
    left: u32,
    progress: Option<Instant>,
    changed: Option<Instant>,
    /// Panels whose change was held back.
    late: BTreeSet<PanelName>,
}

impl Notices {
    /// Within `limits`.
    pub(crate) fn new(limits: &Limits) -> Self {
        let (every, most) = (limits.time.notice, limits.traffic.events);
        Self { every, most, left: most, progress: None, changed: None, late: BTreeSet::new() }
    }

    /// Counts something that the guest says. Fails with how much it may say where it has said that.
    pub(crate) fn count(&mut self) -> Result<(), u32> {
        self.left = self.left.checked_sub(1).ok_or(self.most)?;
        Ok(())
    }

    /// Whether a progress line may be shown now.
    pub(crate) fn progress(&mut self) -> bool {
        Self::due(&mut self.progress, self.every) && self.count().is_ok()
    }

    /// Whether a change of that panel may be told now; else it is told when the call ends.
    pub(crate) fn changed(&mut self, panel: &PanelName) -> bool {
        let due = Self::due(&mut self.changed, self.every) && self.count().is_ok();
        if !due {
            self.late.insert(panel.clone());
        }
        due
    }

    fn due(last: &mut Option<Instant>, every: Duration) -> bool {
        let due = last.is_none_or(|last| last.elapsed() >= every);
        if due {
            *last = Some(Instant::now());
        }
        due
    }
}

impl Call {
    /// What the session lends, or the error that there is no session.
    pub(crate) fn session(&mut self) -> Result<&mut SessionCall, HostError> {
        self.session.as_mut().ok_or_else(|| HostError::denied(UNLENT))
    }

    /// Which folders of the plugin's own it may use.
    pub(crate) fn granted_folders(&self) -> &[OwnFolder] {
        self.session.as_ref().map(|session| session.own.as_slice()).unwrap_or_default()
    }

    /// Asks the gate for what an import does. A refusal is the guest's to read.
    pub(crate) async fn authorize(&self, effects: Vec<Effect>) -> Result<Permit, HostError> {
        self.authorize_with(effects, Exhibit::default()).await
    }

    /// [`Call::authorize`], with what the person is shown beside the question.
    pub(crate) async fn authorize_with(&self, effects: Vec<Effect>, exhibit: Exhibit) -> Result<Permit, HostError> {
        // People are asked about it, and it is kept in the audit.
        self.refuse_secrets(effects.iter().map(Effect::key), "what it names")?;
        match &self.session {
            Some(session) => self.ask(session, effects, exhibit).await.map_err(|refusal| HostError::from(&refusal)),
            None => Err(HostError::denied(UNLENT)),
        }
    }

    /// A permit for what nobody need be asked about; none where there is none.
    pub(crate) async fn unasked(&self, effects: Vec<Effect>) -> Option<Permit> {
        let session = self.session.as_ref()?;
        self.refuse_secrets(effects.iter().map(Effect::key), "what it names").ok()?;
        session.scope.gate.unasked(self.origin(session), effects).await
    }

    /// Asks the gate of `session`. The deadline stands still meanwhile, since a person may be asked.
    pub(crate) async fn ask(
        &self,
        session: &SessionCall,
        effects: Vec<Effect>,
        exhibit: Exhibit,
    ) -> Result<Permit, Refusal> {
        if !session.may_ask {
            return self.unasked_or_refused(session, effects).await;
        }
        let _paused = self.deadline.pause();
        session.scope.gate.authorize_with(self.origin(session), effects, exhibit).await
    }

    /// Decides on requests, for as long as they go on.
    pub(crate) fn keeper(&self) -> Result<CallKeeper, HostError> {
        let session = self.session.as_ref().ok_or_else(|| HostError::denied(UNLENT))?;
        if !session.may_ask {
            return Err(HostError::denied("a hook sends no requests: do it in a tool or a command"));
        }
        let (gate, origin) = (session.scope.gate.clone(), self.origin(session));
        Ok(CallKeeper { gate, origin, deadline: self.deadline.clone() })
    }

    /// A text of the guest's, without the secrets that it had sent.
    pub(crate) fn clean(&self, text: String) -> String {
        self.desks.secrets.filter().owned(text)
    }

    /// The same for a text that is read as JSON.
    pub(crate) fn clean_json(&self, text: String) -> String {
        self.desks.secrets.filter().json(text)
    }

    /// The error that a secret is in one of those texts. It is for where a text with a mask in it would be another thing.
    pub(crate) fn refuse_secrets<T: AsRef<[u8]>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        what: &str,
    ) -> Result<(), HostError> {
        let filter = self.desks.secrets.filter();
        if texts.into_iter().any(|text| filter.finds(text)) {
            return Err(HostError::denied(format!(
                "a secret is in {what}: only the host puts secrets in, into requests that name them in `secrets`"
            )));
        }
        Ok(())
    }

    /// What is not allowed without a question is refused.
    async fn unasked_or_refused(&self, session: &SessionCall, effects: Vec<Effect>) -> Result<Permit, Refusal> {
        let first = effects.first().map(|effect| (effect.class(), plain::name(&effect.key())));
        let permit = session.scope.gate.unasked(self.origin(session), effects).await;
        permit.ok_or_else(|| {
            let (class, key) = first.unwrap_or_default();
            Refusal {
                class,
                key,
                reason: "a hook can only do what is allowed without a question".to_owned(),
                hint: "do it in a tool or a command".to_owned(),
                remedy: None,
                kind: RefusalKind::Denied,
            }
        })
    }

    fn origin(&self, session: &SessionCall) -> Origin {
        Origin::Plugin { plugin: self.plugin.clone(), call: session.tool_call.clone() }
    }
}

impl Drop for SessionCall {
    /// However the call ended, what was held back is told.
    fn drop(&mut self) {
        for panel in std::mem::take(&mut self.notices.late) {
            self.scope.events.emit(SessionEvent::PanelChanged { panel });
        }
    }
}

impl PluginState {
    /// A fresh state that sees `mounts`.
    pub(crate) fn new(call: Call, mounts: &[Mount]) -> std::io::Result<Self> {
        let limits = call.limits.clone();
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(call.log.stream("stdout"))
            .stderr(call.log.stream("stderr"))
            .max_random_size(limits.traffic.random)
            .allow_tcp(false)
            .allow_udp(false);
        let mut mounted = Vec::new();
        if let Some(session) = &call.session {
            for mount in mounts {
                mounted.extend(mount.open(&session.scope.folders)?);
            }
        }
        let granted = call.granted_folders().to_vec();
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.space.resources);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(limits.net.held_headers());
        let (files, limiter) = (Files::new(mounted, granted), Limiter::new(limits));
        Ok(Self { wasi: wasi.build(), http, table, files, limiter, call })
    }

    /// How many things the guest may have open.
    pub(crate) fn resources(&self) -> usize {
        self.table.max_capacity()
    }

    /// What the guest's handles stand for.
    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// The running call, and what the guest's handles stand for.
    pub(crate) fn call_and_table(&mut self) -> (&Call, &mut ResourceTable) {
        (&self.call, &mut self.table)
    }

    /// What the guest's handles stand for, and the paths behind those of files and folders.
    pub(crate) fn files(&mut self) -> (&mut Files, &mut ResourceTable) {
        (&mut self.files, &mut self.table)
    }
}

impl WasiView for PluginState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for PluginState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.call, table: &mut self.table, ctx: &mut self.http }
    }
}

/// Keeps a store inside its space, and remembers that something was refused.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Arc<Limits>,
    memory: usize,
    /// What was refused last, for the message when the guest gives up over it.
    pub(crate) refused: Option<String>,
}

impl Limiter {
    fn new(limits: Arc<Limits>) -> Self {
        Self { limits, memory: 0, refused: None }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        let most = self.limits.space.memory;
        let fits = u64::try_from(total).is_ok_and(|total| total <= most);
        if fits {
            self.memory = total;
        } else {
            self.refused = Some(format!("more memory than {}", crate::limits::show_bytes(most)));
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let most = self.limits.space.table_elements;
        let fits = desired <= most;
        if !fits {
            self.refused = Some(format!("a table of more than {most} elements"));
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        self.limits.space.instances
    }

    fn tables(&self) -> usize {
        self.limits.space.tables
    }

    fn memories(&self) -> usize {
        self.limits.space.memories
    }
}
