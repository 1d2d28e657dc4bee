//! A32: a registry that lies, stalls, and sends people elsewhere. Whatever it does, nothing is installed that was not
//! meant, nothing is waited for without an end, and nobody else gets credentials.

use super::*;
use acp_runtime_tests::registry_double::{INDEX, Manners};
use acp_runtime_tests::{WebDouble, WebPage};
use serde_json::json as value;

#[tokio::test(flavor = "multi_thread")]
async fn a32_a_tag_that_moves_meanwhile_changes_nothing() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let good = registry.digest("acme/list", "1.0.0");
    // The publisher's own, signed as well, but not what was looked at.
    let other = Publisher::new_with(&publisher, "2.0.0");
    other.published(&format!("oci://{}/acme/list", registry.host()));
    let moved = registry.digest("acme/list", "2.0.0");
    registry.behave(Manners { tags_move_to: Some(moved), ..Manners::default() });
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    let entry = entry(&runtime, "acme:list");
    assert_eq!((entry["version"].as_str(), entry["manifest"].as_str()), (Some("1.0.0"), Some(good.as_str())));
    // And from now on the tag says 1.0.0 and leads to 2.0.0.
    refused(&trusting(&publisher), &reference, &[], "it is `acme:list` 2.0.0, and its tag is `1.0.0`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_a_list_of_tags_that_never_ends_is_left() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher);
    installed(&runtime, &reference, &[]);
    registry.behave(Manners { tags_without_end: true, ..Manners::default() });
    let outdated = runtime.run(&["plugin", "outdated"]);
    assert_eq!(outdated.code, Some(0), "{outdated:?}");
    let pages = registry.asked().iter().filter(|asked| asked.path.contains("/tags/list")).count();
    assert_eq!(pages, 100, "each counts as a hundred of the 10,000 tags that are looked at");
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_what_has_another_digest_is_refused() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher);
    registry.behave(Manners { blobs_changed: true, ..Manners::default() });
    refused(&runtime, &reference, &[], "the file has the digest sha256:");

    let by_digest = format!("{reference}@{}", registry.digest("acme/list", "1.0.0"));
    let other = Publisher::new_with(&publisher, "2.0.0");
    other.published(&format!("oci://{}/acme/list", registry.host()));
    let wrong = registry.digest("acme/list", "2.0.0");
    registry.behave(Manners { manifests_are: Some(wrong), ..Manners::default() });
    refused(&runtime, &by_digest, &[], "the manifest has the digest sha256:");
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_what_is_no_plugin_is_named() {
    let publisher = Publisher::new();
    let (registry, _) = stocked(&publisher).await;
    let good = registry.manifest("acme/list", "1.0.0");
    let (mut two, mut docker, mut config, mut large, mut lying) =
        (good.clone(), good.clone(), good.clone(), good.clone(), good.clone());
    two["layers"] = value!([good["layers"][0], good["layers"][0]]);
    docker["layers"][0]["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip".into();
    config["config"]["mediaType"] = "application/vnd.oci.image.config.v1+json".into();
    large["layers"][0]["size"] = (257_u64 << 20).into();
    lying["layers"][0]["size"] = 10.into();
    let index = value!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] });
    let huge = format!("{{\"schemaVersion\":2,\"padding\":\"{}\"}}", "x".repeat(2 << 20));
    let place = format!("oci://{}/acme/list", registry.host());
    for (tag, manifest, why) in [
        ("two", two.to_string(), "it has 2 layers; expected one of `application/wasm`"),
        ("docker", docker.to_string(), "its layer has the media type `application/vnd.oci.image.layer.v1.tar+gzip`"),
        ("config", config.to_string(), "its config has the media type `application/vnd.oci.image.config.v1+json`"),
        ("large", large.to_string(), "its component has 269484032 bytes; at most 268435456 are accepted"),
        ("lying", lying.to_string(), "the file is larger than 10 bytes"),
        ("index", index.to_string(), "it is an index (`application/vnd.oci.image.index.v1+json`)"),
        ("huge", huge, "the manifest is larger than 1048576 bytes"),
        ("none", "<html>".to_owned(), "the manifest cannot be read"),
    ] {
        registry.put("acme/list", tag, manifest.into_bytes());
        refused(&trusting(&publisher), &format!("{place}:{tag}"), &[], why);
    }
    registry.behave(Manners { sent_as: Some("text/html; charset=utf-8".to_owned()), ..Manners::default() });
    refused(&trusting(&publisher), &format!("{place}:1.0.0"), &[], "it was sent as `text/html`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_what_the_registry_says_of_a_plugin_must_be_true() {
    let publisher = Publisher::new();
    let (registry, _) = stocked(&publisher).await;
    let good = registry.manifest("acme/list", "1.0.0");
    let (mut version, mut rights) = (good.clone(), good);
    version["annotations"]["org.opencontainers.image.version"] = "9.0.0".into();
    rights["annotations"]["dev.acp-runtime.plugin.capabilities"] = format!("sha256:{}", "0".repeat(64)).into();
    let place = format!("oci://{}/acme/list", registry.host());
    for (tag, manifest, why) in [
        ("version", version, "its OCI manifest says version 9.0.0"),
        ("rights", rights, "its OCI manifest names other rights than it asks for"),
    ] {
        registry.put("acme/list", tag, manifest.to_string().into_bytes());
        refused(&trusting(&publisher), &format!("{place}:{tag}"), &[], why);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_a_body_that_stops_or_breaks_off_is_not_waited_for() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let runtime = trusting(&publisher).config("[plugins.registry]\ntimeout = 1\n");
    registry.behave(Manners { blobs_stop_after: Some(100), ..Manners::default() });
    refused(&runtime, &reference, &[], "nothing more came for 1 s, after 100 bytes");
    registry.behave(Manners { blobs_break_after: Some(100), ..Manners::default() });
    refused(&runtime, &reference, &[], "it broke off after 100 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_a_blob_on_another_host_is_fetched_without_credentials() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let token = Some("dGhlOnRva2Vu".to_owned());
    let docker = |runtime: &Runtime| {
        let docker = runtime.outside("docker");
        std::fs::create_dir(&docker).unwrap();
        let file = format!("{{\"auths\":{{\"{}\":{{\"auth\":\"dGhlOnRva2Vu\"}}}}}}", registry.host());
        std::fs::write(docker.join("config.json"), file).unwrap();
        docker.display().to_string()
    };
    let runtime = trusting(&publisher);
    let docker = docker(&runtime);
    let runtime = runtime.env("DOCKER_CONFIG", &docker);
    // The other host has the blobs.
    let mirror = RegistryDouble::start().await;
    registry.share_blobs(&mirror);
    let elsewhere = format!("http://{}", mirror.other_host());
    registry.behave(Manners { token, blobs_elsewhere: Some(elsewhere), ..Manners::default() });
    installed(&runtime, &reference, &[]);
    let asked = mirror.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.authorization.is_none()), "{asked:?}");

    for (elsewhere, why) in [
        ("http://example.invalid", "it leads to plain HTTP on another machine"),
        ("file:///etc", "which is not the web"),
        (&format!("http://{}", registry.host()), "it leads on and on, more than 5 times"),
    ] {
        registry.behave(Manners { blobs_elsewhere: Some(elsewhere.to_owned()), ..Manners::default() });
        refused(&trusting(&publisher), &reference, &[], why);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_a_token_address_on_another_host_gets_no_credentials() {
    let publisher = Publisher::new();
    let (registry, reference) = stocked(&publisher).await;
    let realm = WebDouble::start(|visit| {
        let is_known = visit.headers.contains_key("authorization");
        let token = if is_known { "of-somebody" } else { "of-anybody" };
        WebPage::new("application/json", format!("{{\"token\":\"{token}\"}}"))
    })
    .await;
    let configured = |text: &str| {
        let runtime = trusting(&publisher).config(text);
        let docker = runtime.outside("docker");
        std::fs::create_dir(&docker).unwrap();
        let file = format!("{{\"auths\":{{\"{}\":{{\"auth\":\"bWU6c2VjcmV0\"}}}}}}", registry.host());
        std::fs::write(docker.join("config.json"), file).unwrap();
        let docker = docker.display().to_string();
        runtime.env("DOCKER_CONFIG", &docker)
    };
    let behave = |token: &str| {
        registry.behave(Manners {
            token: Some(token.to_owned()),
            realm: Some(realm.url("/token")),
            ..Manners::default()
        });
    };
    // What anybody may have is enough.
    behave("of-anybody");
    installed(&configured(""), &reference, &[]);
    // What only somebody may have is not given for credentials that the address must not see.
    behave("of-somebody");
    refused(&configured(""), &reference, &[], "it answers 401");
    let visits = realm.visits();
    assert!(visits.iter().all(|visit| !visit.headers.contains_key("authorization")), "{visits:?}");
    assert!(visits[0].path.contains("scope=repository%3Aacme%2Flist%3Apull"), "{visits:?}");
    // Unless the person says that it may.
    let named = format!("[plugins.registry]\ntoken_hosts = [\"localhost:{}\"]\n", realm.port());
    installed(&configured(&named), &reference, &[]);

    let behave = |realm: &str| {
        registry.behave(Manners { token: Some("x".to_owned()), realm: Some(realm.to_owned()), ..Manners::default() });
    };
    for (realm, why) in [
        ("http://example.invalid/token", "is not reached over TLS"),
        ("file:///etc/hosts", "is not reached over TLS"),
        ("nonsense", "its token address `nonsense` is none"),
    ] {
        behave(realm);
        refused(&configured(""), &reference, &[], why);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a32_an_upload_does_not_go_on_elsewhere_with_credentials() {
    let publisher = Publisher::new();
    let (registry, other) = (RegistryDouble::start().await, RegistryDouble::start().await);
    let docker = publisher.runtime.outside("docker");
    std::fs::create_dir(&docker).unwrap();
    let file = format!("{{\"auths\":{{\"{}\":{{\"auth\":\"bWU6c2VjcmV0\"}}}}}}", registry.host());
    std::fs::write(docker.join("config.json"), file).unwrap();
    let publisher =
        Publisher { runtime: publisher.runtime.env("DOCKER_CONFIG", &docker.display().to_string()), ..publisher };
    let behave = |elsewhere: &str| {
        registry.behave(Manners {
            token: Some("bWU6c2VjcmV0".to_owned()),
            uploads_elsewhere: Some(elsewhere.to_owned()),
            ..Manners::default()
        });
    };
    let place = format!("oci://{}/acme/list", registry.host());
    behave(&format!("http://{}", other.host()));
    publisher.publish(&place, &[]);
    let asked = other.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.authorization.is_none()), "{asked:?}");
    behave("http://example.invalid");
    let told = publisher.publish(&place, &[]);
    assert!(told.stderr.contains("it leads to plain HTTP on another machine"), "{told:?}");
}
