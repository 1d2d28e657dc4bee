//! A store that keeps nothing: what a child of a session says is its own.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _, ready};

use crate::event::SessionEvent;
use crate::store::{
    Claim, KeptOutput, KeptSession, ListQuery, PointOfNoReturn, SessionPage, SessionRecord, SessionSetup, SessionStore,
    StoreError,
};
use crate::transcript::{SessionId, ToolCallId};

pub(super) struct Unkept;

fn claim() -> BoxFuture<'static, Result<Claim, StoreError>> {
    ready(Ok(Claim::new(|| ready(()).boxed()))).boxed()
}

impl SessionStore for Unkept {
    fn create(&self, _: SessionRecord) -> BoxFuture<'_, Result<Claim, StoreError>> {
        claim()
    }

    fn claim(&self, _: &SessionId) -> BoxFuture<'_, Result<Claim, StoreError>> {
        claim()
    }

    fn set_up(&self, _: &SessionId, _: SessionSetup) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }

    fn append(&self, _: &SessionId, _: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }

    fn fork(
        &self,
        _: &SessionId,
        _: SessionRecord,
        _: Arc<[SessionEvent]>,
        _: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<Claim, StoreError>> {
        claim()
    }

    fn load(&self, _: &SessionId) -> BoxFuture<'_, Result<Option<KeptSession>, StoreError>> {
        ready(Ok(None)).boxed()
    }

    fn list(&self, _: ListQuery) -> BoxFuture<'_, Result<SessionPage, StoreError>> {
        ready(Ok(SessionPage::default())).boxed()
    }

    fn keep_output(&self, _: &SessionId, _: &ToolCallId, _: String) -> BoxFuture<'_, Option<KeptOutput>> {
        ready(None).boxed()
    }

    fn delete(&self, _: &SessionId, _: PointOfNoReturn) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }
}
