//! Who may sign what, when.

use acp_runtime_agent::capability::PluginId;
use minisign::KeyPair;
use semver::Version;

use super::*;
use crate::package::signature::Minisign;

const BYTES: &[u8] = b"a component";

struct World {
    publishers: Publishers,
    acme: KeyPair,
    other: KeyPair,
}

fn public(pair: &KeyPair) -> PublicKey {
    pair.pk.to_base64().parse().unwrap()
}

fn at(text: &str) -> Moment {
    text.parse().unwrap()
}

/// `acme` is trusted, with one key, for its own namespace and `acme-labs`.
fn world() -> World {
    let pair = || KeyPair::generate_unencrypted_keypair().unwrap();
    let (acme, other) = (pair(), pair());
    let mut publishers = Publishers::default();
    let namespaces = ["acme".to_owned(), "acme-labs".to_owned()];
    publishers.add("acme", &[public(&acme)], &namespaces, at("2026-01-01"), Some(at("2026-12-31"))).unwrap();
    World { publishers, acme, other }
}

fn sign(pair: &KeyPair, statement: &str, offers: bool) -> String {
    let comment = if offers { Signature::offer(&public(pair)) } else { "mine".to_owned() };
    minisign::sign(None, &pair.sk, BYTES, Some(statement), Some(&comment)).unwrap().into_string()
}

fn judge(publishers: &Publishers, signatures: &[String], id: &str, now: &str) -> Result<Standing, Distrust> {
    let (id, version) = (PluginId::new(id).unwrap(), Version::new(1, 0, 0));
    publishers.judge(&Minisign, signatures, Signed { bytes: BYTES, id: &id, version: &version }, at(now).0)
}

const NOW: &str = "2026-06-01";

#[test]
fn a_trusted_publisher_signs_in_their_own_namespaces() {
    let World { publishers, acme, .. } = world();
    for id in ["acme:list", "acme-labs:list"] {
        let standing = judge(&publishers, &[sign(&acme, &format!("{id}@1.0.0"), false)], id, NOW);
        assert_eq!(standing, Ok(Standing::Trusted { publisher: "acme".to_owned(), key: public(&acme) }));
    }
    let elsewhere = judge(&publishers, &[sign(&acme, "zeta:list@1.0.0", true)], "zeta:list", NOW).unwrap_err();
    assert!(matches!(&elsewhere, Distrust::OtherNamespace { publisher, .. } if publisher == "acme"));
    assert_eq!(elsewhere.hint(), "if it is theirs, too: `acp-runtime trust add publisher acme --namespace zeta`");
}

#[test]
fn nobody_else_signs_there() {
    let World { publishers, other, .. } = world();
    for offers in [true, false] {
        let refused = judge(&publishers, &[sign(&other, "acme:list@1.0.0", offers)], "acme:list", NOW);
        assert!(matches!(refused, Err(Distrust::Taken { .. })), "{refused:?}");
    }
    let reserved = judge(&publishers, &[sign(&other, "aar:notes@1.0.0", true)], "aar:notes", NOW);
    assert!(matches!(reserved, Err(Distrust::Reserved { .. })), "{reserved:?}");
}

#[test]
fn a_namespace_that_is_nobodys_is_a_question() {
    let World { publishers, other, .. } = world();
    let new = judge(&publishers, &[sign(&other, "zeta:list@1.0.0", true)], "zeta:list", NOW).unwrap();
    assert_eq!(new, Standing::New { key: public(&other), similar: Vec::new() });
    for (id, like) in [("acne:list", "acme"), ("acme-lab:list", "acme-labs"), ("aarr:notes", "aar")] {
        let Ok(Standing::New { similar, .. }) =
            judge(&publishers, &[sign(&other, &format!("{id}@1.0.0"), true)], id, NOW)
        else {
            panic!("{id} is new")
        };
        assert!(similar.contains(&like.to_owned()), "{id}: {similar:?}");
    }
    let stranger = judge(&publishers, &[sign(&other, "zeta:list@1.0.0", false)], "zeta:list", NOW);
    assert!(matches!(stranger, Ok(Standing::Stranger { .. })), "{stranger:?}");
    assert_eq!(judge(&publishers, &[], "zeta:list", NOW), Ok(Standing::Unsigned { claimed_by: None }));
    let claimed_by = Some("acme".to_owned());
    assert_eq!(judge(&publishers, &[], "acme:list", NOW), Ok(Standing::Unsigned { claimed_by }));
}

#[test]
fn what_was_signed_for_something_else_does_not_hold() {
    let World { publishers, acme, other } = world();
    for statement in ["acme:list@0.9.0", "acme:other@1.0.0"] {
        for pair in [&acme, &other] {
            let refused = judge(&publishers, &[sign(pair, statement, true)], "acme:list", NOW);
            assert!(refused.is_err(), "{statement}: {refused:?}");
        }
        let first_use = judge(&publishers, &[sign(&other, &statement.replace("acme", "zeta"), true)], "zeta:list", NOW);
        assert!(matches!(first_use, Err(Distrust::Signature(SignatureError::OtherPlugin { .. }))), "{first_use:?}");
    }
    let nonsense = judge(&publishers, &["nonsense".to_owned()], "zeta:list", NOW);
    assert!(matches!(nonsense, Err(Distrust::Signature(SignatureError::Form(_)))));
}

#[test]
fn a_key_ends() {
    let World { mut publishers, acme, .. } = world();
    let signature = [sign(&acme, "acme:list@1.0.0", true)];
    let expired = judge(&publishers, &signature, "acme:list", "2027-06-01").unwrap_err();
    assert!(matches!(expired, Distrust::Expired { .. }), "{expired:?}");
    assert!(judge(&publishers, &signature, "acme:list", "2026-12-31T23:00:00Z").is_ok());
    publishers.add("acme", &[public(&acme)], &[], at(NOW), Some(at("2028-12-31"))).unwrap();
    assert!(judge(&publishers, &signature, "acme:list", "2027-06-01").is_ok());
}

#[test]
fn one_good_signature_is_enough_and_a_bad_one_alone_too_much() {
    let World { publishers, acme, other } = world();
    let good = sign(&acme, "acme:list@1.0.0", false);
    let bad = sign(&other, "acme:list@1.0.0", true);
    assert!(judge(&publishers, &[bad.clone(), "nonsense".to_owned(), good], "acme:list", NOW).is_ok());
    assert!(judge(&publishers, &[bad], "acme:list", NOW).is_err());
}

#[test]
fn a_key_of_the_same_id_is_another_key() {
    let World { mut publishers, acme, other } = world();
    // Somebody makes a key with the id of another one's, and has it trusted for a namespace of their own.
    let mut bytes =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, public(&other).to_string()).unwrap();
    bytes[2..10].copy_from_slice(acme.pk.keynum());
    let like: PublicKey = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes).parse().unwrap();
    publishers.add("aaa", &[like], &[], at(NOW), None).unwrap();
    let standing = judge(&publishers, &[sign(&acme, "acme:list@1.0.0", false)], "acme:list", NOW);
    assert!(matches!(standing, Ok(Standing::Trusted { publisher, .. }) if publisher == "acme"));
}

#[test]
fn what_is_said_of_publishers_is_checked() {
    let World { mut publishers, acme, other } = world();
    let (key, since) = (public(&other), at(NOW));
    let mut add = |name: &str, keys: &[PublicKey], namespaces: &[&str]| {
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        publishers.add(name, keys, &namespaces, since, None)
    };
    assert!(matches!(add("Zeta", std::slice::from_ref(&key), &[]), Err(PublisherError::Name(_))));
    assert!(matches!(add("zeta", std::slice::from_ref(&key), &["a:b"]), Err(PublisherError::Name(_))));
    assert!(matches!(add("zeta", &[], &[]), Err(PublisherError::NoKey(_))));
    assert!(matches!(add("zeta", std::slice::from_ref(&key), &["acme-labs"]), Err(PublisherError::Taken { .. })));
    assert!(matches!(add("zeta", &[public(&acme)], &[]), Err(PublisherError::OtherKey { .. })));
    assert_eq!(add("zeta", std::slice::from_ref(&key), &[]), Ok(()));
    assert_eq!(publishers.owner("zeta"), Some("zeta"));
    assert!(publishers.remove("nobody", None).is_err());
    assert!(publishers.remove("zeta", Some(public(&acme).fingerprint())).is_err());
    publishers.remove("zeta", Some(key.fingerprint())).unwrap();
    // Without a key it is still theirs.
    assert_eq!(publishers.owner("zeta"), Some("zeta"));
    publishers.remove("zeta", None).unwrap();
    assert_eq!(publishers.owner("zeta"), None);
}

#[test]
fn the_file_is_read_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = TrustStore::new(folder.path().join("deep/trust.toml"));
    assert_eq!(store.read().unwrap(), Publishers::default());
    let World { publishers, .. } = world();
    store
        .change(|kept| {
            *kept = publishers.clone();
            Ok(())
        })
        .unwrap();
    assert_eq!(store.read().unwrap(), publishers);
    for (text, why) in [
        ("[publishers.a]\nnamespaces = []\nkeys = []\nkey = 1", "unknown field `key`"),
        ("[publishers.a]\nnamespaces = []\nkeys = [{ public = \"RW\" }]", "is no public key of minisign"),
        ("[[", "line 1, column 3: "),
    ] {
        crate::whole_file::put(store.path(), text.as_bytes()).unwrap();
        assert!(store.read().unwrap_err().to_string().contains(why), "{text}");
    }
}
