//! More than there is.
#![expect(clippy::disallowed_methods, reason = "whatever the standard library offers is tried")]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{Error, Result, Seek as _, SeekFrom, Write as _};
use std::time::Duration;

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

const PIECE: &[u8] = &[b'x'; 64 << 10];

/// A file that grows until that is refused.
pub(crate) fn fill(path: &str) -> Result<String> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut written = 0;
    let end = loop {
        match file.write_all(PIECE) {
            Ok(()) => written += PIECE.len(),
            Err(error) => break error,
        }
    };
    Ok(format!("{} KiB, then: {}", written >> 10, end.kind()))
}

/// Ever more files of a piece each, which have lost their names and are still open.
pub(crate) fn hoard(path: &str) -> Result<String> {
    let mut held: Vec<File> = Vec::new();
    let end = loop {
        let mut file = File::create(path)?;
        let written = file.write_all(PIECE);
        fs::remove_file(path)?;
        held.push(file);
        match written {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    let most = held.len() - 1;
    drop(held);
    // What nobody holds any more has given its room back.
    fs::write(path, PIECE)?;
    Ok(format!("{most} pieces, then: {}", end.kind()))
}

/// Ever more empty files.
pub(crate) fn litter(path: &str) -> String {
    let mut made = 0;
    let end = loop {
        match File::create(format!("{path}/{made}")) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    let folder = fs::create_dir(format!("{path}/folder")).err().map(|error| error.kind());
    format!("{made} files, then: {}; a folder: {folder:?}", end.kind())
}

/// A file with a hole that is larger than the disk, in each way to make one.
pub(crate) fn sparse(path: &str) -> Result<String> {
    const FAR: u64 = 1 << 40;
    let mut file = File::create(path)?;
    let told = |outcome: Result<()>| outcome.err().map(|error: Error| error.kind());
    let sized = told(file.set_len(FAR));
    let written = told(file.seek(SeekFrom::Start(FAR)).and_then(|_| file.write_all(b"x")));
    Ok(format!("{sized:?} {written:?} {} bytes", file.metadata()?.len()))
}

/// The same file written again and again, each time from the beginning.
pub(crate) fn rewrite(path: &str) -> Result<String> {
    for _ in 0..100 {
        let new = format!("{path}.new");
        fs::write(&new, PIECE)?;
        fs::rename(&new, path)?;
        fs::write(path, PIECE)?;
    }
    Ok("a hundred times".to_owned())
}

/// All the time of a processor, once the file is there.
pub(crate) fn spin(path: &str) -> Result<String> {
    fs::write(path, PIECE)?;
    loop {
        black_box(());
    }
}

/// All the time that there is, once the file is there.
pub(crate) fn doze(path: &str) -> Result<String> {
    fs::write(path, PIECE)?;
    loop {
        std::thread::sleep(Duration::from_hours(1));
    }
}
