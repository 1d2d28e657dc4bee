//! The exit codes: one table, which every command keeps to and the help shows.

use acp_runtime_agent::session::Fault;

/// It was done.
pub(super) const DONE: u8 = 0;
/// It was tried and failed, or was refused.
pub(super) const FAILED: u8 = 1;
/// It makes no sense as it was typed or configured.
pub(super) const MISUSED: u8 = 2;

/// The table, as people read it. What stops a process by a signal has its number, see [`crate::process::Stop`].
pub(super) const TABLE: &str = "\
Exit code:
  0  it was done
  1  it was tried and failed, or was refused: a turn, a tool, a file, a check
  2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
     command that is used in another way, a setting, a prompt where no model is configured
  130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP";

/// That of a prompt that was answered without being done.
pub(super) fn code(fault: Fault) -> u8 {
    match fault {
        Fault::Misused | Fault::NoModel => MISUSED,
        Fault::Failed => FAILED,
    }
}
