//! File systems that the kernel makes up: `/proc`, `/sys`, `/dev` and their kin.
//!
//! What stands there is no project's: it tells of processes (their environment, with the keys in it) and reaches
//! devices. They are recognised by what they are and not by their names, so a second mount elsewhere is no way around.
//! Knows nothing about who asks. Tested by the attacks of those who do: guests here, the application's file tools there.

#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::sync::LazyLock;

/// The kinds of such file systems, as `statfs` names them (`linux/magic.h`).
#[cfg(target_os = "linux")]
const KINDS: [u64; 18] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x6165_676c, // pstore
    0x1cd1,      // devpts
    0x1980_0202, // mqueue
    0x6e73_6673, // nsfs
    0x4249_4e4d, // binfmt_misc
    0x6573_5543, // fusectl
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
];

/// The device of `/dev`, which calls itself an ordinary file system in memory; none where it is a folder of the disk.
#[cfg(target_os = "linux")]
static DEVICES: LazyLock<Option<u64>> = LazyLock::new(|| {
    let device = |path: &str| rustix::fs::stat(path).ok().map(|found| found.st_dev);
    device("/dev").filter(|devices| Some(*devices) != device("/"))
});

/// Whether what is open lies on a file system that the kernel makes up. What cannot be told counts as such.
#[cfg(target_os = "linux")]
pub fn is_made_up(open: &impl AsFd) -> bool {
    let kind = rustix::fs::fstatfs(open).map(|found| u64::try_from(found.f_type).unwrap_or(u64::MAX));
    let device = rustix::fs::fstat(open).map(|found| found.st_dev);
    match (kind, device) {
        (Ok(kind), Ok(device)) => KINDS.contains(&kind) || *DEVICES == Some(device),
        (Err(_), _) | (_, Err(_)) => true,
    }
}

/// Elsewhere such files are not in the way of a project: nothing is refused.
#[cfg(not(target_os = "linux"))]
pub fn is_made_up<T>(_open: &T) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "opens what is to be recognised")]
mod tests {
    use super::*;

    #[test]
    fn they_are_told_from_disks() {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: &std::path::Path| std::fs::File::open(path).unwrap();
        assert!(!is_made_up(&open(folder.path())));
        for path in ["/proc", "/proc/self", "/proc/self/environ", "/proc/self/fd", "/dev", "/dev/null"] {
            assert!(is_made_up(&open(path.as_ref())), "{path}");
        }
    }
}
