//! Publishing in a registry and installing from it, with all the manners that a registry may have.

use super::*;
use acp_runtime_tests::registry_double::Manners;
use serde_json::json as value;

#[tokio::test(flavor = "multi_thread")]
async fn what_one_publishes_another_installs() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let manifest = registry.manifest("acme/list", "1.0.0");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().map(Vec::len), Some(1));
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    let annotations = &manifest["annotations"];
    assert_eq!(annotations["org.opencontainers.image.version"], "1.0.0");
    assert_eq!(annotations["org.opencontainers.image.licenses"], "MIT");
    assert_eq!(annotations["org.opencontainers.image.source"], "https://example.com/list");
    assert!(annotations["dev.acp-runtime.plugin.capabilities"].as_str().is_some_and(|hash| hash.len() == 71));

    let runtime = trusting(&publisher);
    let said = installed(&runtime, &reference, &[]);
    assert!(!said.contains("warning"), "{said}");
    let entry = entry(&runtime, "acme:list");
    let pinned = format!("{reference}@{}", registry.digest("acme/list", "1.0.0"));
    assert_eq!(entry["source"].as_str(), Some(pinned.as_str()));
    assert_eq!(entry["publisher"].as_str(), Some("acme"));
    // By the digest alone it is the same one.
    installed(&person(), &pinned, &["--trust-publisher", &publisher.fingerprint]);
    let by_digest = pinned.replace(":1.0.0@", "@");
    installed(&runtime, &by_digest, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_not_given_another_meaning_by_accident() {
    let publisher = Publisher::new();
    let (registry, _) = stocked(&publisher).await;
    let place = format!("oci://{}/acme/list", registry.host());
    let again = publisher.publish(&place, &["--json"]);
    assert_eq!(json(&again.stdout)["wasThere"], true, "{again:?}");
    let publisher = publisher.build("acme:list", "1.0.0", "");
    let other = publisher.publish(&place, &[]);
    assert!(other.code == Some(1) && other.stderr.contains("the tag `1.0.0` is there and means something else"));
    assert_eq!(publisher.publish(&place, &["--replace"]).code, Some(0));
    for (place, why) in [
        (format!("{place}:2.0.0"), "says version 2.0.0, and the plugin is 1.0.0"),
        (format!("{place}@sha256:{}", "0".repeat(64)), "names a digest"),
        ("list".to_owned(), "no place in a registry"),
        ("https://x".to_owned(), "no place in a registry"),
    ] {
        let told = publisher.publish(&place, &[]);
        assert!(told.code == Some(2) && told.stderr.contains(why), "{told:?}");
    }
    let unsigned = publisher.runtime.run(&["plugin", "publish", "list.wasm", &place]);
    assert!(unsigned.code == Some(2) && unsigned.stderr.contains("`list.wasm` is not signed"), "{unsigned:?}");
    assert_eq!(publisher.publish(&format!("{place}:stable"), &[]).code, Some(0), "a word is a tag, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_knows_nothing_of_referrers_has_signatures_all_the_same() {
    let publisher = Publisher::new();
    let registry = RegistryDouble::start().await;
    registry.behave(Manners { without_referrers: true, ..Manners::default() });
    let reference = format!("oci://{}/acme/list", registry.host());
    publisher.published(&reference);
    let tag = registry.digest("acme/list", "1.0.0").replace(':', "-");
    assert!(registry.tags("acme/list").contains(&tag));
    installed(&trusting(&publisher), &format!("{reference}:1.0.0"), &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_registry_is_asked_again() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    for status in [429, 503] {
        registry.behave(Manners { busy: (status, 3), ..Manners::default() });
        installed(&trusting(&publisher), &reference, &[]);
    }
    registry.behave(Manners { busy: (429, 100), ..Manners::default() });
    refused(&trusting(&publisher), &reference, &[], "it answers 429 Too Many Requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_found_by_its_name() {
    let publisher = Publisher::new();
    let registry = RegistryDouble::start().await;
    for version in ["1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1"] {
        let publisher = Publisher::new_with(&publisher, version);
        publisher.published(&format!("oci://{}/mirror/acme/list", registry.host()));
    }
    registry.say(value!({
        "preferredProtocol": "oci", "oci": { "registry": registry.host(), "namespacePrefix": "mirror/" },
    }));
    let configured =
        |runtime: Runtime| runtime.config(&format!("[plugins.registry]\ndefault = \"{}\"\n", registry.host()));
    let runtime = configured(trusting(&publisher));
    installed(&runtime, "acme:list@1.2.0", &[]);
    assert_eq!(entry(&runtime, "acme:list")["version"].as_str(), Some("1.2.0"));
    installed(&runtime, "acme:list", &[]);
    assert_eq!(entry(&runtime, "acme:list")["version"].as_str(), Some("1.10.0"), "the newest that is no preview");
    refused(&runtime, "acme:list@3.0.0", &[], "there is no such tag or digest");
    refused(&person(), "acme:list", &[], "no registry is configured for its namespace");

    // Somebody else's plugin under that name is not what was asked for.
    let other = Publisher::new().build("evil:list", "1.3.0", "");
    other.published(&format!("oci://{}/mirror/acme/list", registry.host()));
    refused(&runtime, "acme:list@1.3.0", &[], "it is `evil:list` 1.3.0, and not `acme:list`");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_come_from_the_docker_configuration() {
    let publisher = Publisher::new();
    let registry = RegistryDouble::start().await;
    // `me:secret`
    let basic = "bWU6c2VjcmV0";
    registry.behave(Manners { token: Some(basic.to_owned()), ..Manners::default() });
    let docker = publisher.runtime.outside("docker");
    std::fs::create_dir(&docker).unwrap();
    let file = format!("{{\"auths\":{{\"{}\":{{\"auth\":\"{basic}\"}}}}}}", registry.host());
    std::fs::write(docker.join("config.json"), file).unwrap();
    let place = format!("oci://{}/acme/list", registry.host());
    let without = publisher.publish(&place, &[]);
    assert!(without.code == Some(1) && without.stderr.contains("docker login"), "{without:?}");
    let publisher =
        Publisher { runtime: publisher.runtime.env("DOCKER_CONFIG", &docker.display().to_string()), ..publisher };
    publisher.published(&place);
    let log = format!("{:?}", publisher.publish(&place, &["--log-level", "trace"]));
    assert!(!log.contains("secret") && !log.contains(basic), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_come_from_a_helper() {
    use std::os::unix::fs::PermissionsExt as _;
    let publisher = Publisher::new();
    let registry = RegistryDouble::start().await;
    registry.behave(Manners { token: Some("bWU6c2VjcmV0".to_owned()), ..Manners::default() });
    let folder = publisher.runtime.outside("helpers");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.json"), "{\"credsStore\":\"double\"}").unwrap();
    let helper = folder.join("docker-credential-double");
    let script = |known: &str| {
        let json = "{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"secret\"}";
        let text = format!(
            "#!/bin/sh\nif [ \"$1 $(cat)\" = 'get {known}' ]; then echo '{json}'; else echo 'credentials not found'; exit 1; fi\n"
        );
        std::fs::write(&helper, text).unwrap();
        std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let runtime = publisher.runtime.env("DOCKER_CONFIG", &folder.display().to_string()).env("PATH", &path);
    let publisher = Publisher { runtime, ..publisher };
    let place = format!("oci://{}/acme/list", registry.host());
    script("another.example");
    let without = publisher.publish(&place, &[]);
    assert!(without.code == Some(1) && without.stderr.contains("docker login"), "{without:?}");
    script(&registry.host());
    publisher.published(&place);
    std::fs::write(&helper, "#!/bin/sh\necho nonsense\n").unwrap();
    let told = publisher.publish(&place, &[]).stderr;
    assert!(told.contains("`docker-credential-double` printed something else than credentials"), "{told}");
}
