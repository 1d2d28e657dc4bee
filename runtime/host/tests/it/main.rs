//! Plugins against the sandbox: guests that try to break every limit, and what honest ones can do.
//!
//! Each guest is a WAT file in `guests/`, made a component here, so no other toolchain is needed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::cloned_ref_to_slice_refs,
    reason = "a test fails by panicking"
)]
#![expect(clippy::disallowed_methods, reason = "tests make the files that guests and packages are tried with")]

mod addresses;
mod cache;
mod compiling;
mod conversation;
mod egress;
mod files;
mod guest;
mod hooks;
mod hostile;
mod limits;
mod malformed;
mod packages;
mod programs;
mod repository;
mod requests;
mod scripted;
mod session;
mod site;
mod store;
mod support;

/// A guest without a test or a bench proves nothing.
#[test]
fn every_guest_has_a_test() {
    let tests = [
        include_str!("../../benches/files.rs"),
        include_str!("cache.rs"),
        include_str!("conversation.rs"),
        include_str!("files.rs"),
        include_str!("hooks.rs"),
        include_str!("hostile.rs"),
        include_str!("limits.rs"),
        include_str!("limits/net.rs"),
        include_str!("packages.rs"),
        include_str!("programs.rs"),
        include_str!("requests.rs"),
        include_str!("session.rs"),
    ]
    .concat();
    let guests = std::fs::read_dir(guest::FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let guests = guests.filter(|path| path.extension().is_some_and(|extension| extension == "wat"));
    for path in guests {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "prelude" || tests.contains(&format!("\"{name}\"")), "no test uses the guest `{name}`");
    }
}

/// What inputs cost is weighed.
#[global_allocator]
static SCALES: acp_runtime_agent::fuzz::Scales = acp_runtime_agent::fuzz::Scales;
