//! `wasi:filesystem`, as far as there is a folder to begin with.

use std::fmt::Debug;

use crate::Report;
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::filesystem::types::{
    Advice, Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};

const NO_FLAGS: PathFlags = PathFlags::empty();
const NOW: NewTimestamp = NewTimestamp::Now;

/// A function, called by the handle of a folder in which `secret.txt` lies, and what it has answered.
type Function = (&'static str, fn(&Descriptor) -> String);

/// All that can be done with a folder.
pub(crate) const FUNCTIONS: [Function; 29] = [
    ("descriptor.read-via-stream", |folder| told(folder.read_via_stream(0))),
    ("descriptor.write-via-stream", |folder| told(folder.write_via_stream(0))),
    ("descriptor.append-via-stream", |folder| told(folder.append_via_stream())),
    ("descriptor.advise", |folder| told(folder.advise(0, 1, Advice::Normal))),
    ("descriptor.sync-data", |folder| told(folder.sync_data())),
    ("descriptor.get-flags", |folder| told(folder.get_flags())),
    ("descriptor.get-type", |folder| told(folder.get_type())),
    ("descriptor.set-size", |folder| told(folder.set_size(0))),
    ("descriptor.set-times", |folder| told(folder.set_times(NOW, NOW))),
    ("descriptor.read", |folder| told(folder.read(10, 0))),
    ("descriptor.write", |folder| told(folder.write(b"written", 0))),
    ("descriptor.read-directory", |folder| told(folder.read_directory())),
    ("descriptor.sync", |folder| told(folder.sync())),
    ("descriptor.create-directory-at", |folder| told(folder.create_directory_at("new"))),
    ("descriptor.stat", |folder| told(folder.stat())),
    ("descriptor.stat-at", |folder| told(folder.stat_at(NO_FLAGS, "secret.txt"))),
    ("descriptor.set-times-at", |folder| told(folder.set_times_at(NO_FLAGS, "secret.txt", NOW, NOW))),
    ("descriptor.link-at", |folder| told(folder.link_at(NO_FLAGS, "secret.txt", folder, "linked.txt"))),
    ("descriptor.open-at", |folder| told(open(folder, "secret.txt", OpenFlags::empty(), DescriptorFlags::READ))),
    ("descriptor.open-at", |folder| {
        told(open(folder, "secret.txt", OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE))
    }),
    ("descriptor.open-at", |folder| told(open(folder, "new.txt", OpenFlags::CREATE, DescriptorFlags::WRITE))),
    ("descriptor.readlink-at", |folder| told(folder.readlink_at("secret.txt"))),
    ("descriptor.remove-directory-at", |folder| told(folder.remove_directory_at("folder"))),
    ("descriptor.rename-at", |folder| told(folder.rename_at("secret.txt", folder, "moved.txt"))),
    ("descriptor.symlink-at", |folder| told(folder.symlink_at("secret.txt", "linked.txt"))),
    ("descriptor.unlink-file-at", |folder| told(folder.unlink_file_at("secret.txt"))),
    ("descriptor.is-same-object", |folder| told(folder.is_same_object(folder))),
    ("descriptor.metadata-hash", |folder| told(folder.metadata_hash())),
    ("descriptor.metadata-hash-at", |folder| told(folder.metadata_hash_at(NO_FLAGS, "secret.txt"))),
];

pub(crate) fn call(report: &mut Report) {
    let folders = preopens::get_directories();
    report.said("wasi:filesystem/preopens get-directories", &folders);
    for (folder, _) in &folders {
        for (function, call) in FUNCTIONS {
            report.told(&format!("wasi:filesystem/types {function}"), &call(folder));
        }
        if let Ok(listing) = folder.read_directory() {
            let entry = listing.read_directory_entry();
            report.said("wasi:filesystem/types directory-entry-stream.read-directory-entry", entry);
        }
    }
}

fn open(folder: &Descriptor, name: &str, how: OpenFlags, rights: DescriptorFlags) -> Result<Descriptor, ErrorCode> {
    folder.open_at(NO_FLAGS, name, how, rights)
}

fn told(answer: impl Debug) -> String {
    format!("{answer:?}")
}
