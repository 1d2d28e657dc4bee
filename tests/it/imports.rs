//! Everything that a guest can import, and what decides about each: a function without a line here fails, and so does
//! one that answers without a right what it may not.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "reads the project's own source, and what a guest has left behind")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;

use acp_runtime_tests::Runtime;
use serde_json::{Value, json};
use wit_parser::{Resolve, WorldItem};

use self::Why::{Behind, Free, Judged, Never};
use crate::wit::resolved;

/// Why a guest may call a function.
#[derive(Debug, Clone, Copy)]
enum Why {
    /// The gate decides, by effects of these classes.
    Judged(&'static [&'static str]),
    /// Nobody is answered anything else than a refusal.
    Never,
    /// It has no effect beyond the guest's own instance, or none that needs a right.
    Free(&'static str),
    /// It is a method of what only this function gives.
    Behind(&'static str),
}

/// Interfaces, why their functions may be called, and the functions.
const IMPORTS: &[(&str, Why, &str)] = &[
    ("aar:host/log", Free("lines of the plugin's own log, bounded"), "emit"),
    ("aar:host/progress", Free("says something of the plugin's own call, bounded"), "emit cancelled"),
    ("aar:host/kv", Judged(&["kv"]), "get set delete list-keys"),
    ("aar:host/http", Judged(&["fetch", "secret"]), "send"),
    ("aar:host/http", Behind("aar:host/http send"), "response.status response.url response.headers response.read"),
    ("aar:host/secrets", Judged(&["secret"]), "available"),
    ("aar:host/workspace", Free("the names of the session's folders"), "roots"),
    ("aar:host/workspace", Judged(&["read"]), "read-text list-directory"),
    ("aar:host/workspace", Judged(&["read", "write"]), "write-text"),
    ("aar:host/plan", Free("is shown to the person, and changes nothing else"), "set"),
    ("aar:host/panel", Free("says something of the plugin's own panels, bounded"), "changed"),
    ("aar:host/settings", Free("the plugin's own settings"), "get"),
    ("aar:host/session", Judged(&["session"]), "read"),
    ("aar:host/prompt", Judged(&["prompt"]), "set"),
    ("aar:host/process", Judged(&["run"]), "run"),
    ("wasi:cli/environment", Free("there is none"), "get-environment get-arguments initial-cwd"),
    ("wasi:cli/exit", Free("ends the plugin's own call"), "exit exit-with-code"),
    ("wasi:cli/stdin", Free("is at its end"), "get-stdin"),
    ("wasi:cli/stdout", Free("goes into the plugin's own log"), "get-stdout"),
    ("wasi:cli/stderr", Free("goes into the plugin's own log"), "get-stderr"),
    ("wasi:cli/terminal-stdin", Free("there is none"), "get-terminal-stdin"),
    ("wasi:cli/terminal-stdout", Free("there is none"), "get-terminal-stdout"),
    ("wasi:cli/terminal-stderr", Free("there is none"), "get-terminal-stderr"),
    ("wasi:clocks/monotonic-clock", Free("guests have clocks"), "now resolution subscribe-instant subscribe-duration"),
    ("wasi:clocks/wall-clock", Free("guests have clocks"), "now resolution"),
    ("wasi:random/random", Free("guests have random numbers, bounded"), "get-random-bytes get-random-u64"),
    (
        "wasi:random/insecure",
        Free("guests have random numbers, bounded"),
        "get-insecure-random-bytes get-insecure-random-u64",
    ),
    ("wasi:random/insecure-seed", Free("guests have random numbers"), "insecure-seed"),
    ("wasi:io/error", Free("says what has gone wrong with a stream"), "error.to-debug-string"),
    ("wasi:io/poll", Free("waits, within the time of the call"), "poll pollable.ready pollable.block"),
    (
        "wasi:io/streams",
        Free("of a stream that the guest was given"),
        "input-stream.read input-stream.blocking-read input-stream.skip input-stream.blocking-skip \
         input-stream.subscribe output-stream.check-write output-stream.write \
         output-stream.blocking-write-and-flush output-stream.flush output-stream.blocking-flush \
         output-stream.subscribe output-stream.write-zeroes output-stream.blocking-write-zeroes-and-flush \
         output-stream.splice output-stream.blocking-splice",
    ),
    ("wasi:filesystem/preopens", Judged(&["read", "write", "data", "tmp"]), "get-directories"),
    (
        "wasi:filesystem/types",
        Behind("wasi:filesystem/preopens get-directories"),
        "descriptor.read-via-stream descriptor.write-via-stream descriptor.append-via-stream descriptor.advise \
         descriptor.sync-data descriptor.get-flags descriptor.get-type descriptor.set-size descriptor.read \
         descriptor.write descriptor.sync descriptor.stat descriptor.is-same-object descriptor.metadata-hash \
         directory-entry-stream.read-directory-entry",
    ),
    (
        "wasi:filesystem/types",
        Judged(&["read"]),
        "descriptor.read-directory descriptor.stat-at descriptor.readlink-at descriptor.metadata-hash-at",
    ),
    ("wasi:filesystem/types", Judged(&["read", "write"]), "descriptor.open-at"),
    (
        "wasi:filesystem/types",
        Judged(&["write"]),
        "descriptor.set-times descriptor.set-times-at descriptor.create-directory-at",
    ),
    ("wasi:filesystem/types", Judged(&["delete"]), "descriptor.unlink-file-at descriptor.remove-directory-at"),
    ("wasi:filesystem/types", Judged(&["move", "write"]), "descriptor.rename-at"),
    ("wasi:filesystem/types", Never, "descriptor.link-at descriptor.symlink-at"),
    ("wasi:filesystem/types", Free("says what has gone wrong with a stream"), "filesystem-error-code"),
    (
        "wasi:sockets/instance-network",
        Free("a name for the network, which nothing can be done with"),
        "instance-network",
    ),
    ("wasi:sockets/ip-name-lookup", Never, "resolve-addresses"),
    (
        "wasi:sockets/ip-name-lookup",
        Behind("wasi:sockets/ip-name-lookup resolve-addresses"),
        "resolve-address-stream.resolve-next-address resolve-address-stream.subscribe",
    ),
    ("wasi:sockets/tcp-create-socket", Never, "create-tcp-socket"),
    (
        "wasi:sockets/tcp",
        Behind("wasi:sockets/tcp-create-socket create-tcp-socket"),
        "tcp-socket.start-bind tcp-socket.finish-bind tcp-socket.start-connect tcp-socket.finish-connect \
         tcp-socket.start-listen tcp-socket.finish-listen tcp-socket.accept tcp-socket.local-address \
         tcp-socket.remote-address tcp-socket.is-listening tcp-socket.address-family \
         tcp-socket.set-listen-backlog-size tcp-socket.keep-alive-enabled tcp-socket.set-keep-alive-enabled \
         tcp-socket.keep-alive-idle-time tcp-socket.set-keep-alive-idle-time tcp-socket.keep-alive-interval \
         tcp-socket.set-keep-alive-interval tcp-socket.keep-alive-count tcp-socket.set-keep-alive-count \
         tcp-socket.hop-limit tcp-socket.set-hop-limit tcp-socket.receive-buffer-size \
         tcp-socket.set-receive-buffer-size tcp-socket.send-buffer-size tcp-socket.set-send-buffer-size \
         tcp-socket.subscribe tcp-socket.shutdown",
    ),
    ("wasi:sockets/udp-create-socket", Never, "create-udp-socket"),
    (
        "wasi:sockets/udp",
        Behind("wasi:sockets/udp-create-socket create-udp-socket"),
        "udp-socket.start-bind udp-socket.finish-bind udp-socket.stream udp-socket.local-address \
         udp-socket.remote-address udp-socket.address-family udp-socket.unicast-hop-limit \
         udp-socket.set-unicast-hop-limit udp-socket.receive-buffer-size udp-socket.set-receive-buffer-size \
         udp-socket.send-buffer-size udp-socket.set-send-buffer-size udp-socket.subscribe \
         incoming-datagram-stream.receive incoming-datagram-stream.subscribe outgoing-datagram-stream.check-send \
         outgoing-datagram-stream.send outgoing-datagram-stream.subscribe",
    ),
    ("wasi:http/outgoing-handler", Judged(&["fetch"]), "handle"),
    (
        "wasi:http/types",
        Free("a request or an answer that is only written down"),
        "fields fields.from-list fields.get fields.has fields.set fields.delete fields.append fields.entries \
         fields.clone outgoing-request outgoing-request.body outgoing-request.method outgoing-request.set-method \
         outgoing-request.path-with-query outgoing-request.set-path-with-query outgoing-request.scheme \
         outgoing-request.set-scheme outgoing-request.authority outgoing-request.set-authority \
         outgoing-request.headers request-options request-options.connect-timeout \
         request-options.set-connect-timeout request-options.first-byte-timeout \
         request-options.set-first-byte-timeout request-options.between-bytes-timeout \
         request-options.set-between-bytes-timeout outgoing-response outgoing-response.status-code \
         outgoing-response.set-status-code outgoing-response.headers outgoing-response.body outgoing-body.write \
         outgoing-body.finish http-error-code",
    ),
    (
        "wasi:http/types",
        Free("waits for what was decided"),
        "future-incoming-response.subscribe future-incoming-response.get",
    ),
    (
        "wasi:http/types",
        Behind("wasi:http/outgoing-handler handle"),
        "incoming-response.status incoming-response.headers incoming-response.consume incoming-body.stream \
         incoming-body.finish future-trailers.subscribe future-trailers.get",
    ),
    (
        "wasi:http/types",
        Behind("wasi:http/incoming-handler handle"),
        "incoming-request.method incoming-request.path-with-query incoming-request.scheme \
         incoming-request.authority incoming-request.headers incoming-request.consume response-outparam.set",
    ),
];

/// Interfaces that guests export, and those without a function.
const EXPORTS: [&str; 6] = [
    "aar:tool/tool",
    "aar:panel/panel",
    "aar:command/command",
    "aar:hooks/hooks",
    "wasi:cli/run",
    "wasi:http/incoming-handler",
];

/// What an answer says that gives nothing.
const DENIALS: [&str; 5] =
    ["std:denied", "\"not-permitted\"", "\"access-denied\"", "\"permanent-resolver-failure\"", "HttpRequestDenied"];

/// The functions of all interfaces that `wanted` takes.
fn functions(resolve: &Resolve, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let named = resolve.interfaces.iter().filter_map(|(id, interface)| Some((resolve.id_of(id)?, interface)));
    let named = named.map(|(id, interface)| (id.split('@').next().unwrap_or_default().to_owned(), interface));
    let wanted = named.filter(|(id, _)| wanted(id));
    let names = wanted.flat_map(|(id, interface)| {
        interface.functions.keys().map(move |name| format!("{id} {}", name.rsplit(']').next().unwrap_or(name)))
    });
    names.collect()
}

/// Each function, and why it may be called.
fn listed() -> BTreeMap<String, Why> {
    let lines = IMPORTS.iter().flat_map(|(interface, why, functions)| {
        functions.split_whitespace().map(move |function| (format!("{interface} {function}"), *why))
    });
    let mut listed = BTreeMap::new();
    for (function, why) in lines {
        assert!(listed.insert(function.clone(), why).is_none(), "`{function}` is listed twice");
    }
    listed
}

#[test]
fn every_import_is_listed_with_what_decides_about_it() {
    let resolve = resolved();
    let known = functions(&resolve, |interface| !EXPORTS.contains(&interface));
    let listed = listed();
    let missing: Vec<&String> = known.iter().filter(|function| !listed.contains_key(*function)).collect();
    assert!(missing.is_empty(), "guests can import these, and nothing here says what decides about them: {missing:#?}");
    let gone: Vec<&String> = listed.keys().filter(|function| !known.contains(*function)).collect();
    assert!(gone.is_empty(), "there are no such functions: {gone:#?}");
    for (function, why) in &listed {
        match why {
            Behind(giver) => {
                assert!(functions(&resolve, |_| true).contains(*giver), "{function}: there is no `{giver}`");
            }
            Free(reason) => assert!(!reason.is_empty(), "{function} needs no right, and nobody says why"),
            Judged(classes) => assert!(!classes.is_empty(), "{function}"),
            Never => {}
        }
    }
    // What is looked at is all that is linked: the world of plugins with WASI.
    let worlds = resolve.worlds.iter().map(|(_, world)| world);
    let whole = worlds.max_by_key(|world| world.imports.len()).unwrap();
    let imported = whole.imports.values().filter_map(|item| match item {
        WorldItem::Interface { id, .. } => resolve.id_of(*id),
        _ => None,
    });
    let imported: BTreeSet<String> = imported.map(|id| id.split('@').next().unwrap_or_default().to_owned()).collect();
    let outside: Vec<&String> =
        known.iter().filter(|function| !imported.contains(function.split(' ').next().unwrap())).collect();
    assert!(outside.is_empty(), "no world of guests imports these: {outside:#?}");
}

/// The room of each interface names the effects that the list says.
#[test]
fn what_is_judged_is_judged_where_it_is_done() {
    let effects = [
        ("read", "Effect::Read("),
        ("write", "Effect::Write("),
        ("delete", "Effect::Delete("),
        ("move", "Effect::Move"),
        ("run", "Effect::Run("),
        ("fetch", "target().effect()"),
        ("secret", "Effect::UseSecret("),
        ("session", "Effect::ReadSession"),
        ("kv", "Effect::Kv("),
        ("prompt", "Effect::Prompt"),
    ];
    for (interface, why, _) in IMPORTS {
        let (Some(room), Judged(classes)) = (interface.strip_prefix("aar:host/"), why) else { continue };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../runtime/host/src/imports/{room}.rs"));
        let source = fs::read_to_string(&path).unwrap();
        assert!(source.contains("authorize"), "{room} asks no gate");
        for class in *classes {
            let (_, effect) = effects.iter().find(|(known, _)| known == class).expect("a class");
            assert!(source.contains(effect), "{room}: `{effect}` is nowhere");
        }
    }
}

/// There is nothing to be had through another plugin's rights.
#[test]
fn no_import_calls_another_plugin() {
    for (interface, why, functions) in IMPORTS {
        let Judged(classes) = why else { continue };
        let others = classes.iter().any(|class| ["plugin", "server"].contains(class));
        assert!(!others, "{interface} {functions} calls what is not the plugin's own: whose rights hold there?");
    }
}

/// A runtime with the guest, which was granted what `capabilities` asks for, and its listener.
fn runtime(capabilities: &str) -> (Runtime, TcpListener) {
    let runtime = Runtime::new().config("mode = \"auto\"\n").file("lent/secret.txt", "secret");
    let runtime = runtime.file("lent/folder/a.txt", "a");
    runtime.install_guest("imports", "test:imports", capabilities);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    (runtime, listener)
}

/// What each function has answered, and all that came of the calls.
async fn answers(runtime: &Runtime, listener: &TcpListener) -> Vec<(String, String)> {
    let before = tree(&runtime.project());
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let address = listener.local_addr().unwrap().to_string();
    let told = editor.prompt(&session, &format!("/call imports {}", json!({ "address": address }))).await.text();
    for exit in ["exit", "exit-with-code"] {
        let ended = editor.prompt(&session, &format!("/call imports {}", json!({ "exit": exit }))).await.text();
        assert!(ended.contains("it ended itself with exit code"), "{exit}: {ended}");
    }
    assert_eq!(editor.permissions().len(), 0, "nobody is asked about what was not asked for");
    editor.close().await;

    assert_eq!(tree(&runtime.project()), before, "something was written");
    let nobody = listener.accept().unwrap_err().kind();
    assert_eq!(nobody, std::io::ErrorKind::WouldBlock, "somebody has connected");
    assert!(!runtime.home().join("plugin-data").exists(), "there is a folder of its own");
    let store = rusqlite::Connection::open(runtime.home().join("sessions.db")).unwrap();
    let kept: i64 = store.query_row("SELECT count(*) FROM kv", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 0, "something was kept");
    let lines = told.lines().map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{told}")));
    let exits = ["wasi:cli/exit exit", "wasi:cli/exit exit-with-code"].map(|name| (name.to_owned(), String::new()));
    lines.map(|(name, answer)| (name.to_owned(), answer.to_owned())).chain(exits).collect()
}

/// Every file below, and what is in it.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.display().to_string(), Vec::new());
            found.extend(tree(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

/// The classes of what the plugin itself was allowed, beside being called.
fn allowed(runtime: &Runtime) -> BTreeSet<String> {
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own = lines
        .filter(|line| line["plugin"] == "test:imports" && line["decision"] == "allow" && line["class"] != "plugin");
    own.map(|line| line["class"].as_str().unwrap().to_owned()).collect()
}

fn is_denial(answer: &str) -> bool {
    answer == "[]" || (answer.contains("Err(") && DENIALS.iter().any(|denial| answer.contains(denial)))
}

/// Each function is called; what is judged is denied by a value, and nothing has an effect.
#[tokio::test]
async fn without_a_right_every_import_answers_and_none_has_an_effect() {
    let (runtime, listener) = runtime("");
    let answers = answers(&runtime, &listener).await;
    let called: BTreeSet<&String> = answers.iter().map(|(function, _)| function).collect();
    let mut denied = 0;
    for (function, why) in &listed() {
        match why {
            Judged(_) | Never | Free(_) if !called.contains(function) => {
                assert!(is_of_a_folder(function), "the guest does not call `{function}`");
            }
            Behind(_) => assert!(!called.contains(function), "`{function}`: there is something to call it on"),
            Free(_) => {}
            Judged(_) | Never => {
                for (_, answer) in answers.iter().filter(|(called, _)| called == function) {
                    assert!(is_denial(answer), "{function}: {answer}");
                    denied += 1;
                }
            }
        }
    }
    assert!(denied > 25, "{denied}");
    let strangers: Vec<_> = called.iter().filter(|function| !listed().contains_key(**function)).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    assert_eq!(allowed(&runtime), BTreeSet::new());
}

/// Functions of what a guest without a right is never given.
fn is_of_a_folder(function: &str) -> bool {
    function.contains(" descriptor.")
}

/// What a guest was not given a handle of it cannot use by making one up: each function that needs such a one ends the
/// call before it does anything. With those that can be called that is every function of every interface.
#[tokio::test]
async fn a_handle_that_was_never_given_is_none() {
    let (runtime, listener) = runtime("");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let before = tree(&runtime.project());
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let listed = listed();
    let held = listed.iter().filter(|(function, why)| matches!(why, Behind(_)) || is_of_a_folder(function));
    let mut forged = BTreeSet::new();
    for (function, _) in held {
        let at = if function.starts_with("wasi:sockets/udp") { udp.local_addr() } else { listener.local_addr() };
        for other in [false, true] {
            let call = json!({ "forge": function, "address": at.as_ref().unwrap().to_string(), "other": other });
            let told = editor.prompt(&session, &format!("/call imports {call}")).await.text();
            assert!(told.contains("the plugin failed: ") && told.contains("handle index"), "{function}: {told}");
        }
        forged.insert(function.clone());
    }
    let sockets = forged.iter().filter(|function| function.starts_with("wasi:sockets/")).count();
    assert_eq!(sockets, 48, "{forged:#?}");
    assert_eq!(editor.permissions().len(), 0);
    editor.close().await;
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "somebody has connected");
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "something was sent");
    assert_eq!(tree(&runtime.project()), before, "something was written");
    assert_eq!(allowed(&runtime), BTreeSet::new());
}

/// A handle is no right: through one of a folder of which nothing may be read, all that names a file is denied.
#[tokio::test]
async fn a_handle_gives_no_right_to_what_is_behind_it() {
    let (runtime, listener) =
        runtime("[capabilities]\nfs.read = [{ glob = \"lent/*.none\", reason = \"has a folder to hold on to\" }]\n");
    let answers = answers(&runtime, &listener).await;
    let of = |name: &str| {
        let found = answers.iter().filter(|(function, _)| function == name).map(|(_, answer)| answer.clone());
        found.collect::<Vec<String>>()
    };
    for (function, why) in listed().iter().filter(|(function, _)| function.contains("descriptor.")) {
        let answers = of(function);
        assert!(!answers.is_empty(), "the guest does not call `{function}`");
        let harmless = matches!(why, Behind(_)) || function.ends_with(".read-directory");
        for answer in answers.iter().filter(|_| !harmless) {
            assert!(answer.contains("Err("), "{function}: {answer}");
        }
    }
    assert_eq!(of("wasi:filesystem/types directory-entry-stream.read-directory-entry"), ["Ok(None)"]);
    for written in ["write", "write-via-stream", "append-via-stream", "set-size", "read", "read-via-stream"] {
        let answers = of(&format!("wasi:filesystem/types descriptor.{written}"));
        assert!(answers.iter().all(|answer| answer.starts_with("Err(")), "{written}: {answers:?}");
    }
    assert_eq!(allowed(&runtime), BTreeSet::from(["read".to_owned()]));
}
