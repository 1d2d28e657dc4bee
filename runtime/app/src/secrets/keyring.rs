//! The system's keyring, with an end to how long it may take.
//!
//! A keyring asks its person before it opens, and a broken one never answers: so it is asked from a thread of its own,
//! and who waits for it waits for a while.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::SecretId;
use crate::secret::Secret;

/// What the secrets are called in the keyring.
const SERVICE: &str = "acp-runtime";

/// A keyring. Each call may take as long as it likes; errors are for people.
pub(super) trait Keyring: Send + Sync {
    /// A secret; none where it has none of that name.
    fn get(&self, name: &SecretId) -> Result<Option<Secret>, String>;
    /// Keeps a secret.
    fn set(&self, name: &SecretId, secret: &Secret) -> Result<(), String>;
    /// Removes a secret, if it has it.
    fn remove(&self, name: &SecretId) -> Result<(), String>;
}

/// That of the operating system: the Secret Service, the Keychain or the Credential Manager.
pub(super) struct SystemKeyring;

impl SystemKeyring {
    fn entry(name: &SecretId) -> Result<keyring::Entry, String> {
        if let Err(error) = keyring::Entry::store_status() {
            return Err(told(error));
        }
        keyring::Entry::new(SERVICE, &name.to_string()).map_err(|error| told(&error))
    }
}

impl Keyring for SystemKeyring {
    fn get(&self, name: &SecretId) -> Result<Option<Secret>, String> {
        match Self::entry(name)?.get_password() {
            Ok(value) => Ok(Some(Secret::new(value))),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(told(&error)),
        }
    }

    fn set(&self, name: &SecretId, secret: &Secret) -> Result<(), String> {
        Self::entry(name)?.set_password(secret.expose()).map_err(|error| told(&error))
    }

    fn remove(&self, name: &SecretId) -> Result<(), String> {
        match Self::entry(name)?.delete_credential() {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(error) => Err(told(&error)),
        }
    }
}

/// The first cause of an error: what is around it says only that something failed.
fn told(error: &keyring::Error) -> String {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source()).last().unwrap_or(first).to_string()
}

type Job = Box<dyn FnOnce(&dyn Keyring) + Send>;

/// A keyring that is asked by one thread, which begins with the first question.
pub(super) struct Bounded {
    keyring: Arc<dyn Keyring>,
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Bounded {
    pub(super) fn new(keyring: Arc<dyn Keyring>) -> Self {
        Self { keyring, jobs: Mutex::new(None) }
    }

    /// What comes of `work`, if it comes within `limit`.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&dyn Keyring) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (reply, answer) = sync_channel(1);
        self.hand(Box::new(move |keyring| {
            // Who asked may have given up.
            let _ = reply.send(work(keyring));
        }))?;
        answer.recv_timeout(limit).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(format!("it did not answer within {} s", limit.as_secs_f32())),
            RecvTimeoutError::Disconnected => Err("it broke".to_owned()),
        })
    }

    /// Gives work to the thread, which begins with the first of it.
    fn hand(&self, job: Job) -> Result<(), String> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.is_none() {
            let (thread, work) = channel();
            let keyring = self.keyring.clone();
            let begun = std::thread::Builder::new().name("keyring".to_owned()).spawn(move || serve(&*keyring, &work));
            begun.map_err(|error| error.to_string())?;
            *jobs = Some(thread);
        }
        let sent = jobs.as_ref().map(|thread| thread.send(job));
        sent.and_then(Result::ok).ok_or_else(|| "its thread is gone".to_owned())
    }
}

fn serve(keyring: &dyn Keyring, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        // A keyring that breaks in one answer may have others; whoever waits is told by the reply that went with it.
        let _ = catch_unwind(AssertUnwindSafe(|| job(keyring)));
    }
}
