//! Where a program may write, kept by the kernel: Landlock.
//!
//! What holds for a program holds for all that it starts, and nothing takes it back. Reading is not limited, nor is the
//! network. The temporary folder (`TMPDIR`, else `/tmp`) and devices stay writable: little works without them.

use std::io;
use std::path::PathBuf;

/// Why this system cannot contain programs; none where it can.
#[cfg(target_os = "linux")]
pub fn unsupported() -> Option<String> {
    use landlock::{ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};

    let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let created = asked.handle_access(AccessFs::from_write(ABI::V1)).and_then(Ruleset::create);
    created.err().map(|error| format!("the kernel has no Landlock: {error}"))
}

/// Why this system cannot contain programs; none where it can.
#[cfg(not(target_os = "linux"))]
pub fn unsupported() -> Option<String> {
    Some("this system has no Landlock".to_owned())
}

/// Lets this process and all that it starts write in `folders`, and nowhere else. Folders that are not there are left
/// out. Does as much as the kernel can, which may be nothing.
#[cfg(target_os = "linux")]
pub(super) fn contain(folders: &[PathBuf]) -> io::Result<()> {
    use landlock::{
        ABI, AccessFs, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, path_beneath_rules,
    };

    let writing = AccessFs::from_write(ABI::V5);
    let allowed = folders.iter().cloned().chain([std::env::temp_dir(), PathBuf::from("/dev")]);
    let contained = Ruleset::default()
        .handle_access(writing)
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(allowed, writing)))
        .and_then(RulesetCreated::restrict_self);
    contained.map(|_| ()).map_err(|error| io::Error::other(format!("it cannot be contained: {error}")))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where there is something to do")]
pub(super) fn contain(_folders: &[PathBuf]) -> io::Result<()> {
    Ok(())
}
