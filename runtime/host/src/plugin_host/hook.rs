//! A plugin's hooks in a session.
//!
//! Each event is told to an instance of its own, with the limits of hooks. It sees no folders, and what it asks the host
//! for is only done where nobody has to be asked: others wait for it. It is told of nothing that the plugin was not
//! granted; that is judged each time. Nothing that it does is an event itself, so hooks never meet themselves.

use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, PluginId};
use acp_runtime_agent::gate::{Lent, Origin};
use acp_runtime_agent::hook::{Hook, HookFailure, Occurrence, Subscription, Verdict};
use futures::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;

use super::bound::BoundPlugin;
use super::narrower::Turns;
use super::{Plugin, new_call};
use crate::instance::CallError;
use crate::limits::Limits;
use crate::scope::SessionScope;
use crate::state::{Notices, SessionCall};

/// What all sessions of a plugin share for its hooks.
pub(super) struct HookDesk {
    limits: Arc<Limits>,
    /// Beside those of its tools: a tool that takes its time must not stop what waits for a hook.
    calls: Turns,
}

impl HookDesk {
    pub(super) fn new(limits: &Limits) -> Self {
        Self::beside(None, limits)
    }

    /// With narrower limits, beside the calls that there are.
    pub(super) fn narrowed(&self, limits: &Limits) -> Self {
        Self::beside(Some(&self.calls), limits)
    }

    fn beside(whole: Option<&Turns>, limits: &Limits) -> Self {
        Self { limits: Arc::new(limits.of_hooks()), calls: Turns::beside(whole, limits.hook.calls) }
    }
}

/// The hooks of one plugin in one session.
pub(super) struct PluginHook(Arc<BoundPlugin>);

impl PluginHook {
    /// None where the plugin has none.
    pub(super) fn of(bound: &Arc<BoundPlugin>) -> Option<Arc<dyn Hook>> {
        let has_hooks = !bound.plugin.manifest().hooks.is_empty();
        has_hooks.then(|| Arc::new(Self(bound.clone())) as Arc<dyn Hook>)
    }

    async fn tell(&self, occurrence: &Occurrence) -> Result<Verdict, CallError> {
        let BoundPlugin { plugin, scope, panels, settings, .. } = &*self.0;
        let HookDesk { limits, calls } = &plugin.hooks;
        let settings = settings.get(None, None).await?;
        // Compiling is no part of what a hook takes, and happens once.
        let compiled = plugin.compiled().await?;
        let _turn = calls.wait().await;
        let origin = Origin::Plugin { plugin: plugin.id().clone(), call: occurrence.call.clone() };
        let session = SessionCall {
            scope: scope.clone(),
            lent: Arc::new(Lent::new(scope.gate.clone(), origin, Vec::new()).await),
            own: Vec::new(),
            // Progress would stand where the question about the call is asked.
            tool_call: None,
            panels: panels.clone(),
            settings,
            notices: Notices::new(limits),
            may_ask: false,
        };
        let call =
            new_call(plugin.id(), limits, &plugin.desks, &plugin.record, Some(session), CancellationToken::new());
        let begin = call.deadline.left();
        let clock = call.deadline.clone();
        let told = occurrence.clone();
        let outcome = compiled
            .run(call, Vec::new(), move |guest, exports| async move { guest.handle(exports, &told).await }.boxed())
            .await;
        plugin.record.ran(begin.saturating_sub(clock.left()));
        outcome
    }
}

/// The hooks of a plugin that cannot be used: they fail.
pub(super) struct BrokenHook {
    plugin: Arc<Plugin>,
    scope: Arc<SessionScope>,
    why: String,
}

impl BrokenHook {
    /// None where the plugin has no hooks.
    pub(super) fn of(plugin: &Arc<Plugin>, scope: &Arc<SessionScope>, why: &str) -> Option<Arc<dyn Hook>> {
        let has_hooks = !plugin.manifest().hooks.is_empty();
        let broken = || Self { plugin: plugin.clone(), scope: scope.clone(), why: why.to_owned() };
        has_hooks.then(|| Arc::new(broken()) as Arc<dyn Hook>)
    }
}

impl Hook for BrokenHook {
    fn plugin(&self) -> &PluginId {
        self.plugin.id()
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.plugin.manifest().hooks
    }

    fn handle<'a>(&'a self, occurrence: &'a Occurrence) -> BoxFuture<'a, Result<Verdict, HookFailure>> {
        async move {
            let granted = is_granted(self.plugin.id(), &self.scope, occurrence).await;
            if granted { Err(HookFailure(self.why.clone())) } else { Ok(Verdict::NoOpinion) }
        }
        .boxed()
    }

    /// Without its settings in order it never works.
    fn remedy(&self) -> Option<String> {
        let (id, file) = (self.plugin.id(), &self.scope.configured_in);
        Some(format!("correct `[plugins.settings.\"{id}\"]` in `{file}`, and restart the agent"))
    }
}

/// Whether the plugin may be told of that: the gate judges each time.
async fn is_granted(plugin: &PluginId, scope: &SessionScope, occurrence: &Occurrence) -> bool {
    let origin = Origin::Plugin { plugin: plugin.clone(), call: occurrence.call.clone() };
    scope.gate.unasked(origin, vec![Effect::Hook(occurrence.event)]).await.is_some()
}

impl Hook for PluginHook {
    fn plugin(&self) -> &PluginId {
        self.0.plugin.id()
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.0.plugin.manifest().hooks
    }

    fn handle<'a>(&'a self, occurrence: &'a Occurrence) -> BoxFuture<'a, Result<Verdict, HookFailure>> {
        async move {
            let plugin = &self.0.plugin;
            if !is_granted(plugin.id(), &self.0.scope, occurrence).await {
                return Ok(Verdict::NoOpinion);
            }
            let outcome = self.tell(occurrence).await;
            plugin.record.ended(outcome.as_ref().err().map(ToString::to_string));
            outcome.map_err(|error| HookFailure(error.to_string()))
        }
        .boxed()
    }
}
