//! The parts that our own binary plays when it is started by a [`Launcher`](super::Launcher): not for people.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitCode;

use super::guardian;
use super::program::{Bounds, Input, Resources};

/// Becomes another program, once it is told to.
pub(super) const EXEC: &str = "__exec";
/// Before the program: it may write only in the folders that follow with [`WRITABLE`].
const CONTAINED: &str = "--contained";
/// Before the program: it may read only what follows with [`READABLE`].
const CLOSED: &str = "--closed";
/// Before the program: a folder that it may write in.
const WRITABLE: &str = "--writable";
/// Before the program: a file or folder that it may read.
const READABLE: &str = "--readable";
/// Before the program: it may make no connections.
const OFFLINE: &str = "--offline";
/// Before the program: what it may use up, bytes of memory and seconds of computing, with a comma between.
const RESOURCES: &str = "--resources";
/// Before the program: it is none, but the name of a role that this binary plays itself.
const ITSELF: &str = "--itself";
/// Looks after the groups of another process of ours.
pub(super) const GUARD: &str = "__guard";

/// All that can stand before the program.
const WORDS: [&str; 7] = [CONTAINED, CLOSED, WRITABLE, READABLE, OFFLINE, RESOURCES, ITSELF];

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
        /// What it is kept to.
        bounds: Bounds,
        /// Whether it is this binary once more.
        itself: bool,
        /// Its file, or the name of the role that this binary plays then.
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
                let (mut bounds, mut itself) = (Bounds::default(), false);
                let mut program = arguments.next()?;
                while let Some(word) = WORDS.into_iter().find(|word| program == *word) {
                    match word {
                        CONTAINED => bounds.writable = Some(Vec::new()),
                        CLOSED => bounds.readable = Some(Vec::new()),
                        WRITABLE => bounds.writable.as_mut()?.push(arguments.next()?.into()),
                        READABLE => bounds.readable.as_mut()?.push(arguments.next()?.into()),
                        RESOURCES => bounds.resources = Some(resources(arguments.next()?.to_str()?)?),
                        ITSELF => itself = true,
                        _ => bounds.offline = true,
                    }
                    program = arguments.next()?;
                }
                Some(Self::Exec { bounds, itself, program, arguments: arguments.collect() })
            }
            GUARD => Some(Self::Guard),
            _ => None,
        }
    }

    /// Plays it to its end. `own` plays those that have nothing to do with programs, by their names and arguments.
    pub fn play(self, own: impl FnOnce(&OsStr, &[OsString]) -> ExitCode) -> ExitCode {
        match self {
            Self::Exec { bounds, itself, program, arguments } => {
                let error = match prepare(&bounds) {
                    Ok(true) if itself => return own(&program, &arguments),
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

/// What stands after [`RESOURCES`].
fn resources(text: &str) -> Option<Resources> {
    let (memory, processor) = text.split_once(',')?;
    Some(Resources { memory: memory.parse().ok()?, processor: processor.parse().ok()? })
}

/// The arguments before the program that say what it is kept to.
#[cfg(unix)]
pub(super) fn words(bounds: &Bounds, itself: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for (whole, each, paths) in [(CONTAINED, WRITABLE, &bounds.writable), (CLOSED, READABLE, &bounds.readable)] {
        let Some(paths) = paths else { continue };
        words.push(whole.into());
        words.extend(paths.iter().flat_map(|path| [each.into(), path.into()]));
    }
    words.extend(bounds.offline.then(|| OFFLINE.into()));
    if let Some(Resources { memory, processor }) = bounds.resources {
        words.extend([RESOURCES.into(), format!("{memory},{processor}").into()]);
    }
    words.extend(itself.then(|| ITSELF.into()));
    words
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
/// it is kept to its bounds.
#[cfg(unix)]
fn prepare(bounds: &Bounds) -> io::Result<bool> {
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
    super::containment::contain(bounds)?;
    bounds.resources.map_or(Ok(()), bound)?;
    Ok(true)
}

/// Keeps this process to what it may use up; that it fails leaves no trace of its memory.
#[cfg(unix)]
fn bound(resources: Resources) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let Resources { memory, processor } = resources;
    for (resource, most) in
        [(Resource::As, memory), (Resource::Cpu, processor), (Resource::Fsize, 0), (Resource::Core, 0)]
    {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn prepare(_bounds: &Bounds) -> io::Result<bool> {
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
    #[cfg(unix)]
    use std::path::PathBuf;

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
                bounds: Bounds::default(),
                itself: false,
                program: "/bin/ls".into(),
                arguments: vec!["-l".into(), "__guard".into()],
            })
        });
        assert_eq!(role("acp-runtime __exec --contained --writable /a --writable"), None);
        assert_eq!(role("acp-runtime __exec --writable /a /bin/ls"), None);
        assert_eq!(role("acp-runtime __exec --resources 1 /bin/ls"), None);
    }

    #[cfg(unix)]
    #[test]
    fn bounds_are_told_in_words() {
        let paths = |paths: &[&str]| Some(paths.iter().map(PathBuf::from).collect());
        let bounds = |writable, readable, offline| Bounds { writable, readable, offline, resources: None };
        let resources = Some(Resources { memory: 1000, processor: 7 });
        for (bounds, itself, told) in [
            (Bounds::default(), false, ""),
            (bounds(paths(&["/a", "/b"]), None, false), false, "--contained --writable /a --writable /b"),
            (bounds(paths(&[]), paths(&["/c"]), true), false, "--contained --closed --readable /c --offline"),
            (Bounds { resources, ..Bounds::default() }, true, "--resources 1000,7 --itself"),
        ] {
            let words = words(&bounds, itself);
            assert_eq!(words.join(" ".as_ref()), told);
            let line = ["acp-runtime", EXEC].into_iter().map(OsString::from).chain(words);
            let role = Role::of(line.chain(["/bin/ls", "--writable", "/c"].map(OsString::from)));
            let arguments = vec!["--writable".into(), "/c".into()];
            assert_eq!(role, Some(Role::Exec { bounds, itself, program: "/bin/ls".into(), arguments }));
        }
    }
}
