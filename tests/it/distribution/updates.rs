//! Newer versions in a registry: found without being named, and held to what was approved and to who has signed.

use super::*;

fn version(runtime: &Runtime) -> String {
    entry(runtime, "acme:list")["version"].as_str().expect("a text").to_owned()
}

fn outdated(runtime: &Runtime) -> Vec<Value> {
    let outdated = runtime.run(&["plugin", "outdated", "--json"]);
    assert_eq!(outdated.code, Some(0), "{outdated:?}");
    outdated.stdout.lines().map(json).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_version_of_the_same_publisher_is_found_and_used() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let place = format!("oci://{}/acme/list", registry.host());
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    assert_eq!(outdated(&runtime), [] as [Value; 0]);

    // A preview is nothing for who has none.
    for newer in ["1.1.0", "1.10.0", "2.0.0-rc.1"] {
        Publisher::new_with(&publisher, newer).published(&place);
    }
    let found = outdated(&runtime);
    assert_eq!(
        (&found[0]["state"], &found[0]["available"]["version"]),
        (&"ready".into(), &"1.10.0".into()),
        "{found:?}"
    );
    assert_eq!(found[0]["available"]["publisher"], "acme");
    let offline = runtime.run(&["plugin", "update", "--all", "--offline"]);
    assert!(offline.code == Some(1) && offline.stderr.contains("nothing is fetched with `--offline`"), "{offline:?}");
    let update = runtime.run(&["plugin", "update", "acme:list"]);
    assert_eq!((update.code, version(&runtime).as_str()), (Some(0), "1.10.0"), "{update:?}");
    assert!(update.stderr.contains("signed by acme)\n  asks for and offers the same\n"), "{update:?}");
    let lock = std::fs::read_to_string(runtime.home().join("acp-plugins.lock")).expect("a lockfile");
    assert!(
        lock.contains("\nmanifest = \"sha256:") && lock.contains("\n[plugin.signature]\npublisher = \"acme\"\n"),
        "{lock}"
    );
    assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));
    assert_eq!(runtime.run(&["plugin", "rollback", "list"]).code, Some(0));
    assert_eq!((version(&runtime).as_str(), runtime.run(&["plugin", "verify", "--all"]).code), ("1.0.0", Some(0)));

    // From the lockfile just that is installed elsewhere, whatever else there is.
    let other = trusting(&publisher);
    std::fs::write(other.home().join("acp-plugins.lock"), lock).expect("it is written");
    let locked = other.run(&["plugin", "install", "--locked", "--yes"]);
    assert_eq!((locked.code, version(&other).as_str()), (Some(0), "1.10.0"), "{locked:?}");
    let frozen = trusting(&publisher);
    std::fs::copy(other.home().join("acp-plugins.lock"), frozen.home().join("acp-plugins.lock")).expect("it is copied");
    let refused = frozen.run(&["plugin", "install", "--frozen", "--yes"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("is not on this machine"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a36_a_newer_version_that_asks_for_more_waits_and_one_of_somebody_else_is_refused() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let place = format!("oci://{}/acme/list", registry.host());
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    let net = format!("{KV}net = [{{ host = \"https://api.example.com\", reason = \"asks\" }}]\n");
    Publisher::new_with(&publisher, "1.1.0").build("acme:list", "1.1.0", &net).published(&place);
    let update = runtime.run(&["plugin", "update", "--all"]);
    assert_eq!((update.code, version(&runtime).as_str()), (Some(1), "1.0.0"), "{update:?}");
    assert!(update.stderr.contains("! added right net https://api.example.com/"), "{update:?}");
    assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));

    // Somebody else with a key of their own.
    Publisher::new().build("acme:list", "1.2.0", KV).published(&place);
    let found = outdated(&runtime);
    assert_eq!(found[0]["state"], "refused", "{found:?}");
    let update = runtime.run(&["plugin", "update", "--all"]);
    assert_eq!((update.code, version(&runtime).as_str()), (Some(1), "1.0.0"), "{update:?}");
    assert!(update.stderr.contains("the namespace `acme` belongs to the publisher `acme`"), "{update:?}");
}
