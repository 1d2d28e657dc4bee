//! The secrets that the manifest asks for. A plugin never sees one: it names it in a request, and the host puts it there.

use super::imports;
use crate::Result;

/// Whether the person keeps a secret for that handle, so that [`Request::secret`](crate::http::Request::secret) can name
/// it.
pub fn available(handle: &str) -> Result<bool> {
    Ok(imports::secrets::available(handle)?)
}
