//! The places in the chain that sessions had come to when they ended, in a file of their own.

use std::io;
use std::path::Path;

use acp_runtime_agent::transcript::SessionId;
use acp_runtime_host::package::Digest;
use acp_runtime_host::{regular_file, whole_file};
use serde::{Deserialize, Serialize};

use super::chain::Link;

/// Bytes that are read of them.
const MOST: u64 = 64 << 20;

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) time: String,
    pub(super) session: SessionId,
    pub(super) seq: u64,
    pub(super) hash: Digest,
}

impl Head {
    pub(super) fn new(time: String, session: SessionId, link: Link) -> Self {
        Self { time, session, seq: link.seq, hash: link.hash }
    }
}

/// All of them; none where there is no file. What is no head is passed over.
pub(super) fn read(path: &Path) -> io::Result<Vec<Head>> {
    let text = match regular_file::read(path, MOST) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Forgets those up to the line `through`, which is gone.
pub(super) fn forget(path: &Path, through: u64) -> io::Result<()> {
    let heads = read(path)?;
    let kept = heads.iter().filter(|head| head.seq > through);
    let mut text = String::new();
    for head in kept {
        text.push_str(&serde_json::to_string(head)?);
        text.push('\n');
    }
    if heads.is_empty() { Ok(()) } else { whole_file::put(path, text.as_bytes()) }
}
