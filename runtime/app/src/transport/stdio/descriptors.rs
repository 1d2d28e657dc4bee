//! Takes fd 0 and fd 1 away from everybody else in the process, and from its children.

use std::fs::File;
use std::io;

/// The process's stdin and stdout, for the protocol alone. What is left at fd 0 is empty, and fd 1 is stderr.
#[cfg(unix)]
pub(super) fn take() -> io::Result<(File, File)> {
    use std::os::fd::AsFd;

    use rustix::fs::{Mode, OFlags};

    let private = |fd: std::os::fd::BorrowedFd<'_>| -> io::Result<File> {
        // Above the standard ones, closed in children.
        let own = rustix::io::fcntl_dupfd_cloexec(fd, 3)?;
        // Whoever shares this end may have made it non-blocking; the threads here wait in the system call.
        let flags = rustix::fs::fcntl_getfl(&own)?;
        rustix::fs::fcntl_setfl(&own, flags - OFlags::NONBLOCK)?;
        Ok(own.into())
    };
    let input = private(io::stdin().as_fd())?;
    let output = private(io::stdout().as_fd())?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(nothing)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((input, output))
}

/// Without file descriptors the standard streams are used as they are.
#[cfg(not(unix))]
pub(super) fn take() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}
