//! More than there is.

use std::hint::black_box;
use std::io::{Result, Write as _};

pub(crate) fn memory() -> String {
    let gigabyte = vec![1_u8; 1 << 30];
    format!("{} bytes", black_box(gigabyte).len())
}

pub(crate) fn recursion() -> String {
    fn deeper(depth: u64) -> u64 {
        if black_box(depth) == u64::MAX { 0 } else { deeper(depth + 1) + 1 }
    }
    format!("{}", deeper(0))
}

/// Lines that would be taken for messages if they came out where messages do.
pub(crate) fn output() -> Result<String> {
    const MESSAGE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}\n";
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
    for _ in 0..20_000 {
        stdout.write_all(MESSAGE)?;
        stderr.write_all(MESSAGE)?;
    }
    stdout.write_all(&vec![b'x'; 8 << 20])?;
    Ok("all of it".to_owned())
}

#[expect(clippy::panic, reason = "a panic is what is tried")]
pub(crate) fn panic() -> Result<String> {
    panic!("on purpose")
}
