//! A question to whoever sits at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::failure::Failure;

/// Whether there is somebody to ask.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks on stderr and reads the answer from stdin. Anything but a plain yes is a no.
pub(super) fn confirmed(question: &str) -> Result<bool, Failure> {
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
