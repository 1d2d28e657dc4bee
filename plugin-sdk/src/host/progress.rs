//! Progress of the running call, and whether somebody still wants it.

use super::imports;
use crate::{Error, Result};

/// Shows how far the call is: `fraction` in 0..=1 where it is known, and one line.
pub fn emit(fraction: Option<f64>, message: &str) {
    imports::progress::emit(fraction, Some(message));
}

/// Whether the call was cancelled. Stop soon then, else the instance is ended.
pub fn cancelled() -> bool {
    imports::progress::cancelled()
}

/// An error once the call was cancelled; for a `?` in a long loop.
pub fn check() -> Result<()> {
    if cancelled() { Err(Error::cancelled()) } else { Ok(()) }
}
