//! `wasi:filesystem`, as far as there is a folder to begin with.

use crate::Report;
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::filesystem::types::{
    Advice, Descriptor, DescriptorFlags, NewTimestamp, OpenFlags, PathFlags,
};

const NO_FLAGS: PathFlags = PathFlags::empty();

pub(crate) fn call(report: &mut Report) {
    let folders = preopens::get_directories();
    report.said("wasi:filesystem/preopens get-directories", &folders);
    for (folder, _) in &folders {
        through(report, folder);
    }
}

/// In the folder lies `secret.txt`.
fn through(report: &mut Report, folder: &Descriptor) {
    let now = || NewTimestamp::Now;
    let opened = |how, rights| folder.open_at(NO_FLAGS, "secret.txt", how, rights);
    let mut said = |function: &str, answer: &dyn std::fmt::Debug| {
        report.said(&format!("wasi:filesystem/types {function}"), answer);
    };
    said("descriptor.read-via-stream", &folder.read_via_stream(0));
    said("descriptor.write-via-stream", &folder.write_via_stream(0));
    said("descriptor.append-via-stream", &folder.append_via_stream());
    said("descriptor.advise", &folder.advise(0, 1, Advice::Normal));
    said("descriptor.sync-data", &folder.sync_data());
    said("descriptor.get-flags", &folder.get_flags());
    said("descriptor.get-type", &folder.get_type());
    said("descriptor.set-size", &folder.set_size(0));
    said("descriptor.set-times", &folder.set_times(now(), now()));
    said("descriptor.read", &folder.read(10, 0));
    said("descriptor.write", &folder.write(b"written", 0));
    let listing = folder.read_directory();
    said("descriptor.read-directory", &listing);
    if let Ok(listing) = listing {
        said("directory-entry-stream.read-directory-entry", &listing.read_directory_entry());
    }
    said("descriptor.sync", &folder.sync());
    said("descriptor.create-directory-at", &folder.create_directory_at("new"));
    said("descriptor.stat", &folder.stat());
    said("descriptor.stat-at", &folder.stat_at(NO_FLAGS, "secret.txt"));
    said("descriptor.set-times-at", &folder.set_times_at(NO_FLAGS, "secret.txt", now(), now()));
    said("descriptor.link-at", &folder.link_at(NO_FLAGS, "secret.txt", folder, "linked.txt"));
    said("descriptor.open-at", &opened(OpenFlags::empty(), DescriptorFlags::READ));
    said("descriptor.open-at", &opened(OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE));
    let new = folder.open_at(NO_FLAGS, "new.txt", OpenFlags::CREATE, DescriptorFlags::WRITE);
    said("descriptor.open-at", &new);
    said("descriptor.readlink-at", &folder.readlink_at("secret.txt"));
    said("descriptor.remove-directory-at", &folder.remove_directory_at("folder"));
    said("descriptor.rename-at", &folder.rename_at("secret.txt", folder, "moved.txt"));
    said("descriptor.symlink-at", &folder.symlink_at("secret.txt", "linked.txt"));
    said("descriptor.unlink-file-at", &folder.unlink_file_at("secret.txt"));
    said("descriptor.is-same-object", &folder.is_same_object(folder));
    said("descriptor.metadata-hash", &folder.metadata_hash());
    said("descriptor.metadata-hash-at", &folder.metadata_hash_at(NO_FLAGS, "secret.txt"));
}
