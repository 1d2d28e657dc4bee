//! What a program may write, read and reach, kept by the kernel: Landlock.
//!
//! What holds for a program holds for all that it starts, and nothing takes it back. Where only writing is limited, the
//! temporary folder (`TMPDIR`, else `/tmp`) and devices stay writable: little works without them. Connections are those
//! over TCP, and what else the kernel can keep from a program.

use std::io;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};

use super::program::Bounds;

/// Why this system cannot contain programs; none where it can.
#[cfg(target_os = "linux")]
pub fn unsupported() -> Option<String> {
    let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let created = asked.handle_access(AccessFs::from_write(ABI::V1)).and_then(Ruleset::create);
    created.err().map(|error| format!("the kernel has no Landlock: {error}"))
}

/// Why this system cannot contain programs; none where it can.
#[cfg(not(target_os = "linux"))]
pub fn unsupported() -> Option<String> {
    Some("this system has no Landlock".to_owned())
}

/// What every program needs of the system: libraries, and where they are, and the names and the time that they go by.
#[cfg(target_os = "linux")]
const SYSTEM: [&str; 21] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/run/current-system",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/ssl/certs",
    "/sys/devices/system/cpu",
];

/// Devices that hold nothing.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Keeps this process and all that it starts to `bounds`. Folders that are not there are left out. Does as much as the
/// kernel can, which may be nothing.
#[cfg(target_os = "linux")]
pub(super) fn contain(bounds: &Bounds) -> io::Result<()> {
    let contained = match bounds {
        Bounds { writable: None, readable: None, offline: false, resources: _ } => return Ok(()),
        Bounds { writable, readable: None, offline, resources: _ } => open(writable.as_deref(), *offline),
        Bounds { writable, readable: Some(readable), offline, resources: _ } => {
            closed(writable.as_deref().unwrap_or_default(), readable, *offline)
        }
    };
    contained.map_err(|error| io::Error::other(format!("it cannot be contained: {error}")))
}

/// Reads everywhere; writes in `writable` or everywhere.
#[cfg(target_os = "linux")]
fn open(writable: Option<&[PathBuf]>, offline: bool) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default();
    let writing = AccessFs::from_write(ABI::V5);
    if writable.is_some() {
        ruleset = ruleset.handle_access(writing)?;
    }
    let allowed = writable.map(|folders| {
        folders.iter().cloned().chain([std::env::temp_dir(), PathBuf::from("/dev")]).collect::<Vec<_>>()
    });
    let rules = path_beneath_rules(allowed.unwrap_or_default(), writing);
    disconnected(ruleset, offline)?.create()?.add_rules(rules)?.restrict_self().map(drop)
}

/// Reads and writes what it may, and nothing else.
#[cfg(target_os = "linux")]
fn closed(writable: &[PathBuf], readable: &[PathBuf], offline: bool) -> Result<(), RulesetError> {
    let (reading, all) = (AccessFs::from_read(ABI::V5), AccessFs::from_all(ABI::V5));
    let read = SYSTEM.map(PathBuf::from).into_iter().chain(readable.iter().cloned());
    let ruleset = Ruleset::default().handle_access(all)?.scope(Scope::from_all(ABI::V6))?;
    let rules = disconnected(ruleset, offline)?.create()?.add_rules(path_beneath_rules(read, reading))?;
    let rules = rules.add_rules(path_beneath_rules(writable, all))?;
    rules.add_rules(path_beneath_rules(DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))?.restrict_self().map(drop)
}

#[cfg(target_os = "linux")]
fn disconnected(ruleset: Ruleset, offline: bool) -> Result<Ruleset, RulesetError> {
    if offline { ruleset.handle_access(AccessNet::from_all(ABI::V9)) } else { Ok(ruleset) }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where there is something to do")]
pub(super) fn contain(_bounds: &Bounds) -> io::Result<()> {
    Ok(())
}
