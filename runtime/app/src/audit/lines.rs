//! All lines of the audit as they are at one moment, the oldest first.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use acp_runtime_host::regular_file;

use super::files::{FILE, HEADS, LOCK, full_files};
use super::heads::{self, Head};

/// How long whoever writes may hold us up. One that cannot be waited for may leave us half a line.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a line. What is longer is cut there, and is no line of the chain.
const LONGEST: u64 = 16 << 20;

/// What there is.
pub(super) struct Kept {
    /// The name of each file, the file, and how many bytes of it count.
    pub(super) files: Vec<(String, File, u64)>,
    pub(super) heads: Vec<Head>,
}

/// Looks at what there is in `folder`; nothing where there is no folder.
pub(super) fn kept(folder: &Path) -> io::Result<Kept> {
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(Kept { files, heads: Vec::new() });
    }
    // A copy of the audit may lie where nothing can be made.
    let _lock = regular_file::lock(&folder.join(LOCK), PATIENCE);
    let full = full_files(folder)?.into_iter().map(|(_, path)| path);
    for path in full.chain(std::iter::once(folder.join(FILE))) {
        match regular_file::open(&path) {
            Ok(file) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let length = file.metadata()?.len();
                files.push((name, file, length));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))),
        }
    }
    Ok(Kept { files, heads: heads::read(&folder.join(HEADS))? })
}

/// Gives each line of a file with its number, from 1.
pub(super) fn each(file: File, length: u64, mut take: impl FnMut(u64, &str) -> io::Result<()>) -> io::Result<()> {
    let mut reader = BufReader::new(file.take(length));
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if reader.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        // The line that was cut off may have been ended by the next one.
        if !line.is_empty() {
            take(number, &String::from_utf8_lossy(line))?;
        }
    }
    Ok(())
}
