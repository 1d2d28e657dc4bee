//! A plugin in a session, and what it offers there.

use std::sync::Arc;

use acp_runtime_agent::capability::{CommandName, Effect, Grant, OwnFolder, PanelName, PluginId, Tier, ToolName};
use acp_runtime_agent::command::{Command, CommandReply};
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::gate::{Lent, Origin, Permit, Refusal};
use acp_runtime_agent::model::ToolSpec;
use acp_runtime_agent::panel::{PanelActing, PanelInfo, PanelSource, PanelView};
use acp_runtime_agent::tool::{Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{ToolCallId, ToolOutcome};
use futures::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;

use super::hook::PluginHook;
use super::narrower::Turn;
use super::settings::Settings;
use super::{Plugin, Problem, SessionPlugins, names, new_call};
use crate::bindings::CallContext;
use crate::instance::{CallError, Compiled, WarmSeat, Work};
use crate::manifest::Lifecycle;
use crate::scope::{Mount, SessionScope};
use crate::state::{Call, Notices, SessionCall};

/// A plugin in a session.
pub(super) struct BoundPlugin {
    pub(super) plugin: Arc<Plugin>,
    pub(super) scope: Arc<SessionScope>,
    /// The plugin's own name of each of its panels, and the session's.
    pub(super) panels: Arc<[(String, PanelName)]>,
    pub(super) settings: Settings,
    /// Where an instance is kept; none when each call has its own.
    seat: Option<WarmSeat>,
}

/// What a call may come to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folders {
    /// To draw a panel: nobody is asked for a right to write.
    Readable,
    /// To do something.
    Writable,
}

impl BoundPlugin {
    /// The error says why the plugin cannot be used in this session.
    pub(super) fn new(
        plugin: &Arc<Plugin>,
        scope: &Arc<SessionScope>,
        names: &names::Session<'_>,
    ) -> Result<Self, String> {
        let panels = plugin.manifest().inventory.panels.iter();
        let panels = panels.map(|panel| (panel.name.to_string(), names.panel(plugin.id(), &panel.name)));
        Ok(Self {
            panels: panels.collect(),
            settings: Settings::new(plugin, scope.settings.get(plugin.id()))?,
            seat: (plugin.manifest().lifecycle == Lifecycle::Session).then(WarmSeat::default),
            plugin: plugin.narrowed(&scope.limits),
            scope: scope.clone(),
        })
    }

    /// Adds what the plugin offers, under the session's names.
    pub(super) fn offer(self: Arc<Self>, names: &names::Session<'_>, session: &mut SessionPlugins) {
        let inventory = &self.plugin.manifest().inventory;
        let mut problems = Vec::new();
        for (tool, spec) in inventory.tools.iter().zip(names.tools(&self.plugin)) {
            match (spec, ToolName::new(&tool.name)) {
                (Ok(spec), Ok(own)) if !session.tools.iter().any(|known| known.spec().name == spec.name) => {
                    session.tools.push(Arc::new(PluginTool { bound: self.clone(), spec: spec.clone(), own }));
                }
                (Ok(spec), Ok(_)) => problems.push(format!("tool `{}` is left out: its name is taken", spec.name)),
                (Err(what), _) => problems.push(what.clone()),
                (_, Err(error)) => problems.push(error.to_string()),
            }
        }
        for (panel, (own, name)) in inventory.panels.iter().zip(self.panels.iter()) {
            let info = PanelInfo { name: name.clone(), ..panel.clone() };
            let info = if self.is_taken_at_its_word() { info } else { careful(info) };
            session.panels.push(Arc::new(PluginPanel { bound: self.clone(), info, own: own.clone() }));
        }
        for command in &inventory.commands {
            let name = names.command(self.plugin.id(), &command.name);
            match CommandName::new(&name) {
                Ok(_) => {
                    let info = CommandInfo { name, ..command.clone() };
                    let own = command.name.clone();
                    session.commands.push(Arc::new(PluginCommand { bound: self.clone(), info, own }));
                }
                Err(error) => problems.push(format!("command `/{}` is left out: {error}", command.name)),
            }
        }
        session.hooks.extend(PluginHook::of(&self));
        let plugin = self.plugin.id();
        session.problems.extend(problems.into_iter().map(|what| Problem { plugin: plugin.clone(), what }));
    }

    /// Whether its panels' actions do what they say of themselves: those of a plugin that came with the program, and of one
    /// that asks for no right to change files or to run programs.
    fn is_taken_at_its_word(&self) -> bool {
        let changes = |right: &Grant| matches!(right, Grant::Write(_) | Grant::Run(_));
        let grants = self.scope.gate.grants(self.plugin.id());
        grants.is_some_and(|grants| grants.tier == Tier::Bundled || !grants.ceiling.iter().any(changes))
    }

    /// Does the work, and remembers how that went.
    async fn run<T: Send + 'static>(
        &self,
        tool_call: Option<ToolCallId>,
        folders: Folders,
        cancel: &CancellationToken,
        work: impl Work<T>,
    ) -> Result<T, CallError> {
        let outcome = self.work(tool_call, folders, cancel, work).await;
        let failure = outcome.as_ref().err().filter(|error| !matches!(error, CallError::Cancelled));
        self.plugin.record.ended(failure.map(ToString::to_string));
        outcome
    }

    /// Waits for its settings, its turn and the compiled component, asks the gate for the folders, and does the work.
    async fn work<T: Send + 'static>(
        &self,
        tool_call: Option<ToolCallId>,
        folders: Folders,
        cancel: &CancellationToken,
        work: impl Work<T>,
    ) -> Result<T, CallError> {
        let begun = cancel.run_until_cancelled(self.begin(tool_call, folders, cancel)).await;
        let (_turn, compiled, call, mounts) = begun.ok_or(CallError::Cancelled)??;
        // It stands still while a person is asked.
        let (clock, begin) = (call.deadline.clone(), call.deadline.left());
        let outcome = match &self.seat {
            Some(seat) => compiled.run_warm(call, mounts, seat, work).await,
            None => compiled.run(call, mounts, work).await,
        };
        self.plugin.record.ran(begin.saturating_sub(clock.left()));
        outcome
    }

    async fn begin(
        &self,
        tool_call: Option<ToolCallId>,
        folders: Folders,
        cancel: &CancellationToken,
    ) -> Result<(Turn, Arc<Compiled>, Call, Vec<Mount>), CallError> {
        let plugin = &self.plugin;
        // Whoever only looks is not asked.
        let elicitor = (folders == Folders::Writable).then_some(&*self.scope.elicitor);
        let settings = self.settings.get(elicitor, tool_call.as_ref()).await?;
        let turn = plugin.calls.wait().await;
        let compiled = plugin.compiled().await?;
        let (mounts, lent) = self.lend(tool_call.clone(), folders).await.map_err(CallError::Refused)?;
        let session = SessionCall {
            scope: self.scope.clone(),
            lent: Arc::new(lent),
            own: self.own_folders(tool_call.clone()).await,
            tool_call,
            panels: self.panels.clone(),
            settings,
            notices: Notices::new(&plugin.limits),
            may_ask: true,
        };
        let call = new_call(plugin.id(), &plugin.limits, &plugin.desks, &plugin.record, Some(session), cancel.clone());
        Ok((turn, compiled, call, mounts))
    }

    /// What the gate allows of the session's folders. Without what it reads the call cannot begin; without what it writes
    /// it can.
    async fn lend(&self, call: Option<ToolCallId>, folders: Folders) -> Result<(Vec<Mount>, Lent), Refusal> {
        let gate = &self.scope.gate;
        let origin = Origin::Plugin { plugin: self.plugin.id().clone(), call };
        let capabilities = &self.plugin.manifest().capabilities;
        let readable = self.scope.folders.readable(capabilities);
        let (mut mounts, mut permits) = (Mount::readable(&readable), Vec::new());
        if !readable.is_empty() {
            let effects = readable.into_iter().map(Effect::Read).collect();
            permits.push(gate.authorize(origin.clone(), effects).await?);
        }
        if folders == Folders::Writable {
            for scope in self.scope.folders.writable(capabilities) {
                match gate.authorize(origin.clone(), vec![Effect::Write(scope.clone())]).await {
                    Ok(permit) => {
                        mounts.push(Mount::writable(&scope, &permit));
                        permits.push(permit);
                    }
                    Err(refusal) => tracing::debug!("plugin `{}` runs without it: {refusal}", self.plugin.id()),
                }
            }
        }
        Ok((mounts, Lent::new(gate.clone(), origin, permits).await))
    }

    /// Which folders of its own the gate allows. Without them the call can begin.
    async fn own_folders(&self, call: Option<ToolCallId>) -> Vec<OwnFolder> {
        let mut allowed = Vec::new();
        for capability in &self.plugin.manifest().capabilities {
            let Grant::OwnFiles(folder) = capability.grant else { continue };
            let origin = Origin::Plugin { plugin: self.plugin.id().clone(), call: call.clone() };
            match self.scope.gate.authorize(origin, vec![Effect::OwnFiles(folder)]).await {
                Ok(_) => allowed.push(folder),
                Err(refusal) => tracing::debug!("plugin `{}` runs without it: {refusal}", self.plugin.id()),
            }
        }
        allowed
    }

    /// Guests name places as they see them; clients know the session's own paths.
    fn outside(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        let folders = &self.scope.folders;
        outcome.locations.retain_mut(|place| match folders.resolve(&place.path) {
            Ok(path) => {
                place.path = folders.names.display(&path);
                true
            }
            Err(_) => false,
        });
        outcome
    }
}

/// A panel whose actions may each change something, whatever they say of themselves.
fn careful(mut panel: PanelInfo) -> PanelInfo {
    for action in &mut panel.actions {
        (action.destructive, action.mutates) = (true, true);
        if action.confirm.trim().is_empty() {
            action.confirm = format!("{}: {{label}}? The plugin can change files or run programs.", action.label);
        }
    }
    panel
}

/// A plugin's tool.
struct PluginTool {
    bound: Arc<BoundPlugin>,
    spec: Arc<ToolSpec>,
    own: ToolName,
}

impl Tool for PluginTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn plugin(&self) -> Option<&PluginId> {
        Some(self.bound.plugin.id())
    }

    fn effects(&self, _arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(vec![self.effect()])
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            if !permit.covers(&self.effect()) {
                return Err(ToolError::Fatal(format!("no permit for {}", self.effect())));
            }
            let call = permit.origin().call().cloned();
            let context = CallContext {
                call: call.as_ref().map_or_else(String::new, ToString::to_string),
                session: self.bound.scope.session.to_string(),
            };
            let (name, arguments) = (self.own.clone(), arguments.as_value().to_string());
            let outcome = self.bound.run(call, Folders::Writable, &cancel, move |guest, exports| {
                async move { guest.call(exports, name.as_str(), &arguments, context).await }.boxed()
            });
            Ok(self.bound.outside(outcome.await?))
        }
        .boxed()
    }
}

impl PluginTool {
    fn effect(&self) -> Effect {
        Effect::CallPlugin(self.bound.plugin.id().clone(), self.own.clone())
    }
}

/// A plugin's panel.
struct PluginPanel {
    bound: Arc<BoundPlugin>,
    info: PanelInfo,
    own: String,
}

impl PanelSource for PluginPanel {
    fn info(&self) -> &PanelInfo {
        &self.info
    }

    fn plugin(&self) -> Option<&PluginId> {
        Some(self.bound.plugin.id())
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<PanelView, String>> {
        async move {
            let (own, cancel) = (self.own.clone(), CancellationToken::new());
            let view = self.bound.run(None, Folders::Readable, &cancel, move |guest, exports| {
                async move { guest.snapshot(exports, &own).await }.boxed()
            });
            view.await.map_err(|error| {
                let (plugin, panel) = (self.bound.plugin.id(), &self.info.name);
                tracing::warn!(target: "plugin", %plugin, "the panel `{panel}` cannot be drawn: {error}");
                error.to_string()
            })
        }
        .boxed()
    }

    fn act(&self, acting: PanelActing) -> BoxFuture<'_, Result<Option<String>, String>> {
        async move {
            let (own, cancel) = (self.own.clone(), CancellationToken::new());
            let message = self.bound.run(None, Folders::Writable, &cancel, move |guest, exports| {
                async move { guest.act(exports, &own, acting).await }.boxed()
            });
            message.await.map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// A plugin's slash command.
struct PluginCommand {
    bound: Arc<BoundPlugin>,
    info: CommandInfo,
    own: String,
}

impl Command for PluginCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn plugin(&self) -> Option<&PluginId> {
        Some(self.bound.plugin.id())
    }

    fn run<'a>(
        &'a self,
        arguments: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        async move {
            let (own, arguments) = (self.own.clone(), arguments.to_owned());
            let reply = self.bound.run(None, Folders::Writable, &cancel, move |guest, exports| {
                async move { guest.run(exports, &own, &arguments).await }.boxed()
            });
            Ok(match reply.await? {
                (text, None) => CommandReply::Text(text),
                (text, Some(prompt)) => CommandReply::Prompt { text, prompt },
            })
        }
        .boxed()
    }
}
