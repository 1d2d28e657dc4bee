//! Folders that were lent: what is done in them is judged path by path.
//!
//! A permit for a folder, or for a pattern over one, is given once, before a guest sees anything of it. From then on each
//! path is held against it here: it must be allowed under its name and where that leads, and neither may be on a deny
//! list or refused for good. Nobody is asked any more. Removing and moving are not lent at all; whoever does that asks
//! the gate. Writes and refusals are audited one by one, reads counted for each permit. Tested with the gate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{AuditEntry, Exhibit, Gate, Origin, Permit, Refusal, Request, Why, Wish};
use crate::capability::{Effect, WorkspacePath};
use crate::policy::Rule;

/// Refusals of one loan that are audited one by one; those that come after are counted.
const SINGLE_REFUSALS: u64 = 100;

/// By which answer an effect was refused for good, as [`super::Remembered`] names it; none where it was not.
pub type Refused = Arc<dyn Fn(&Effect) -> Option<String> + Send + Sync>;

/// What was lent for one call.
pub struct Lent {
    gate: Arc<Gate>,
    origin: Origin,
    permits: Vec<Permit>,
    refused: Refused,
    /// How many files were read under each permit.
    reads: Vec<AtomicU64>,
    refusals: AtomicU64,
    /// The first of those refusals that are counted only.
    uncounted: Mutex<Option<Effect>>,
}

/// A path: as it is named, and where its links lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// As it is named.
    pub named: WorkspacePath,
    /// Without links.
    pub real: WorkspacePath,
}

impl Way {
    /// The way to the entry `name` of that folder, which is no link.
    pub fn entry(&self, name: &str) -> Option<Self> {
        Some(Self { named: self.named.join(name).ok()?, real: self.real.join(name).ok()? })
    }
}

impl Lent {
    /// Lends what `permits` allow to `origin`.
    pub async fn new(gate: Arc<Gate>, origin: Origin, permits: Vec<Permit>) -> Self {
        let refused = gate.book.refused(&origin).await;
        let reads = permits.iter().map(|_| AtomicU64::new(0)).collect();
        Self { gate, origin, permits, refused, reads, refusals: AtomicU64::new(0), uncounted: Mutex::default() }
    }

    /// Whether that file would be read, for lists. Nothing is audited.
    pub fn shows(&self, way: &Way) -> bool {
        let wish = wish(way, Effect::Read);
        self.allowing(&wish).is_some() && self.is_open(&wish)
    }

    /// Whether that folder may be looked into: something in it, or below, may be read. Nothing is audited.
    pub fn enters(&self, way: &Way) -> bool {
        let leads =
            |lent: &Effect, folder: &WorkspacePath| lent.scope().is_some_and(|scope| scope.leads_through(folder));
        let leads = |permit: &Permit| {
            permit.wishes.iter().any(|wish| leads(&wish.named, &way.named) && leads(&wish.real, &way.real))
        };
        self.permits.iter().any(leads) && self.is_open(&wish(way, Effect::Read))
    }

    /// Whether what stands at `from` may not be moved to `to`, whatever was answered. Nothing is audited.
    pub fn forbids_move(&self, from: &Way, to: &Way) -> bool {
        let named = Effect::Move { from: from.named.clone(), to: to.named.clone() };
        let real = Effect::Move { from: from.real.clone(), to: to.real.clone() };
        [named, real].iter().any(|moved| {
            let refused =
                || std::iter::once(moved).chain(&moved.besides()).any(|effect| (self.refused)(effect).is_some());
            self.gate.policy().forbids(moved).is_some() || self.keeps_from(moved).is_some() || refused()
        })
    }

    /// Reads that file.
    pub fn read(&self, way: &Way) -> Result<(), Refusal> {
        let wish = wish(way, Effect::Read);
        let permit = self.judged(&wish)?;
        if let Some(count) = self.reads.get(permit) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Makes or changes that file or folder.
    pub fn write(&self, way: &Way) -> Result<(), Refusal> {
        let wish = wish(way, Effect::Write);
        self.judged(&wish)?;
        self.gate.note(&self.origin, &wish, true, "lent", Request::now(&Exhibit::default()));
        Ok(())
    }

    /// Notes that a path was refused for what it is or where it lies, whatever rules say: the folder was lent to be read, a
    /// link leads out of it, a device, a file with other names.
    pub fn turn_away(&self, effect: Effect) {
        drop(self.refuse(&Wish { named: effect.clone(), real: effect }, "view", Why::NotLent));
    }

    /// Which permit allows it.
    fn judged(&self, wish: &Wish) -> Result<usize, Refusal> {
        if let Some(rule) = self.forbids(wish) {
            let by = if matches!(rule, Rule::Unnamed(_)) { "unnamed" } else { "deny-list" };
            return Err(self.refuse(wish, by, Why::Rule(&rule)));
        }
        if let Some(about) = self.was_refused(wish) {
            return Err(self.refuse(wish, "remembered", Why::Remembered(&about)));
        }
        self.allowing(wish).ok_or_else(|| self.refuse(wish, "not-lent", Why::NotLent))
    }

    /// What is lent for writing may be read as well.
    fn allowing(&self, wish: &Wish) -> Option<usize> {
        let covers = |permit: &Permit, wish: &Wish| permit.covers(&wish.named) && permit.reaches(&wish.real);
        let as_write = || match (&wish.named, &wish.real) {
            (Effect::Read(named), Effect::Read(real)) => {
                Some(Wish { named: Effect::Write(named.clone()), real: Effect::Write(real.clone()) })
            }
            _ => None,
        };
        let by = |wish: &Wish| self.permits.iter().position(|permit| covers(permit, wish));
        by(wish).or_else(|| as_write().and_then(|wish| by(&wish)))
    }

    fn is_open(&self, wish: &Wish) -> bool {
        self.forbids(wish).is_none() && self.was_refused(wish).is_none()
    }

    fn was_refused(&self, wish: &Wish) -> Option<String> {
        (self.refused)(&wish.named).or_else(|| (self.refused)(&wish.real))
    }

    fn forbids(&self, wish: &Wish) -> Option<Rule> {
        let policy = self.gate.policy();
        let everyone = policy.forbids(&wish.named);
        let everyone = everyone.or_else(|| wish.is_elsewhere().then(|| policy.forbids(&wish.real)).flatten());
        everyone.or_else(|| self.keeps_from(&wish.real))
    }

    /// What rights that cover it are not enough for. Reads cost nothing here.
    fn keeps_from(&self, effect: &Effect) -> Option<Rule> {
        let Origin::Plugin { plugin, .. } = &self.origin else { return None };
        let grants = || self.gate.grants(plugin);
        if effect.is_read() { None } else { self.gate.policy().keeps_from(effect, &grants()?) }
    }

    fn refuse(&self, wish: &Wish, by: &str, why: Why<'_>) -> Refusal {
        if self.refusals.fetch_add(1, Ordering::Relaxed) < SINGLE_REFUSALS {
            self.gate.note(&self.origin, wish, false, by, Request::now(&Exhibit::default()));
        } else {
            self.uncounted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| wish.real.clone());
        }
        Gate::refusal(&self.origin, wish, why)
    }
}

impl Drop for Lent {
    /// What was only counted is audited.
    fn drop(&mut self) {
        let record = |effect: &Effect, allowed, by, times| {
            let (origin, took) = (&self.origin, Duration::ZERO);
            self.gate.audit.record(AuditEntry { origin, effect, allowed, by, times, bytes: None, took });
        };
        for (permit, reads) in self.permits.iter().zip(&self.reads) {
            if let (Some(wish), times @ 1..) = (permit.wishes.first(), reads.load(Ordering::Relaxed)) {
                record(&wish.real, true, "lent", times);
            }
        }
        let more = self.refusals.load(Ordering::Relaxed).saturating_sub(SINGLE_REFUSALS);
        if let Some(effect) = self.uncounted.lock().unwrap_or_else(PoisonError::into_inner).take() {
            record(&effect, false, "not-lent", more);
        }
    }
}

fn wish(way: &Way, effect: fn(crate::capability::PathScope) -> Effect) -> Wish {
    Wish { named: effect(way.named.scope()), real: effect(way.real.scope()) }
}
