//! Sessions as clients ask for them: new ones, kept ones that are loaded, forks of others; and those that are forgotten.
//!
//! Knows nothing about what a session is made of; it sees to it that the store has a session before it begins.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use acp_runtime_agent::context::History;
use acp_runtime_agent::session::{Before, Fork, OpenError, SessionFactory, SessionHandle, SessionRequest, branch};
use acp_runtime_agent::store::{KeptSession, PointOfNoReturn, SessionRecord, SessionSetup, SessionStore, StoreError};
use acp_runtime_agent::transcript::SessionId;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::Runtime;
use super::belongings::Had;
use crate::store::{Arrears, Retention};

impl SessionFactory for Runtime {
    fn create(&self, request: SessionRequest) -> BoxFuture<'_, Result<SessionHandle, OpenError>> {
        async move {
            let record = new_record(request.setup.clone());
            let brought = self.brought(&record.setup.cwd).await;
            let opened = self.open(record.id.clone(), request, History::default(), Had::default(), brought)?;
            let claim = self.store.create(record).await?;
            Ok(opened.begin(claim))
        }
        .boxed()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.development_changed().boxed()
    }

    fn check(&self, setup: &SessionSetup) -> Result<(), OpenError> {
        self.settings_in(&self.open_folders(setup)?, &self.shelf.contents()).map(|_| ())
    }

    fn load(
        &self,
        id: SessionId,
        mut request: SessionRequest,
        before: Option<Before>,
        point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<(SessionHandle, KeptSession), OpenError>> {
        async move {
            let claimed = match self.store.claim(&id).await {
                // It can be read all the same, and nobody else can write to it either.
                Err(error @ StoreError::Unwritable { .. }) => Err(error),
                claimed => Ok(claimed?),
            };
            let (mut record, mut events) = self.kept(&id).await?;
            let seen = events.len();
            let mut history = History::of(&events);
            let repair = history.repair();
            repair.iter().for_each(|event| history.apply(event));
            keep_instructions(&mut request.setup, &record.setup);
            let setup = request.setup.clone();
            let brought = self.brought(&setup.cwd).await;
            let mut opened = self.open(id.clone(), request, history, before.into(), brought)?;
            let mut arrears = Arrears { seen, setup: setup.clone(), events: repair.clone() };
            let caught_up = match claimed {
                Ok(claim) if repair.is_empty() && setup == record.setup => Ok(claim),
                Ok(claim) => self.store.make_good(&id, arrears.clone(), point).await.map(|()| claim),
                Err(error) => Err(error),
            };
            let claim = match caught_up {
                Err(error @ StoreError::Unwritable { .. }) => {
                    arrears.events.extend(opened.tell_unkept(&error));
                    self.store.claim_unwritten(&id, arrears)
                }
                caught_up => caught_up?,
            };
            events.extend(repair);
            record.setup = setup;
            Ok((opened.begin(claim), (record, events)))
        }
        .boxed()
    }

    fn fork(
        &self,
        fork: Fork,
        mut request: SessionRequest,
        no_return: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<SessionHandle, OpenError>> {
        async move {
            let Fork { source, point, choices } = fork;
            let (kept, events) = branch(&self.store, &source, point).await?;
            keep_instructions(&mut request.setup, &kept.setup);
            let record = new_record(request.setup.clone());
            let brought = self.brought(&record.setup.cwd).await;
            let opened = self.open(record.id.clone(), request, History::of(&events), choices.into(), brought)?;
            let claim = self.store.fork(&source, record, events.into(), no_return).await?;
            Ok(opened.begin(claim))
        }
        .boxed()
    }

    fn store(&self) -> Arc<dyn SessionStore> {
        Arc::new(self.store.clone())
    }
}

impl Runtime {
    async fn kept(&self, id: &SessionId) -> Result<KeptSession, OpenError> {
        self.store.load(id).await?.ok_or_else(|| OpenError::Unknown(id.clone()))
    }
}

/// Forgets the sessions that are not to be kept: now, and every day until the runtime is gone.
pub(super) async fn forget_old_sessions(runtime: Arc<Runtime>) {
    const DAY: Duration = Duration::from_hours(24);
    let limits = &runtime.settings.limits;
    let retention = Retention { days: limits.session_days, sessions: limits.sessions };
    let weak = Arc::downgrade(&runtime);
    drop(runtime);
    let mut days = tokio::time::interval(DAY);
    loop {
        days.tick().await;
        let Some(runtime) = weak.upgrade() else { return };
        match runtime.store.retain(retention).await {
            Ok(0) => {}
            Ok(forgotten) => tracing::info!(forgotten, "forgot sessions that are not to be kept"),
            Err(error) => tracing::warn!("old sessions are not forgotten: {error}"),
        }
    }
}

pub(super) fn new_record(setup: SessionSetup) -> SessionRecord {
    let id = SessionId::new(uuid::Uuid::now_v7().simple().to_string());
    SessionRecord { id, setup, title: None, updated: SystemTime::now() }
}

/// A client that says nothing of instructions leaves those that are kept.
fn keep_instructions(setup: &mut SessionSetup, kept: &SessionSetup) {
    if setup.system_prompt.is_none() {
        setup.system_prompt.clone_from(&kept.system_prompt);
    }
}
