//! The guardian: a process of our own that outlives us by a moment, and ends what we could not.
//!
//! It reads lines from us, `+PID` for a group that began and `-PID` for one that is over. When its input ends we are
//! gone, whatever the reason, and it kills the groups that are left.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
#[cfg(unix)]
use std::{
    io::Write as _,
    path::Path,
    process::{Child, ChildStdin, Stdio},
};

use super::group;

/// Our side: knows the groups that are to be looked after, and has a guardian for them once there is one.
#[cfg(unix)]
#[derive(Default)]
pub(super) struct Guardian {
    groups: BTreeSet<u32>,
    process: Option<(Child, ChildStdin)>,
}

#[cfg(unix)]
impl Guardian {
    /// Looks after a group from now on. The guardian is started where there is none (any more).
    pub(super) fn watch(&mut self, leader: u32, executable: &Path) -> io::Result<()> {
        self.groups.insert(leader);
        if self.process.is_some() {
            let Err(error) = self.tell(&format!("+{leader}\n")) else { return Ok(()) };
            tracing::warn!("the guardian of started programs is gone, so another one starts: {error}");
        }
        self.dismiss();
        self.process = Some(hire(executable)?);
        self.groups.clone().into_iter().try_for_each(|group| self.tell(&format!("+{group}\n")))
    }

    /// The group is over.
    pub(super) fn forget(&mut self, leader: u32) {
        if self.groups.remove(&leader) && self.tell(&format!("-{leader}\n")).is_err() {
            self.dismiss();
        }
    }

    fn tell(&mut self, lines: &str) -> io::Result<()> {
        match &mut self.process {
            Some((_, input)) => input.write_all(lines.as_bytes()),
            None => Ok(()),
        }
    }

    /// Ends its input and waits for its end, which follows at once.
    fn dismiss(&mut self) {
        if let Some((mut child, input)) = self.process.take() {
            drop(input);
            // There is nothing to learn from its exit code.
            let _ = child.wait();
        }
    }
}

#[cfg(unix)]
impl Drop for Guardian {
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// Starts it in a group of its own, so that what ends ours does not end it first.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn hire(executable: &Path) -> io::Result<(Child, ChildStdin)> {
    use std::os::unix::process::CommandExt as _;

    let mut command = std::process::Command::new(executable);
    command.arg(super::role::GUARD).env_clear().process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let input = child.stdin.take().ok_or_else(|| io::Error::other("it has no input"))?;
    Ok((child, input))
}

/// Its own side: reads to the end of `input`, then kills what is left.
pub(super) fn guard(input: impl BufRead) {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        match (line.get(..1), line.get(1..).and_then(|pid| pid.parse::<u32>().ok())) {
            (Some("+"), Some(leader)) => groups.insert(leader),
            (Some("-"), Some(leader)) => groups.remove(&leader),
            _ => false,
        };
    }
    groups.into_iter().for_each(group::end_rest);
}
