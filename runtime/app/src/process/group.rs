//! Signals to a program and all that it started.

/// How a group is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// It may clean up, and may refuse.
    Ask,
    /// At once.
    Force,
}

/// Tells the group of `leader`, or `leader` alone before it has made its group. `leader` must not be reaped yet.
#[cfg(unix)]
pub(super) fn end(leader: u32, urgency: Urgency) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) else { return };
    let signal = match urgency {
        Urgency::Ask => Signal::TERM,
        Urgency::Force => Signal::KILL,
    };
    if kill_process_group(leader, signal).is_err() {
        // One that has just ended needs no signal.
        let _ = kill_process(leader, signal);
    }
}

/// Ends what a leader that was just reaped left of its group. Nobody else has the group's number: as long as something
/// is left it is taken, and afterwards all other numbers have their turn first.
#[cfg(unix)]
pub(super) fn end_rest(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // Usually nothing is left.
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// There are no groups here; whoever holds the child ends it.
#[cfg(not(unix))]
pub(super) fn end(_leader: u32, _urgency: Urgency) {}

/// The same.
#[cfg(not(unix))]
pub(super) fn end_rest(_leader: u32) {}
