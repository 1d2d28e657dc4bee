//! The end of a call's time, which stands still while a person is asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A deadline that can be paused. Clones are the same deadline.
#[derive(Debug, Clone)]
pub(crate) struct Deadline {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    whole: Duration,
    times: Mutex<Times>,
    resumed: Notify,
}

#[derive(Debug)]
struct Times {
    end: Instant,
    /// How many pauses there are, and since when.
    paused: Option<(usize, Instant)>,
}

/// The deadline stands still while this lives.
#[derive(Debug)]
pub(crate) struct Paused<'a>(&'a Shared);

impl Deadline {
    /// So far from now.
    pub(crate) fn after(time: Duration) -> Self {
        let times = Mutex::new(Times { end: Instant::now() + time, paused: None });
        Self { shared: Arc::new(Shared { whole: time, times, resumed: Notify::new() }) }
    }

    /// All of the time that there was.
    pub(crate) fn whole(&self) -> Duration {
        self.shared.whole
    }

    /// Stops the time until the answer is dropped.
    pub(crate) fn pause(&self) -> Paused<'_> {
        let mut times = self.shared.lock();
        times.paused = match times.paused {
            Some((count, since)) => Some((count + 1, since)),
            None => Some((1, Instant::now())),
        };
        Paused(&self.shared)
    }

    /// What is left.
    pub(crate) fn left(&self) -> Duration {
        let times = self.shared.lock();
        let now = times.paused.map_or_else(Instant::now, |(_, since)| since);
        times.end.saturating_duration_since(now)
    }

    /// Waits for the end.
    pub(crate) async fn expired(&self) {
        loop {
            let resumed = self.shared.resumed.notified();
            let (end, paused) = {
                let times = self.shared.lock();
                (times.end, times.paused.is_some())
            };
            if paused {
                resumed.await;
                continue;
            }
            tokio::time::sleep_until(end).await;
            let times = self.shared.lock();
            if times.paused.is_none() && times.end <= Instant::now() {
                return;
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut times = self.0.lock();
        match times.paused {
            Some((1, since)) => {
                times.end += since.elapsed();
                times.paused = None;
                drop(times);
                self.0.resumed.notify_waiters();
            }
            Some((count, since)) => times.paused = Some((count - 1, since)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_while_it_is_paused() {
        let begin = Instant::now();
        let deadline = Deadline::after(2 * SECOND);
        let asking = {
            let deadline = deadline.clone();
            async move {
                tokio::time::sleep(SECOND).await;
                let outer = deadline.pause();
                let inner = deadline.pause();
                tokio::time::sleep(10 * SECOND).await;
                drop(inner);
                assert_eq!(deadline.left(), SECOND);
                drop(outer);
            }
        };
        tokio::join!(asking, deadline.expired());
        assert_eq!(begin.elapsed(), 12 * SECOND);
        assert_eq!(deadline.left(), Duration::ZERO);
    }
}
