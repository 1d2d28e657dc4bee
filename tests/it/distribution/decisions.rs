//! What a person has decided about a publisher and about a version: each holds by itself, and a version that waits is used
//! only while its publisher is trusted.

use super::*;

const NET: &str = "net = [{ host = \"https://api.example.com\", reason = \"asks\" }]\n";

/// Updates without a terminal to a version that waits then; the hash that approves it.
fn held(runtime: &Runtime) -> String {
    let update = runtime.run(&["plugin", "update", "acme:list", "--json"]);
    let line = json(&update.stdout);
    assert_eq!((update.code, &line["state"]), (Some(1), &"waiting".into()), "{update:?}");
    line["acceptCaps"].as_str().expect("a hash").to_owned()
}

fn approved(runtime: &Runtime, hash: &str) -> Finished {
    runtime.run(&["plugin", "update", "acme:list", "--accept-caps", hash])
}

fn trust(runtime: &Runtime, arguments: &[&str]) {
    let said = runtime.run(&[&["trust"], arguments].concat());
    assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_what_waits_is_approved_only_while_its_publisher_is_trusted() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    let wider = Publisher::new_with(&publisher, "1.1.0").build("acme:list", "1.1.0", &format!("{KV}{NET}"));
    wider.published(&format!("oci://{}/acme/list", registry.host()));
    let hash = held(&runtime);
    let before = index(&runtime);
    let refused = |why: &str| {
        let update = approved(&runtime, &hash);
        assert_eq!((update.code, update.stdout.as_str()), (Some(1), "kept acme:list 1.0.0\n"), "{update:?}");
        assert!(update.stderr.contains(&format!("`acme:list` 1.1.0 is not used: {why}")), "{update:?}");
        assert!(update.stderr.contains("hint: `acme:list`: "), "{update:?}");
        let session = runtime.run(&["run", &format!("/plugins approve acme:list {hash}")]);
        assert!(session.code == Some(2) && session.stderr.contains(why), "{session:?}");
        assert_eq!(index(&runtime), before, "{why}");
    };
    let (key, fingerprint) = (publisher.key.as_str(), publisher.fingerprint.as_str());

    trust(&runtime, &["remove", "publisher", "acme", "--key", fingerprint]);
    refused("the namespace `acme` belongs to the publisher `acme`, and the plugin is signed by another key");
    trust(&runtime, &["remove", "publisher", "acme"]);
    refused(&format!("its publisher `acme` is not trusted any more ({fingerprint})"));
    trust(&runtime, &["add", "publisher", "heir", "--namespace", "acme", "--key", key]);
    refused("it came as one of `acme`, and its key is one of `heir` by now");
    trust(&runtime, &["remove", "publisher", "heir"]);
    trust(&runtime, &["add", "publisher", "acme", "--key", key, "--until", "2020-01-01"]);
    refused("its signature is by a key of `acme`");

    // Its signature is looked at, and not what was noted of it.
    trust(&runtime, &["add", "publisher", "acme", "--key", key]);
    let entry: toml::Table = before.parse().expect("TOML");
    let digest = entry["waiting"]["acme:list"]["digest"].as_str().expect("a digest").replace("sha256:", "");
    let signature = runtime.home().join("plugins/sha256").join(digest).join("plugin.wasm.minisig");
    let kept = std::fs::read_to_string(&signature).expect("it came with one");
    std::fs::remove_file(&signature).expect("it is there");
    refused("its signature is gone");
    std::fs::write(&signature, kept.replace("acme:list@1.1.0", "acme:list@1.1.1")).expect("it is written");
    refused("its signature does not hold");
    std::fs::write(&signature, kept).expect("it is written");

    let session = runtime.run(&["run", &format!("/plugins approve acme:list {hash}")]);
    assert!(session.code == Some(0) && session.stdout.contains("Approved: `acme:list` 1.1.0."), "{session:?}");
    assert_eq!(self::entry(&runtime, "acme:list")["version"].as_str(), Some("1.1.0"));
    assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a33_a_version_is_gone_back_to_only_while_its_publisher_is_trusted() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    Publisher::new_with(&publisher, "1.1.0").published(&format!("oci://{}/acme/list", registry.host()));
    assert_eq!(runtime.run(&["plugin", "update", "acme:list"]).code, Some(0));
    let before = index(&runtime);
    let refused = |why: &str| {
        let back = runtime.run(&["plugin", "rollback", "acme:list"]);
        assert_eq!((back.code, back.stdout.as_str()), (Some(1), ""), "{back:?}");
        assert!(back.stderr.contains(&format!("`acme:list` 1.0.0 is not used: {why}")), "{back:?}");
        assert_eq!(index(&runtime), before, "{why}");
    };
    trust(&runtime, &["remove", "publisher", "acme"]);
    refused(&format!("its publisher `acme` is not trusted any more ({})", publisher.fingerprint));
    trust(&runtime, &["add", "publisher", "acme", "--key", &publisher.key, "--until", "2020-01-01"]);
    refused("its signature is by a key of `acme`");
    trust(&runtime, &["add", "publisher", "acme", "--key", &publisher.key]);
    let index: toml::Table = before.parse().expect("TOML");
    let digest = index["previous"]["acme:list"]["digest"].as_str().expect("a digest").replace("sha256:", "");
    let file = runtime.home().join("plugins/sha256").join(digest).join("plugin.wasm");
    let kept = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, "nothing").expect("it is written");
    let damaged = runtime.run(&["plugin", "rollback", "acme:list"]);
    assert!(damaged.code == Some(1) && damaged.stderr.contains("`acme:list` 1.0.0 is not used: "), "{damaged:?}");
    std::fs::write(&file, kept).expect("it is written");
    assert_eq!(runtime.run(&["plugin", "rollback", "acme:list"]).code, Some(0));
    assert_eq!(entry(&runtime, "acme:list")["version"].as_str(), Some("1.0.0"));
}

/// Signatures may be required by now of what nobody had to sign when it came.
#[test]
fn a33_what_waits_unsigned_is_not_approved_once_signatures_are_required() {
    let author = built(Runtime::new(), "acme:list", "1.0.0", KV);
    let wasm = author.project().join("list.wasm").display().to_string();
    let runtime = person();
    installed(&runtime, &wasm, &[]);
    let author = built(author, "acme:list", "1.1.0", &format!("{KV}{NET}"));
    let hash = held(&runtime);
    let runtime = runtime.config("[plugins.signatures]\nlocal = \"require\"\n");
    let why = "`acme:list` 1.1.0 is not used: nobody has signed it, and that is required";
    let update = approved(&runtime, &hash);
    assert!(update.code == Some(1) && update.stderr.contains(why), "{update:?}");
    let session = runtime.run(&["run", &format!("/plugins approve acme:list {hash}")]);
    assert!(session.code == Some(2) && session.stderr.contains(why), "{session:?}");

    // Who has looked at the file itself may have it.
    let flag = update.stderr.split("plugin install ").nth(1).and_then(|rest| rest.split('`').next()).expect("a hint");
    let install: Vec<&str> = flag.split(' ').collect();
    let done = runtime.run(&[&["plugin", "install"], install.as_slice(), &["--yes"]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(entry(&runtime, "acme:list")["version"].as_str(), Some("1.1.0"));
    drop(author);
}

/// A yes to the publisher and a no to the version: the one is kept, and the other waits.
#[test]
fn a_yes_to_a_publisher_outlives_a_no_to_their_update() {
    let publisher = Publisher::new();
    let wasm = publisher.runtime.project().join("list.wasm").display().to_string();
    let runtime = person();
    installed(&runtime, &wasm, &[]);
    let publisher = publisher.build("acme:list", "1.1.0", &format!("{KV}{NET}"));
    assert_eq!(publisher.runtime.run(&["plugin", "pack", "list.wasm", "--key", "key"]).code, Some(0));

    let (seen, code) = runtime.at_a_terminal(&["plugin", "update", "acme:list"], "y\nn\n");
    assert!(code == Some(1) && seen.contains("Use 1.1.0 and grant what is new? [y/N]"), "{seen}");
    let kept = format!(
        "trusted the publisher `acme`: {}\r\nhint: that stays, whatever becomes of the plugin",
        publisher.fingerprint
    );
    assert!(seen.contains(&kept) && seen.contains("waiting acme:list 1.1.0 ("), "{seen}");
    let listed = runtime.run(&["trust", "list"]).stdout;
    assert_eq!(listed, format!("publisher  acme  acme\n  key  {}\n", publisher.fingerprint));
    assert_eq!(entry(&runtime, "acme:list")["version"].as_str(), Some("1.0.0"));

    let (seen, code) = runtime.at_a_terminal(&["plugin", "update", "acme:list"], "n\n");
    assert!(code == Some(1) && !seen.contains("Trust this publisher") && seen.contains("Use 1.1.0"), "{seen}");
    let update = approved(&runtime, &held(&runtime));
    assert_eq!(update.code, Some(0), "{update:?}");
    assert_eq!(entry(&runtime, "acme:list")["publisher"].as_str(), Some("acme"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_a_publisher_outlives_a_no_to_their_plugin() {
    let publisher = Publisher::new();
    let (_registry, reference) = stocked(&publisher).await;
    let runtime = person();
    let (seen, code) = runtime.at_a_terminal(&["plugin", "install", &reference], "y\nn\n");
    assert!(code == Some(1) && seen.contains("was not installed: its rights were not granted"), "{seen}");
    assert!(seen.contains(&format!("trusted the publisher `acme`: {}", publisher.fingerprint)), "{seen}");
    assert_eq!(index(&runtime), "");
    let said = installed(&runtime, &reference, &[]);
    assert!(!said.contains("publisher"), "{said}");
}

/// Whoever signs with `minisign` itself does not send their key along: nobody can be shown it.
#[tokio::test(flavor = "multi_thread")]
async fn a33_a_key_that_did_not_come_along_is_asked_for() {
    let publisher = Publisher::new();
    let runtime = &publisher.runtime;
    let secret =
        minisign::SecretKeyBox::from_string(&runtime.read("key")).unwrap().into_unencrypted_secret_key().unwrap();
    let bytes = std::fs::read(runtime.project().join("list.wasm")).unwrap();
    let signature = minisign::sign(None, &secret, &bytes[..], Some("acme:list@1.0.0"), None).unwrap().into_string();
    std::fs::write(runtime.project().join("list.wasm.minisig"), signature).unwrap();
    let registry = RegistryDouble::start().await;
    let reference = format!("oci://{}/acme/list:1.0.0", registry.host());
    let published = runtime.run(&["plugin", "publish", "list.wasm", &reference]);
    assert_eq!(published.code, Some(0), "{published:?}");

    let said =
        refused(&person(), &reference, &[], "its signature is by a key that is not known and did not come along");
    assert!(said.contains("`acp-runtime trust add publisher acme --key RW…`, and once more"), "{said}");
    let said = refused(
        &person(),
        &reference,
        &["--trust-publisher", &publisher.fingerprint],
        "did not come along, and a fingerprint is no key",
    );
    assert!(said.contains("install it with `--trust-publisher RW…`"), "{said}");
    refused(&person(), &reference, &["--trust-publisher", "acme"], "neither a fingerprint nor a public key");
    refused(&person(), &reference, &["--trust-publisher", &Publisher::new().key], "its signature is not by the key");
    let named = person();
    installed(&named, &reference, &["--trust-publisher", &publisher.key]);
    assert_eq!(entry(&named, "acme:list")["publisher"].as_str(), Some("acme"));
    installed(&trusting(&publisher), &reference, &[]);
}
