//! A31, A33, A35, A36: who has signed what, and who may.

use super::*;
use minisign::KeyPair;

/// A person who trusts nobody, at a terminal.
fn at_a_terminal(runtime: &Runtime, source: &str, answer: &str) -> (String, Option<i32>) {
    runtime.at_a_terminal(&["plugin", "install", source, "--yes"], answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a31_a_publisher_is_met_once_and_known_from_then_on() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = person();
    // Without a terminal nobody can be asked, and a yes to the rights is no yes to the publisher.
    let said = refused(&runtime, &reference, &[], "its publisher is not trusted, and nobody can be asked");
    assert!(said.contains(&format!("install it with `--trust-publisher {}`", publisher.fingerprint)), "{said}");
    let (seen, code) = at_a_terminal(&runtime, &reference, "n\n");
    assert!(code == Some(1) && seen.contains("Trust this publisher for `acme`? [y/N]"), "{seen}");
    assert!(seen.contains(&publisher.fingerprint) && seen.contains(&publisher.key), "{seen}");
    let (seen, code) = at_a_terminal(&runtime, &reference, "y\n");
    assert_eq!(code, Some(0), "{seen}");
    let listed = runtime.run(&["trust", "list"]).stdout;
    assert_eq!(listed, format!("publisher  acme  acme\n  key  {}\n", publisher.fingerprint));

    // Another plugin of theirs asks no more.
    let publisher = publisher.build("acme:other", "1.0.0", "");
    publisher.published(&format!("oci://{}/acme/other", registry.host()));
    let said = installed(&runtime, &format!("oci://{}/acme/other:1.0.0", registry.host()), &[]);
    assert!(!said.contains("publisher"), "{said}");
    // And one that is named beforehand is asked about as little.
    installed(&person(), &reference, &["--trust-publisher", &publisher.key]);
    let other = Publisher::new();
    refused(&person(), &reference, &["--trust-publisher", &other.fingerprint], "it is signed by another key");
    refused(&person(), &reference, &["--trust-publisher", "acme"], "neither a fingerprint nor a public key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a31_nobody_takes_over_a_name() {
    let (publisher, thief) = (Publisher::new(), Publisher::new().build("acme:list", "2.0.0", KV));
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    thief.published(&format!("oci://{}/acme/list", registry.host()));
    let taken = format!("oci://{}/acme/list:2.0.0", registry.host());
    for more in [&[][..], &["--trust-publisher", &thief.fingerprint], &["--allow-downgrade"]] {
        refused(&runtime, &taken, more, "the namespace `acme` belongs to the publisher `acme`");
    }
    // Nor by not signing at all, whatever is allowed.
    let unsigned = Publisher::new_with(&publisher, "3.0.0");
    let place = format!("oci://{}/acme/list", registry.host());
    let sent = unsigned.runtime.run(&["plugin", "publish", "list.wasm", &place, "--unsigned", "--json"]);
    let digest = json(&sent.stdout)["digest"].as_str().unwrap().to_owned();
    let unsigned = format!("{place}:3.0.0");
    refused(&runtime, &unsigned, &[], "it is not signed, and `acme` is the publisher `acme`'s");
    refused(
        &runtime,
        &unsigned,
        &["--allow-unsigned", &digest],
        "what is installed is by `acme`, and nobody stands for",
    );
    // A reserved name is nobody's for being first.
    let squatter = Publisher::new().build("aar:tasks", "9.0.0", "");
    squatter.published(&format!("oci://{}/aar/tasks", registry.host()));
    let squatted = format!("oci://{}/aar/tasks:9.0.0", registry.host());
    let bare = person().config("[plugins]\nbundled = false\n");
    refused(&bare, &squatted, &["--trust-publisher", &squatter.key], "the namespace `aar` is reserved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a31_a_name_that_is_much_like_another_is_pointed_out() {
    let publisher = Publisher::new();
    let runtime = trusting(&publisher);
    let squatter = Publisher::new().build("acne:list", "1.0.0", "");
    let registry = RegistryDouble::start().await;
    squatter.published(&format!("oci://{}/acne/list", registry.host()));
    let reference = format!("oci://{}/acne/list:1.0.0", registry.host());
    let said = refused(&runtime, &reference, &[], "warning: `acne` is not `acme`, which you may have meant");
    assert!(said.contains("its publisher is not trusted"), "{said}");
}

/// What somebody is told who trusts the publisher, and has that file with that signature beside it. Where signatures are
/// not required, a bad one is as bad.
fn with_signature(trusted: &Publisher, wasm: &std::path::Path, signature: Option<&str>, why: &str) {
    let strict = "[plugins.signatures]\nlocal = \"require\"\n";
    let configs = [strict, ""];
    for config in configs.into_iter().take(1 + usize::from(signature.is_some())) {
        let runtime = trusting(trusted).config(config);
        std::fs::copy(wasm, runtime.project().join("list.wasm")).unwrap();
        if let Some(signature) = signature {
            std::fs::write(runtime.project().join("list.wasm.minisig"), signature).unwrap();
        }
        refused(&runtime, "list.wasm", &[], why);
    }
}

#[test]
fn a33_a_signature_of_something_else_is_none() {
    let publisher = Publisher::new();
    let wasm = publisher.runtime.project().join("list.wasm");
    let bytes = std::fs::read(&wasm).unwrap();
    let text = std::fs::read_to_string(publisher.runtime.project().join("key")).unwrap();
    let key = minisign::SecretKeyBox::from_string(&text).unwrap().into_unencrypted_secret_key().unwrap();
    let sign =
        |bytes: &[u8], statement: &str| minisign::sign(None, &key, bytes, Some(statement), None).unwrap().into_string();
    let good = sign(&bytes, "acme:list@1.0.0");
    let stranger = KeyPair::generate_unencrypted_keypair().unwrap();
    let theirs = minisign::sign(None, &stranger.sk, &bytes[..], Some("acme:list@1.0.0"), None).unwrap().into_string();
    for (signature, why) in [
        (None, "it is not signed"),
        (Some(sign(&bytes, "acme:list@0.9.0")), "it was made for `acme:list@0.9.0`, and this is `acme:list@1.0.0`"),
        (Some(sign(&bytes, "acme:other@1.0.0")), "it was made for `acme:other@1.0.0`"),
        (Some(sign(&bytes, "timestamp:1\tfile:list.wasm")), "it was made for `timestamp:1"),
        (Some(sign(&bytes[1..], "acme:list@1.0.0")), "it is not a signature of this file by the key"),
        (Some(good.replace("acme:list@1.0.0", "acme:list@1.0.1")), "it is not a signature of this file by the key"),
        (Some(theirs), "the plugin is signed by another key"),
        (Some("nonsense".to_owned()), "it is no signature by minisign"),
        (Some("x".repeat(10_000)), "it has more than 8192 bytes"),
    ] {
        with_signature(&publisher, &wasm, signature.as_deref(), why);
    }
    // And the good one is good.
    let runtime = trusting(&publisher).config("[plugins.signatures]\nlocal = \"require\"\n");
    std::fs::copy(&wasm, runtime.project().join("list.wasm")).unwrap();
    std::fs::write(runtime.project().join("list.wasm.minisig"), good).unwrap();
    installed(&runtime, "list.wasm", &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_a_key_that_has_ended_signs_nothing_more() {
    let publisher = Publisher::new();
    let (_registry, reference) = stocked(&publisher).await;
    let runtime = person();
    let trust = |until: &str| {
        let arguments = ["trust", "add", "publisher", "acme", "--key", &publisher.key, "--until", until];
        let trusted = runtime.run(&arguments);
        assert_eq!(trusted.code, Some(0), "{until}");
        trusted.stderr
    };
    let told = trust("2020-01-01");
    assert!(told.contains("warning: that key has ended (2020-01-02T11:59:59Z)"), "{told}");
    let said = refused(&runtime, &reference, &[], "that was trusted until 2020-01-02T11:59:59Z");
    assert!(said.contains("trust add publisher acme --key"), "{said}");
    assert!(runtime.run(&["trust", "list"]).stdout.contains("(ended 2020-01-02T11:59:59Z)"));
    assert_eq!(trust("2999-12-31"), "");
    let lost = runtime.run(&["trust", "add", "publisher", "acme", "--key", "lost.pub"]);
    let why = "`lost.pub` is no public key, and no file that can be read: No such file or directory";
    assert!(lost.code == Some(2) && lost.stderr.contains(why), "{lost:?}");
    installed(&runtime, &reference, &[]);
    let removed = runtime.run(&["trust", "remove", "publisher", "acme", "--key", &publisher.fingerprint]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let verified = runtime.run(&["plugin", "verify", "--all"]);
    assert!(verified.code == Some(1) && verified.stdout.contains("belongs to the publisher `acme`"), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a35_an_older_version_or_another_file_of_the_same_is_refused() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let newer = Publisher::new_with(&publisher, "1.1.0");
    let place = format!("oci://{}/acme/list", registry.host());
    newer.published(&place);
    let runtime = trusting(&publisher);
    installed(&runtime, &format!("{place}:1.1.0"), &[]);
    refused(&runtime, &reference, &[], "`acme:list` 1.0.0 was refused: 1.1.0 is installed, which is newer");
    installed(&runtime, &reference, &["--allow-downgrade"]);
    let changed = publisher.build("acme:list", "1.0.0", "");
    assert_eq!(changed.publish(&place, &["--replace"]).code, Some(0));
    refused(&runtime, &reference, &["--allow-downgrade"], "another file of that version is installed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a36_what_a_new_version_asks_for_in_addition_waits_for_a_yes() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    let wider =
        publisher.build("acme:list", "1.1.0", "net = [{ host = \"https://api.example\", reason = \"asks\" }]\n");
    let place = format!("oci://{}/acme/list", registry.host());
    wider.published(&place);
    let before = index(&runtime);
    let held = runtime.run(&["plugin", "install", &format!("{place}:1.1.0")]);
    assert!(held.code == Some(2) && held.stderr.contains("(new)"), "{held:?}");
    assert!(held.stderr.contains("kv (no longer asked for)"), "{held:?}");
    assert_eq!(index(&runtime), before, "the old one is still there");
}
