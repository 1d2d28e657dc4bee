//! Asking again: the same request, after a pause, while nothing was said.
//!
//! Text is never replayed: from the first event on, a failure is final. That a call is being written is no such event: it
//! is made only once it is whole, and is begun again with the answer. Knows no provider and no HTTP; failures say
//! themselves whether they may pass.

use std::time::Duration;

use acp_runtime_agent::model::{ModelError, ModelEvent};
use async_stream::stream;
use futures::stream::{Stream, StreamExt};
use tokio::time::Instant;

use super::settings::Retries;

/// The most doublings of the first pause.
const DOUBLINGS: u32 = 4;

/// The answer of the first attempt that begins, or the failure of the last one. `attempt` makes the request; its
/// stream ends after [`ModelEvent::Stop`] or its first error.
pub(super) fn retrying<'a, S>(
    retries: Retries,
    mut attempt: impl FnMut() -> S + Send + 'a,
) -> impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'a
where
    S: Stream<Item = Result<ModelEvent, ModelError>> + Send + 'a,
{
    stream! {
        let mut pauses = Pauses { retries, began: Instant::now(), attempts: 0 };
        loop {
            let mut answer = Box::pin(attempt());
            let mut forwarded = false;
            let mut failure = None;
            while let Some(item) = answer.next().await {
                match item {
                    Err(error) if !forwarded => {
                        failure = Some(error);
                        break;
                    }
                    item => {
                        let is_begun =
                            matches!(item, Ok(ModelEvent::ToolCallBegun { .. } | ModelEvent::ToolCallInput { .. }));
                        forwarded |= !is_begun;
                        yield item;
                    }
                }
            }
            drop(answer);
            let Some(failure) = failure else { break };
            let Some(pause) = pauses.after(&failure) else {
                yield Err(failure);
                break;
            };
            tracing::info!(provider = failure.provider, kind = failure.kind.as_str(), ?pause, "asking the model again");
            tokio::time::sleep(pause).await;
        }
    }
}

struct Pauses {
    retries: Retries,
    began: Instant,
    attempts: u32,
}

impl Pauses {
    /// How long to wait before the next attempt, if there may be one.
    fn after(&mut self, failure: &ModelError) -> Option<Duration> {
        self.attempts += 1;
        if !failure.kind.retryable() || self.attempts >= self.retries.attempts {
            return None;
        }
        let pause = failure.retry_after.unwrap_or_else(|| self.backoff());
        let left = Duration::from_secs(self.retries.within_secs).checked_sub(self.began.elapsed())?;
        (pause <= left).then_some(pause)
    }

    /// Twice as long each time, and up to half shorter by chance, so that many clients do not come back at once.
    fn backoff(&self) -> Duration {
        let doublings = self.attempts.saturating_sub(1).min(DOUBLINGS);
        let longest = Duration::from_millis(self.retries.first_pause_ms).saturating_mul(1 << doublings);
        longest.mul_f64(1.0 - fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use acp_runtime_agent::model::ModelErrorKind;
    use acp_runtime_agent::transcript::StopReason;
    use futures::stream;

    use super::*;

    type Item = Result<ModelEvent, ModelError>;

    fn failure(kind: ModelErrorKind, retry_after: Option<u64>) -> Item {
        Err(ModelError {
            message: "no".to_owned(),
            kind,
            provider: "lab".to_owned(),
            status: None,
            retry_after: retry_after.map(Duration::from_secs),
        })
    }

    fn text() -> Item {
        Ok(ModelEvent::Text("hi".to_owned()))
    }

    fn stop() -> Item {
        Ok(ModelEvent::Stop(StopReason::EndTurn))
    }

    /// Plays one attempt after the other; gives what came out, how many attempts there were, and how long it took.
    async fn play(attempts: Vec<Vec<Item>>) -> (Vec<Item>, usize, Duration) {
        let began = Instant::now();
        let offered = attempts.len();
        let attempts = Mutex::new(attempts.into_iter());
        let next = || stream::iter(attempts.lock().unwrap().next().expect("no more attempts"));
        let items: Vec<Item> = retrying(Retries::default(), next).collect().await;
        (items, offered - attempts.lock().unwrap().len(), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_may_pass_is_tried_again() {
        for kind in [ModelErrorKind::RateLimit, ModelErrorKind::Overloaded, ModelErrorKind::Network] {
            let (items, attempts, took) = play(vec![vec![failure(kind, None)], vec![text(), stop()]]).await;
            assert_eq!((items, attempts), (vec![text(), stop()], 2));
            assert!((250..=501).contains(&took.as_millis()), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_stays_is_final_at_once() {
        for kind in [ModelErrorKind::Auth, ModelErrorKind::Request, ModelErrorKind::Malformed] {
            let (items, attempts, took) = play(vec![vec![failure(kind, None)], vec![text(), stop()]]).await;
            assert_eq!((items, attempts, took), (vec![failure(kind, None)], 1, Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn text_is_never_replayed() {
        let cut = vec![text(), failure(ModelErrorKind::Network, None)];
        let (items, attempts, _) = play(vec![cut.clone(), vec![text(), stop()]]).await;
        assert_eq!((items, attempts), (cut, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_not_whole_is_written_again() {
        let begun = || Ok(ModelEvent::ToolCallBegun { draft: 0, name: "read".to_owned() });
        let cut = vec![begun(), failure(ModelErrorKind::Network, None)];
        let (items, attempts, _) = play(vec![cut, vec![begun(), stop()]]).await;
        assert_eq!((items, attempts), (vec![begun(), begun(), stop()], 2));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_end() {
        let attempts = vec![vec![failure(ModelErrorKind::Overloaded, None)]; 9];
        let (items, attempts, took) = play(attempts).await;
        assert_eq!((items, attempts), (vec![failure(ModelErrorKind::Overloaded, None)], 5));
        // 0.5 + 1 + 2 + 4 seconds, at most half shorter.
        assert!((3_750..=7_504).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_provider_says_how_long() {
        let limited = failure(ModelErrorKind::RateLimit, Some(7));
        let (items, attempts, took) = play(vec![vec![limited], vec![stop()]]).await;
        assert_eq!((items, attempts, took.as_secs()), (vec![stop()], 2, 7));
    }

    #[tokio::test(start_paused = true)]
    async fn the_provider_cannot_make_people_wait_for_long() {
        let limited = |secs| failure(ModelErrorKind::RateLimit, Some(secs));
        let (items, attempts, took) = play(vec![vec![limited(61)], vec![stop()]]).await;
        assert_eq!((items, attempts, took), (vec![limited(61)], 1, Duration::ZERO));

        let (items, attempts, took) = play(vec![vec![limited(40)], vec![limited(40)], vec![stop()]]).await;
        assert_eq!((items, attempts, took.as_secs()), (vec![limited(40)], 2, 40));
    }
}
