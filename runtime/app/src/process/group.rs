//! Signals to a program and all that it started.

use std::time::Duration;

/// How long the dead of a group are waited for. A program that the system does not let go is not.
const DYING: Duration = Duration::from_millis(300);

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

/// Waits until what was killed of a group is dead: until then it may still hold what it had, and be seen.
#[cfg(unix)]
pub(super) async fn until_gone(leader: u32) {
    let Some(group) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) else { return };
    let waiting = async {
        let mut pause = Duration::from_millis(1);
        while is_there(group) {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(16));
        }
    };
    if tokio::time::timeout(DYING, waiting).await.is_err() {
        tracing::debug!(leader, "what was killed is not dead yet: not waited for any longer");
    }
}

/// Whether something of a group lives. Those that are dead and that nobody has looked after have their number still.
#[cfg(unix)]
fn is_there(group: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process_group(group).is_ok() && has_living(group.as_raw_nonzero().get())
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the kernel tells of processes in files")]
fn has_living(group: i32) -> bool {
    // `NUMBER (NAME) STATE PARENT GROUP …`, and the name may have anything in it.
    let lives = |status: String| {
        let mut fields = status.rsplit(") ").next()?.split(' ');
        let (state, of) = (fields.next()?, fields.nth(1)?);
        Some(of.parse() == Ok(group) && !matches!(state, "Z" | "X"))
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let status = |process: std::fs::DirEntry| std::fs::read_to_string(process.path().join("stat")).ok();
    processes.flatten().filter_map(status).filter_map(lives).any(|lives| lives)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn has_living(_group: i32) -> bool {
    true
}

/// There are no groups here; whoever holds the child ends it.
#[cfg(not(unix))]
pub(super) fn end(_leader: u32, _urgency: Urgency) {}

/// The same.
#[cfg(not(unix))]
pub(super) fn end_rest(_leader: u32) {}

/// The same.
#[cfg(not(unix))]
pub(super) async fn until_gone(_leader: u32) {}
