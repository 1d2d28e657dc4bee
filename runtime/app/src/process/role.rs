//! The parts that our own binary plays when it is started by a [`Launcher`](super::Launcher): not for people.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use super::guardian;
use super::program::Input;

/// Becomes another program, once it is told to.
pub(super) const EXEC: &str = "__exec";
/// Before the program: a folder that it may write in. Given at all, it may not write elsewhere.
pub(super) const WRITABLE: &str = "--writable";
/// Looks after the groups of another process of ours.
pub(super) const GUARD: &str = "__guard";

/// The byte that lets a program start with nothing to read.
const GO_WITHOUT_INPUT: u8 = b'0';
/// The byte that lets a program start and read what follows.
const GO_WITH_INPUT: u8 = b'1';

/// A program that cannot be executed, as shells report it.
const CANNOT_EXECUTE: u8 = 126;

/// What the binary was started for, other than to be itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Role {
    /// To become a program.
    Exec {
        /// The only folders that it may write in; none for any.
        writable: Vec<PathBuf>,
        /// Its file.
        program: OsString,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
    /// To be the guardian.
    Guard,
}

impl Role {
    /// The role that the arguments of the command line ask for; none for everybody else's.
    pub fn of(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter().skip(1);
        match arguments.next()?.to_str()? {
            EXEC => {
                let mut writable = Vec::new();
                let mut program = arguments.next()?;
                while program == WRITABLE {
                    writable.push(arguments.next()?.into());
                    program = arguments.next()?;
                }
                Some(Self::Exec { writable, program, arguments: arguments.collect() })
            }
            GUARD => Some(Self::Guard),
            _ => None,
        }
    }

    /// Plays it to its end.
    pub fn play(self) -> ExitCode {
        match self {
            Self::Exec { writable, program, arguments } => {
                let error = match prepare(&writable) {
                    Ok(true) => become_program(&program, &arguments),
                    Ok(false) => return ExitCode::FAILURE,
                    Err(error) => error,
                };
                // Whoever started the program reads what it says on its standard error stream.
                let _ = io::Write::write_fmt(
                    &mut io::stderr(),
                    format_args!("`{}` could not be executed: {error}\n", program.display()),
                );
                ExitCode::from(CANNOT_EXECUTE)
            }
            Self::Guard => {
                guardian::guard(io::stdin().lock());
                ExitCode::SUCCESS
            }
        }
    }
}

/// The byte that lets a program start.
pub(super) fn word(input: Input) -> u8 {
    match input {
        Input::Nothing => GO_WITHOUT_INPUT,
        Input::Piped => GO_WITH_INPUT,
    }
}

/// Leaves the group, the session and the terminal of whoever started us, dies with the thread that did, and waits for
/// its word: until then nobody looks after the new group. False where no word comes, since that thread is gone. Then
/// it is kept to writing in `writable`.
#[cfg(unix)]
fn prepare(writable: &[PathBuf]) -> io::Result<bool> {
    use rustix::fs::{Mode, OFlags};

    rustix::process::setsid()?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let mut word = [0];
    if rustix::io::read(rustix::stdio::stdin(), &mut word)? == 0 {
        return Ok(false);
    }
    if word == [GO_WITHOUT_INPUT] {
        let nothing = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::stdio::dup2_stdin(nothing)?;
    }
    if !writable.is_empty() {
        super::containment::contain(writable)?;
    }
    Ok(true)
}

#[cfg(not(unix))]
fn prepare(_writable: &[PathBuf]) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Answers only when it did not work.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
fn become_program(program: &OsString, arguments: &[OsString]) -> io::Error {
    std::os::unix::process::CommandExt::exec(std::process::Command::new(program).args(arguments))
}

#[cfg(not(unix))]
fn become_program(_program: &OsString, _arguments: &[OsString]) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_launcher_asks_for_a_role() {
        let role = |line: &str| Role::of(line.split(' ').map(OsString::from));
        assert_eq!(role("acp-runtime"), None);
        assert_eq!(role("acp-runtime run __guard"), None);
        assert_eq!(role("acp-runtime __exec"), None);
        assert_eq!(role("acp-runtime __guard"), Some(Role::Guard));
        assert_eq!(role("acp-runtime __exec /bin/ls -l __guard"), {
            Some(Role::Exec {
                writable: Vec::new(),
                program: "/bin/ls".into(),
                arguments: vec!["-l".into(), "__guard".into()],
            })
        });
        assert_eq!(role("acp-runtime __exec --writable /a --writable"), None);
        assert_eq!(role("acp-runtime __exec --writable /a --writable /b /bin/ls --writable /c"), {
            Some(Role::Exec {
                writable: vec!["/a".into(), "/b".into()],
                program: "/bin/ls".into(),
                arguments: vec!["--writable".into(), "/c".into()],
            })
        });
    }
}
