//! The limits by name: what each is called where it is configured, in which unit, and from where to where.
//!
//! Amounts are whole numbers: of things, of bytes, or of milliseconds.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{KIB, Limits, MIB};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;

/// How an amount is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A number of bytes.
    Bytes,
    /// Seconds, of which there can be parts.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// What may be done with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// So much at most: a project may lower it, and a single plugin may have its own.
    Most,
    /// So much at least: likewise, but a project may raise it.
    Least,
    /// One for all plugins of a process.
    Shared,
}

/// A limit that can be configured.
#[derive(Debug)]
pub struct Limit {
    /// Its name in a configuration.
    pub name: &'static str,
    /// What is limited, as a sentence.
    pub what: &'static str,
    /// How an amount is written.
    pub unit: Unit,
    /// What it can be.
    pub range: RangeInclusive<u64>,
    /// What may be done with it.
    pub kind: Kind,
    get: fn(&Limits) -> u64,
    set: fn(&mut Limits, u64),
}

impl Limit {
    /// The limit of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        LIMITS.iter().find(|limit| limit.name == name)
    }

    /// What it is where nobody says anything.
    pub fn default_amount(&self) -> u64 {
        self.of(&Limits::default())
    }

    /// What it is in `limits`.
    pub fn of(&self, limits: &Limits) -> u64 {
        (self.get)(limits)
    }

    /// Sets it in `limits`, whatever its range is.
    pub fn set(&self, limits: &mut Limits, amount: u64) {
        (self.set)(limits, amount);
    }

    /// Whether `theirs` allows no more than `ours`.
    pub fn narrows(&self, theirs: u64, ours: u64) -> bool {
        match self.kind {
            Kind::Most | Kind::Shared => theirs <= ours,
            Kind::Least => theirs >= ours,
        }
    }
}

/// Limits that somebody has set, each within its range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitTable(BTreeMap<&'static str, u64>);

impl LimitTable {
    /// Sets one; false, and nothing is set, where the amount is out of its range.
    #[must_use]
    pub fn set(&mut self, limit: &'static Limit, amount: u64) -> bool {
        let fits = limit.range.contains(&amount);
        if fits {
            self.0.insert(limit.name, amount);
        }
        fits
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is set, in the order of [`LIMITS`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Limit, u64)> {
        LIMITS.iter().filter_map(|limit| Some((limit, *self.0.get(limit.name)?)))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Puts what is set into `limits`.
    pub(super) fn apply(&self, limits: &mut Limits) {
        self.iter().for_each(|(limit, amount)| limit.set(limits, amount));
    }

    /// Puts what is set into `limits` where that allows less.
    pub(super) fn narrow(&self, limits: &mut Limits) {
        for (limit, amount) in self.iter().filter(|(limit, _)| limit.kind != Kind::Shared) {
            let ours = limit.of(limits);
            if limit.narrows(amount, ours) {
                limit.set(limits, amount);
            }
        }
    }
}

/// A field that holds a limit.
trait Amount {
    fn amount(&self) -> u64;
    fn of(amount: u64) -> Self;
}

impl Amount for u64 {
    fn amount(&self) -> u64 {
        *self
    }

    fn of(amount: u64) -> Self {
        amount
    }
}

impl Amount for usize {
    fn amount(&self) -> u64 {
        *self as u64
    }

    fn of(amount: u64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }
}

impl Amount for u32 {
    fn amount(&self) -> u64 {
        (*self).into()
    }

    fn of(amount: u64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }
}

impl Amount for Duration {
    fn amount(&self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }

    fn of(amount: u64) -> Self {
        Self::from_millis(amount)
    }
}

macro_rules! catalog {
    ($($name:ident ($($field:ident).+) $kind:ident $unit:ident $from:expr, $to:expr; $what:literal)*) => {
        /// All limits, in the order in which people are told of them.
        pub static LIMITS: &[Limit] = &[$(Limit {
            name: stringify!($name),
            what: $what,
            unit: Unit::$unit,
            range: $from..=$to,
            kind: Kind::$kind,
            get: |limits| limits.$($field).+.amount(),
            set: |limits, amount| limits.$($field).+ = Amount::of(amount),
        }),*];
    };
}

catalog! {
    memory (space.memory) Most Bytes MIB, 1024 * MIB; "Memory of one instance."
    memories (space.memories) Most Count 1, 16; "Linear memories of one instance."
    tables (space.tables) Most Count 1, 256; "Tables of one instance."
    table_elements (space.table_elements) Most Count 100, 200_000; "Elements of one table."
    instances (space.instances) Most Count 1, 256; "Core instances that one instance is made of."
    resources (space.resources) Most Count 16, 100_000; "Files, streams and the like that an instance has open."
    handles (space.handles) Most Count 16, 100_000; "Handles that an instance holds, those of its own resources included."
    stack (space.stack) Shared Bytes 64 * KIB, 4 * MIB; "Stack that a plugin's functions use."
    component (space.component) Shared Bytes 64 * KIB, 256 * MIB; "Size of a component that is compiled."
    compile_seconds (time.compile) Shared Seconds 100, 30 * MINUTE; "How long compiling a plugin may take."
    compile_memory (space.compile) Shared Bytes 256 * MIB, 64 * 1024 * MIB; "Memory that compiling a plugin may take, as address space."
    wall_seconds (time.wall) Most Seconds 100, 5 * MINUTE; "From a call's begin to its end, without the time that a person is asked."
    cpu_seconds (time.cpu) Most Seconds 10, MINUTE; "During which a call itself computes."
    grace_milliseconds (time.grace) Most Milliseconds 0, 5 * SECOND; "Between a cancellation and the end of the instance."
    idle_seconds (time.idle) Most Seconds 0, 60 * MINUTE; "How long an instance of `lifecycle = \"session\"` is kept without being used."
    notice_milliseconds (time.notice) Least Milliseconds 0, MINUTE; "Between two lines of progress, and between two changes of panels."
    calls (traffic.calls) Most Count 1, 64; "Calls of one plugin at the same time; further ones wait."
    crossing (traffic.crossing) Most Bytes 64 * KIB, 256 * MIB; "What may be copied from the plugin to the host at once."
    output (traffic.output) Most Bytes 64, 64 * MIB; "An outcome of a tool, a command's reply, a panel's text."
    events (traffic.events) Most Count 1, 100_000; "Lines of progress, changes of panels and plans in one call."
    plan (traffic.plan) Most Count 1, 10_000; "Entries of a plan."
    log_lines (traffic.log_lines) Most Count 0, 1_000_000; "Lines of log in one call, what it prints included."
    log_line (traffic.log_line) Most Bytes 16, 64 * KIB; "One line of log."
    random (traffic.random) Most Bytes 32, 16 * MIB; "Random numbers that are asked for at once."
    kv_total (kv.total) Most Bytes 0, 1024 * MIB; "All keys and values that a plugin keeps in `kv`."
    kv_value (kv.value) Most Bytes 1, 64 * MIB; "One value in `kv`."
    kv_key (kv.key) Most Bytes 1, 4 * KIB; "One key in `kv`."
    data (folders.data) Most Bytes 0, 64 * 1024 * MIB; "Files in `/data`, of each project."
    tmp (folders.tmp) Most Bytes 0, 64 * 1024 * MIB; "Files in `/tmp`, of each instance."
    entries (folders.entries) Most Count 1, 1_000_000; "Files and folders in `/data`, and in `/tmp`."
    panel_nodes (panel.nodes) Most Count 1, 100_000; "Nodes of a panel."
    panel_depth (panel.depth) Most Count 1, 256; "Levels of a panel."
    panel_label (panel.label) Most Bytes 16, 64 * KIB; "A label, an id or a kind in a panel."
    panel_data (panel.data) Most Bytes 2, 16 * MIB; "The data of one node of a panel."
    panel_total_data (panel.total_data) Most Bytes 2, 64 * MIB; "The data of all nodes of a panel."
    exec_runs (exec.runs) Most Count 0, 10_000; "Programs that one call runs."
    exec_seconds (exec.time) Most Seconds 100, 10 * MINUTE; "How long a program may take."
    exec_output (exec.output) Most Bytes KIB, 16 * MIB; "What a program may write to each of its outputs."
    exec_line (exec.line) Most Bytes 16, 128 * KIB; "A program's name and its arguments."
    session_entries (session.entries) Most Count 1, 10_000; "Pieces of the conversation that are read at once."
    session_entry (session.entry) Most Bytes 16, MIB; "One piece of the conversation; of more the beginning is read."
    session_bytes (session.bytes) Most Bytes 16, 16 * MIB; "All pieces of the conversation that are read at once."
    net_requests (net.requests) Most Count 1, 64; "Requests to the network at the same time; further ones wait."
    net_redirects (net.redirects) Most Count 0, 20; "Redirects that one request follows."
    net_addresses (net.addresses) Most Count 1, 64; "Addresses of one host that are tried."
    net_sent_headers (net.sent.headers) Most Count 0, 100; "Headers of a request."
    net_sent_header_bytes (net.sent.header_bytes) Most Bytes 0, 256 * KIB; "All headers of a request."
    net_sent_body (net.sent.body) Most Bytes 0, 256 * MIB; "The body of a request."
    net_headers (net.answered.headers) Most Count 1, 1000; "Headers of an answer."
    net_header_bytes (net.answered.header_bytes) Most Bytes 8 * KIB, MIB; "All headers of an answer."
    net_body (net.answered.body) Most Bytes 0, 256 * MIB; "The body of an answer, as it travels and once more as it is unpacked."
    net_connect_seconds (net.time.connect) Most Seconds 10, MINUTE; "Until one address has accepted a connection."
    net_idle_seconds (net.time.idle) Most Seconds 10, 5 * MINUTE; "Between two pieces of an answer."
    net_seconds (net.time.whole) Most Seconds 10, 5 * MINUTE; "A whole request, redirects included, without the time that a person is asked."
    hook_milliseconds (hook.cpu) Most Milliseconds 10, 5 * SECOND; "During which a hook itself computes."
    hook_wall_milliseconds (hook.wall) Most Milliseconds 10, MINUTE; "From an event to a hook's answer. Where only `hook_milliseconds` is set, 20 times that."
    hook_memory (hook.memory) Most Bytes MIB, 1024 * MIB; "Memory of a hook, where the plugin has more."
    hook_answer (hook.answer) Most Bytes 64, 16 * MIB; "A hook's answer."
    hook_crossing (hook.crossing) Most Bytes 64 * KIB, 256 * MIB; "What may be copied from a hook to the host at once."
    hook_calls (hook.calls) Most Count 1, 64; "Events that one plugin is told of at the same time; further ones wait."
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_field_has_one_name_and_a_default_in_its_range() {
        let names: BTreeSet<&str> = LIMITS.iter().map(|limit| limit.name).collect();
        assert_eq!(names.len(), LIMITS.len());
        let mut other = Limits::default();
        for limit in LIMITS {
            assert!(limit.range.contains(&limit.default_amount()), "{}", limit.name);
            let before = format!("{other:#?}");
            let amount = limit.default_amount() + 1;
            limit.set(&mut other, amount);
            assert_eq!(limit.of(&other), amount, "{}", limit.name);
            assert_ne!(format!("{other:#?}"), before, "{} has a field of its own", limit.name);
        }
        // Line by line, each field is another one now.
        let (usual, other) = (format!("{:#?}", Limits::default()), format!("{other:#?}"));
        let same: Vec<&str> =
            usual.lines().zip(other.lines()).filter(|(one, two)| one == two).map(|(line, _)| line.trim()).collect();
        let scalars: Vec<&&str> = same.iter().filter(|line| !line.ends_with(['{', '}']) && **line != "},").collect();
        assert!(scalars.is_empty(), "these have no name: {scalars:?}");
    }

    #[test]
    fn a_table_takes_what_is_in_range_and_narrows() {
        let (memory, notice) = (Limit::named("memory").unwrap(), Limit::named("notice_milliseconds").unwrap());
        let mut table = LimitTable::default();
        assert!(!table.set(memory, 5) && table.is_empty());
        assert!(table.set(memory, 128 * MIB) && table.set(notice, 100));
        let mut limits = Limits::default();
        table.narrow(&mut limits);
        assert_eq!((memory.of(&limits), notice.of(&limits)), (64 * MIB, 250));
        table.apply(&mut limits);
        assert_eq!((memory.of(&limits), notice.of(&limits)), (128 * MIB, 100));
        assert!(table.set(memory, MIB) && table.set(notice, 300));
        table.narrow(&mut limits);
        assert_eq!((memory.of(&limits), notice.of(&limits)), (MIB, 300));
        assert!(Limit::named("memmory").is_none());
    }
}
