//! Debian's `minisign`: it takes our keys and signatures, and we take its.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use super::super::*;
use super::program;

const STATEMENT: &str = "acme:list@1.0.0";
const STRICT: &str = "[plugins.signatures]\nlocal = \"require\"\n";
/// Where a password is read from.
const PASSWORD: &str = "ACP_RUNTIME_KEY_PASSWORD";

/// Runs it in the publisher's folder; what it asks is answered with `typed`.
fn run(runtime: &Runtime, arguments: &[&str], typed: &str) -> Output {
    let libraries = program("minisign").ancestors().nth(2).expect("usr").join("lib");
    let folders =
        libraries.read_dir().expect("its libraries").flatten().map(|entry| entry.path().display().to_string());
    let mut child = Command::new(program("minisign"))
        .env("LD_LIBRARY_PATH", folders.collect::<Vec<_>>().join(":"))
        .current_dir(runtime.project())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    // One that asks nothing has closed it.
    let _ = stdin.write_all(typed.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// Runs it, and it is content; what it said.
fn works(runtime: &Runtime, arguments: &[&str], typed: &str) -> String {
    let output = run(runtime, arguments, typed);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn signed_by_us(runtime: &Runtime, key: &str) {
    let packed = runtime.run(&["plugin", "pack", "list.wasm", "--key", key]);
    assert_eq!(packed.code, Some(0), "{packed:?}");
}

/// Somebody who installs `list.wasm` of the publisher only if `key` has signed it.
fn accepts(runtime: &Runtime, key: &str) {
    let person = person().config(STRICT);
    let key = runtime.project().join(key).display().to_string();
    let wasm = runtime.project().join("list.wasm").display().to_string();
    assert_eq!(person.run(&["trust", "add", "publisher", "acme", "--key", &key]).code, Some(0));
    installed(&person, &wasm, &[]);
    let verified = person.run(&["plugin", "verify", "--all"]);
    assert!(verified.code == Some(0) && verified.stdout.contains("signed by the publisher `acme`"), "{verified:?}");
}

#[test]
fn it_takes_what_we_sign() {
    let publisher = Publisher::new();
    let runtime = &publisher.runtime;
    signed_by_us(runtime, "key");
    let check = ["-V", "-p", "key.pub", "-m", "list.wasm"];
    let said = works(runtime, &check, "");
    assert!(said.contains(&format!("Trusted comment: {STATEMENT}")), "{said}");
    assert!(works(runtime, &["-V", "-P", &publisher.key, "-m", "list.wasm"], "").contains("verified"));
    // With its key as well.
    works(runtime, &["-G", "-W", "-p", "their.pub", "-s", "their.key"], "");
    let mut bytes = std::fs::read(runtime.project().join("list.wasm")).unwrap();
    signed_by_us(runtime, "their.key");
    works(runtime, &["-V", "-p", "their.pub", "-m", "list.wasm"], "");
    accepts(runtime, "their.pub");
    assert!(!run(runtime, &check, "").status.success(), "it is not by our key any more");
    // One that is damaged signs nothing.
    let key = runtime.read("their.key");
    let (comment, line) = key.trim_end().split_once('\n').expect("a line and the key");
    let at = line.len() - 80;
    let other = if line.as_bytes()[at] == b'A' { "B" } else { "A" };
    let damaged = format!("{comment}\n{}{other}{}\n", &line[..at], &line[at + 1..]);
    std::fs::write(runtime.project().join("damaged.key"), damaged).unwrap();
    let told = runtime.run(&["plugin", "pack", "list.wasm", "--key", "damaged.key"]);
    assert!(told.code == Some(1) && told.stderr.contains("cannot be signed: the key is damaged"), "{told:?}");
    bytes.push(0);
    std::fs::write(runtime.project().join("list.wasm"), bytes).unwrap();
    assert!(!run(runtime, &["-V", "-p", "their.pub", "-m", "list.wasm"], "").status.success(), "it is another file");
}

#[test]
fn we_take_what_it_signs() {
    let publisher = Publisher::new();
    let runtime = &publisher.runtime;
    let sign = |more: &[&str]| drop(works(runtime, &[&["-S", "-m", "list.wasm"], more].concat(), ""));
    works(runtime, &["-G", "-W", "-p", "their.pub", "-s", "their.key"], "");
    sign(&["-s", "their.key", "-t", STATEMENT]);
    let wasm = runtime.project().join("list.wasm").display().to_string();
    refused(&person().config(STRICT), &wasm, &[], "its signature is by a key that is not known and did not come along");
    accepts(runtime, "their.pub");
    // With our key as well.
    sign(&["-s", "key", "-t", STATEMENT]);
    accepts(runtime, "key.pub");

    for (more, why) in [
        (&["-t", "acme:list@0.9.0"][..], "it was made for `acme:list@0.9.0`, and this is `acme:list@1.0.0`"),
        // What it says by itself.
        (&[], "it was made for `timestamp:"),
        (&["-l", "-t", STATEMENT], "it was made without a hash, as old versions did"),
    ] {
        sign(&[&["-s", "key"], more].concat());
        refused(&trusting(&publisher), &wasm, &[], why);
    }
}

/// Each password costs seconds and a gibibyte, on purpose.
#[test]
fn slow_keys_with_a_password_are_the_same_for_both() {
    let publisher = Publisher::new();
    let runtime = publisher.runtime.env(PASSWORD, "s3cret");
    works(&runtime, &["-G", "-p", "their.pub", "-s", "their.key"], "s3cret\ns3cret\n");
    signed_by_us(&runtime, "their.key");
    works(&runtime, &["-V", "-p", "their.pub", "-m", "list.wasm"], "");
    accepts(&runtime, "their.pub");

    let made = runtime.run(&["plugin", "keygen", "ours"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    works(&runtime, &["-S", "-s", "ours", "-t", STATEMENT, "-m", "list.wasm"], "s3cret\n");
    accepts(&runtime, "ours.pub");
    assert!(!run(&runtime, &["-S", "-s", "ours", "-t", STATEMENT, "-m", "list.wasm"], "wrong\n").status.success());

    let runtime = runtime.env(PASSWORD, "wrong");
    let wrong = runtime.run(&["plugin", "pack", "list.wasm", "--key", "their.key"]);
    assert!(wrong.code == Some(1) && wrong.stderr.contains("see that the password is right"), "{wrong:?}");
}
