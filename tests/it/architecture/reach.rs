//! Who reaches out of the program: to the network, to the disk, to other programs. All else goes through them, and they
//! ask the gate, or serve the program alone.

use super::{offences, sources};

/// Lines of the runtime's code with one of these words, outside of the rooms that own what the words do.
fn strays(words: &[&str], owners: &[&str]) -> Vec<String> {
    let owned = |path: &str| owners.iter().any(|owner| path.starts_with(owner));
    let is_test = |path: &str| path.contains("/tests") || path.contains("/benches/");
    let strays =
        |path: &str, line: &str| !is_test(path) && !owned(path) && words.iter().any(|word| line.contains(word));
    offences(&sources("runtime"), strays)
}

/// What plugins and native tools send leaves in one place. Models, MCP servers and packages are the person's own.
#[test]
fn only_egress_opens_sockets() {
    let sockets = ["TcpStream", "TcpListener", "TcpSocket", "UdpSocket", "UnixStream", "UnixListener", "UnixDatagram"];
    let clients = ["rustix::net", "socket2::", "lookup_host", "to_socket_addrs", "hyper::client", "reqwest::"];
    let own =
        ["runtime/host/src/egress/", "runtime/app/src/models/", "runtime/app/src/mcp/", "runtime/app/src/registry/"];
    assert_eq!(strays(&[sockets.as_slice(), &clients].concat(), &own), Vec::<String>::new());
}

/// Files of the session are opened below the handles of its folders, by two rooms: the agent's own and the guests'. All
/// others that open a path open one that no guest, model or project names: their own.
#[test]
fn only_the_rooms_that_own_them_open_paths() {
    let paths = [
        "ambient_authority()",
        "open_ambient",
        "rustix::fs::open",
        "File::open(",
        "File::create(",
        "OpenOptions::new()",
        "DirBuilder::new()",
        "fs::read(",
        "fs::read_to_string(",
        "fs::read_dir(",
        "fs::read_link(",
        "fs::write(",
        "fs::copy(",
        "fs::rename(",
        "fs::create_dir",
        "fs::remove_",
        "fs::hard_link(",
        "fs::metadata(",
        "fs::symlink_metadata(",
        "fs::set_permissions(",
        "fs::canonicalize(",
        "fs::soft_link(",
        "fs::symlink(",
        ".canonicalize()",
        "tempfile::",
        "regular_file::",
        "whole_file::",
    ];
    let own = [
        "runtime/app/src/workspace/",
        "runtime/host/src/wasi/open.rs",
        // The program's own: configuration, sessions, audit, secrets, log, plugins, compiled code.
        "runtime/app/src/settings/",
        "runtime/app/src/store/",
        "runtime/app/src/audit/",
        "runtime/app/src/secrets/file.rs",
        "runtime/app/src/models/script.rs",
        "runtime/app/src/cli/logging",
        "runtime/app/src/cli/plugin",
        "runtime/app/src/cli/trust/publishers.rs",
        "runtime/app/src/cli/session/export.rs",
        "runtime/app/src/compose/shelf.rs",
        "runtime/app/src/compose/checks/places.rs",
        "runtime/host/src/engine/cache.rs",
        "runtime/host/src/package",
        "runtime/host/src/publishers/",
        "runtime/app/src/registry/docker.rs",
        "runtime/host/src/own_files.rs",
        "runtime/host/src/regular_file.rs",
        "runtime/host/src/whole_file.rs",
        // What a plugin's author has made, on a command of theirs; and what is done when the program is built.
        "runtime/app/src/authoring/",
        "runtime/app/build.rs",
        // The kernel's, and where programs lie.
        "runtime/app/src/process/",
        "runtime/app/src/programs",
        "runtime/app/src/transport/stdio/descriptors.rs",
    ];
    assert_eq!(strays(&paths, &own), Vec::<String>::new());
}

/// Compilers run on a command of a plugin's author, and for nobody else.
#[test]
fn only_one_room_starts_processes() {
    let starts =
        ["std::process::Command", "tokio::process", " Command::new(", "execv", "posix_spawn", "rustix::runtime"];
    let own = ["runtime/app/src/process/", "runtime/app/src/authoring/compile"];
    assert_eq!(strays(&starts, &own), Vec::<String>::new());
}
