//! How much a plugin may use: every limit with its default, its unit and its reason.
//!
//! Each field is read in exactly one place, named in its comment, and has a name by which it is configured ([`LIMITS`]).
//! There it is called by its group and its name, `kv.total`: `tests/it/architecture/limits.rs` of the workspace looks for
//! that. Knows nothing about how a limit is kept; `tests/it/limits.rs` walks the names and has a guest meet each one, and
//! the hostile guests try to break them.

mod book;
mod catalog;
mod text;

use std::ops::RangeInclusive;
use std::time::Duration;

pub use self::book::LimitBook;
pub(crate) use self::book::Slots;
pub use self::catalog::{Kind, LIMITS, Limit, LimitTable, Unit};
pub use self::text::show_bytes;
pub(crate) use self::text::{parse_bytes, parse_duration};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bytes of a plugin's file, its code included, that are read at all; what is compiled has an end of its own
/// ([`SpaceLimits::component`]). Read where plugin files are read.
pub const COMPONENT: u64 = 256 * MIB;
/// Sections of a plugin's file, outside of one another. Read where a file's manifest is looked for; the largest plugins
/// have some hundreds.
pub const SECTIONS: usize = 100_000;
/// What a manifest may ask for as memory, in bytes. The upper end is also the size of the engine's memory slots.
pub const MEMORY_RANGE: RangeInclusive<u64> = MIB..=1024 * MIB;
/// What a manifest may ask for as room in `/data`, and in `/tmp`, in bytes each.
pub const FOLDER_RANGE: RangeInclusive<u64> = MIB..=1024 * MIB;
/// What a manifest may ask for as wall time.
pub const WALL_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(300);
/// What a manifest may ask for as CPU time.
pub const CPU_RANGE: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);

/// The limits of one plugin.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Memory and what else an instance is made of.
    pub space: SpaceLimits,
    /// Time.
    pub time: TimeLimits,
    /// What passes between guest and host.
    pub traffic: TrafficLimits,
    /// Own storage.
    pub kv: KvLimits,
    /// Own folders.
    pub folders: FolderLimits,
    /// Panels.
    pub panel: PanelLimits,
    /// Programs.
    pub exec: ExecLimits,
    /// What was said in the session.
    pub session: SessionLimits,
    /// The network.
    pub net: NetLimits,
    /// Hooks.
    pub hook: HookLimits,
}

/// Memory and what else an instance is made of.
#[derive(Debug, Clone)]
pub struct SpaceLimits {
    /// Bytes of linear memory, all memories together. Default 64 MiB, in [`MEMORY_RANGE`]. Read by the store's limiter.
    pub memory: u64,
    /// Linear memories. Default 4. Read by the store's limiter.
    pub memories: usize,
    /// Tables. Default 64. Read by the store's limiter.
    pub tables: usize,
    /// Elements of one table. Default 20,000. Read by the store's limiter.
    pub table_elements: usize,
    /// Core instances. Default 64, since a Python component has 14 modules. Read by the store's limiter.
    pub instances: usize,
    /// Open resources (files, streams). Default 4,096. Read where the store is made.
    pub resources: usize,
    /// Handles that the guest holds, also of resources of its own. Default 10,000. Read where the store is made.
    pub handles: usize,
    /// Bytes of the stack that the guest's functions use. Default 512 KiB. Read where the engine starts, for all plugins.
    pub stack: usize,
    /// Bytes of a component that is compiled. Default 64 MiB. Read where one is compiled.
    pub component: u64,
    /// Bytes of address space that compiling takes. Default 4 GiB. Read where a component is compiled.
    pub compile: u64,
}

impl Default for SpaceLimits {
    fn default() -> Self {
        Self {
            memory: 64 * MIB,
            memories: 4,
            tables: 64,
            table_elements: 20_000,
            instances: 64,
            resources: 4096,
            handles: 10_000,
            stack: 512 << 10,
            component: 64 * MIB,
            compile: 4096 * MIB,
        }
    }
}

/// Time.
#[derive(Debug, Clone)]
pub struct TimeLimits {
    /// From a call's begin to its end, without the time that a person is asked. Default 60 s, in [`WALL_RANGE`]. Read
    /// where a call begins.
    pub wall: Duration,
    /// During which the guest itself runs, in ticks of 10 ms. Default 10 s, in [`CPU_RANGE`]. Read where a call begins.
    pub cpu: Duration,
    /// Between a cancellation and the instance's end. Default 100 ms. Read where a call is cancelled.
    pub grace: Duration,
    /// For compiling. Default 60 s. Read where a component is compiled.
    pub compile: Duration,
    /// A warm store of `lifecycle = "session"` that is not used so long is dropped. Default 5 min. Read where it is
    /// kept.
    pub idle: Duration,
    /// At most one progress line and one change of a panel in that time. Default 250 ms. Read where a call begins.
    pub notice: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(10),
            grace: Duration::from_millis(100),
            compile: Duration::from_secs(60),
            idle: Duration::from_secs(300),
            notice: Duration::from_millis(250),
        }
    }
}

/// What passes between guest and host.
#[derive(Debug, Clone)]
pub struct TrafficLimits {
    /// Bytes that one crossing from the guest to the host may copy. Default 16 MiB. Read where the store is made.
    pub crossing: usize,
    /// Bytes of one outcome or reply. Default 1 MiB. Read where outcomes are taken.
    pub output: usize,
    /// Lines of log in one call, stdout and stderr included. Default 1,000. Read by the call's log.
    pub log_lines: u32,
    /// Bytes of one line of log. Default 4 KiB. Read by the call's log.
    pub log_line: usize,
    /// Bytes of one request for random numbers. Default 64 KiB. Read where the store is made.
    pub random: u64,
    /// What one call tells the session of: lines of progress, changes of panels, plans. Default 10,000. Read where a call
    /// begins.
    pub events: u32,
    /// Entries of a plan. Default 200. Read by `plan.set`.
    pub plan: usize,
    /// Calls at the same time; further ones wait. Default 4. Read where the plugin is loaded.
    pub calls: usize,
}

impl Default for TrafficLimits {
    fn default() -> Self {
        Self {
            crossing: 16 << 20,
            output: 1 << 20,
            log_lines: 1000,
            log_line: 4 << 10,
            random: 64 * KIB,
            events: 10_000,
            plan: 200,
            calls: 4,
        }
    }
}

/// Own storage.
#[derive(Debug, Clone)]
pub struct KvLimits {
    /// Bytes of all keys and values of the plugin. Default 10 MiB. Read by `kv.set`.
    pub total: u64,
    /// Bytes of one value. Default 1 MiB. Read by `kv.set`.
    pub value: usize,
    /// Bytes of one key. Default 512. Read where a key is checked.
    pub key: usize,
}

impl Default for KvLimits {
    fn default() -> Self {
        Self { total: 10 * MIB, value: 1 << 20, key: 512 }
    }
}

/// Folders of its own. All are read where one is opened.
#[derive(Debug, Clone)]
pub struct FolderLimits {
    /// Bytes of all files in `/data`, of each project. Default 64 MiB, in [`FOLDER_RANGE`].
    pub data: u64,
    /// Bytes of all files in `/tmp`, of each instance. Default 64 MiB, in [`FOLDER_RANGE`].
    pub tmp: u64,
    /// Files and folders in each of them. Default 10,000.
    pub entries: u64,
}

impl Default for FolderLimits {
    fn default() -> Self {
        Self { data: 64 * MIB, tmp: 64 * MIB, entries: 10_000 }
    }
}

/// Panels. All are read where a snapshot's tree is built.
#[derive(Debug, Clone)]
pub struct PanelLimits {
    /// Nodes of a snapshot. Default 10,000.
    pub nodes: usize,
    /// Levels of a snapshot. Default 64.
    pub depth: usize,
    /// Bytes of a label, an id or a kind. Default 4 KiB.
    pub label: usize,
    /// Bytes of one node's data. Default 64 KiB.
    pub data: usize,
    /// Bytes of all data of a snapshot. Default 2 MiB.
    pub total_data: usize,
}

impl Default for PanelLimits {
    fn default() -> Self {
        Self { nodes: 10_000, depth: 64, label: 4 << 10, data: 64 << 10, total_data: 2 << 20 }
    }
}

/// Programs. All are read by `process.run`.
#[derive(Debug, Clone)]
pub struct ExecLimits {
    /// Runs in one call. Default 200.
    pub runs: u32,
    /// How long one may take. Default 30 s.
    pub time: Duration,
    /// Bytes that one may write to each of its outputs. Default 1 MiB.
    pub output: usize,
    /// Bytes of a program's name and its arguments. Default 64 KiB.
    pub line: usize,
}

impl Default for ExecLimits {
    fn default() -> Self {
        Self { runs: 200, time: Duration::from_secs(30), output: 1 << 20, line: 64 << 10 }
    }
}

/// What was said in the session. All are read by `session.read`.
#[derive(Debug, Clone)]
pub struct SessionLimits {
    /// Pieces of one answer. Default 500.
    pub entries: usize,
    /// Bytes of one piece, of which more is cut. Default 16 KiB.
    pub entry: usize,
    /// Bytes of one answer. Default 256 KiB.
    pub bytes: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { entries: 500, entry: 16 << 10, bytes: 256 << 10 }
    }
}

/// The network: for one plugin, and for all native tools together.
#[derive(Debug, Clone)]
pub struct NetLimits {
    /// Requests at the same time; further ones wait. Default 8. Read where a desk is made.
    pub requests: usize,
    /// Redirects that one request follows. Default 5. Read where they are followed.
    pub redirects: usize,
    /// Addresses of one name that are tried. Default 8. Read where a name is looked up.
    pub addresses: usize,
    /// What is sent. Default 64 headers of 32 KiB and a body of 8 MiB. Read where a request is made.
    pub sent: MessageLimits,
    /// What is answered, the body as it travels and once more as it is unpacked. Default 100 headers of 64 KiB and a body
    /// of 8 MiB. Read where a connection is opened and where a body begins.
    pub answered: MessageLimits,
    /// How long it may take.
    pub time: NetTimes,
}

impl NetLimits {
    /// Bytes of the headers that a guest may hold, sent or answered, as they are held: that takes more than they are sent in.
    pub(crate) fn held_headers(&self) -> usize {
        2 * self.sent.header_bytes.max(self.answered.header_bytes)
    }
}

/// How large a message may be.
#[derive(Debug, Clone)]
pub struct MessageLimits {
    /// Headers.
    pub headers: usize,
    /// Bytes of all headers together.
    pub header_bytes: usize,
    /// Bytes of the body.
    pub body: usize,
}

/// How long a request may take.
#[derive(Debug, Clone)]
pub struct NetTimes {
    /// Until one address has accepted a connection. Default 10 s. Read where a connection is opened.
    pub connect: Duration,
    /// Between two pieces of a body. Default 15 s. Read where a body is read.
    pub idle: Duration,
    /// From the beginning to the last byte, redirects included, and without the time that a person is asked. Default 30 s;
    /// a request may ask for less. Read where a request begins.
    pub whole: Duration,
}

impl Default for NetLimits {
    fn default() -> Self {
        Self {
            requests: 8,
            redirects: 5,
            addresses: 8,
            sent: MessageLimits { headers: 64, header_bytes: 32 << 10, body: 8 << 20 },
            answered: MessageLimits { headers: 100, header_bytes: 64 << 10, body: 8 << 20 },
            time: NetTimes {
                connect: Duration::from_secs(10),
                idle: Duration::from_secs(15),
                whole: Duration::from_secs(30),
            },
        }
    }
}

/// Hooks, which others wait for: what they have less of than tools. What an event tells them is bounded where it is told
/// ([`PAYLOAD`](acp_runtime_agent::hook::PAYLOAD)). All are read where a hook's call begins.
#[derive(Debug, Clone)]
pub struct HookLimits {
    /// During which the guest itself runs. Default 50 ms.
    pub cpu: Duration,
    /// From the event to the answer, with what it waits for: its storage, a free place. Default 1 s, which is 20 times
    /// the other.
    pub wall: Duration,
    /// Bytes of linear memory, where the plugin has more. Default 16 MiB.
    pub memory: u64,
    /// Bytes of the answer. Default 256 KiB.
    pub answer: usize,
    /// Bytes that one crossing from the guest to the host may copy. Default 1 MiB.
    pub crossing: usize,
    /// Events that a plugin is told of at the same time; further ones wait. Default 8.
    pub calls: usize,
}

impl Default for HookLimits {
    fn default() -> Self {
        let (memory, answer, crossing, calls) = (16 * MIB, 256 << 10, 1 << 20, 8);
        Self { cpu: Duration::from_millis(50), wall: Duration::from_secs(1), memory, answer, crossing, calls }
    }
}

impl HookLimits {
    /// With that much time for the guest itself, and 20 times as much for all.
    #[must_use]
    pub fn lasting(self, cpu: Duration) -> Self {
        Self { cpu, wall: cpu * 20, ..self }
    }
}

impl Limits {
    /// What holds for a hook of a plugin with these limits.
    #[must_use]
    pub fn of_hooks(&self) -> Self {
        let HookLimits { cpu, wall, memory, answer, crossing, calls: _ } = self.hook;
        let mut limits = self.clone();
        limits.space.memory = limits.space.memory.min(memory);
        (limits.time.cpu, limits.time.wall) = (cpu, wall);
        (limits.traffic.output, limits.traffic.crossing) = (answer, crossing);
        limits
    }
}
