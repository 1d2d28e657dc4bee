//! Packages that are files: packed, signed beside, installed from where they lie.

use super::*;
use acp_runtime_tests::registry_double::digest;

#[test]
fn a_package_is_the_same_file_each_time() {
    let publisher = Publisher::new();
    let pack = |output: &str| {
        let packed = publisher.runtime.run(&["plugin", "pack", "list.wasm", "--output", output]);
        assert_eq!((packed.code, packed.stdout.as_str()), (Some(0), format!("{output}\n").as_str()), "{packed:?}");
        assert!(packed.stderr.contains("warning: it is not signed"), "{packed:?}");
        std::fs::read(publisher.runtime.project().join(output)).expect("the file")
    };
    let (one, other) = (pack("one.tar"), pack("other.tar"));
    assert!(one == other, "both have the same bytes");
    let named = publisher.runtime.run(&["plugin", "pack", "list.wasm", "--key", "key"]);
    assert_eq!(named.stdout, "list-1.0.0.tar\n", "{named:?}");
    assert!(publisher.runtime.read("list.wasm.minisig").contains("trusted comment: acme:list@1.0.0\n"));
}

#[test]
fn what_is_no_place_in_a_registry_is_not_published_to() {
    let publisher = Publisher::new();
    for place in ["registry.example/acme/list", "https://registry.example/acme/list", "http://h/x", "acme:list", "./x"]
    {
        let published = publisher.publish(place, &[]);
        let told = format!(
            "error: `{place}` is no place in a registry\nhint: write it like `oci://registry.example/path/name`\n"
        );
        assert_eq!((published.code, published.stderr), (Some(2), told));
    }
}

#[test]
fn what_is_packed_can_be_installed_by_others() {
    let publisher = Publisher::new();
    assert_eq!(publisher.runtime.run(&["plugin", "pack", "list.wasm", "--key", "key"]).code, Some(0));
    let tar = publisher.runtime.project().join("list-1.0.0.tar").display().to_string();
    let runtime = trusting(&publisher);
    let said = installed(&runtime, &tar, &[]);
    assert!(!said.contains("warning"), "{said}");
    let entry = entry(&runtime, "acme:list");
    let bytes = std::fs::read(publisher.runtime.project().join("list.wasm")).unwrap();
    assert_eq!(entry["digest"].as_str(), Some(digest(&bytes).as_str()));
    assert_eq!(entry["publisher"].as_str(), Some("acme"));
    assert_eq!(entry["key"].as_str(), Some(publisher.fingerprint.as_str()));
    assert!(entry["manifest"].as_str().is_some_and(|manifest| manifest.starts_with("sha256:")));
    let verified = runtime.run(&["plugin", "verify", "--all"]);
    let line = format!("good  acme:list  1.0.0  signed by the publisher `acme` ({})\n", publisher.fingerprint);
    assert_eq!((verified.code, verified.stdout), (Some(0), line.clone()));
    let by_name = runtime.run(&["plugin", "verify", "list"]);
    assert_eq!((by_name.code, by_name.stdout), (Some(0), line));
    let unknown = runtime.run(&["plugin", "verify", "lost"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("`lost` is not installed"), "{unknown:?}");
}

#[test]
fn files_are_installed_with_a_warning_unless_signatures_are_required() {
    let publisher = Publisher::new();
    let wasm = publisher.runtime.project().join("list.wasm").display().to_string();
    let said = installed(&person(), &wasm, &[]);
    assert!(said.contains("warning: nobody stands for `acme:list` 1.0.0: it is not signed\n"), "{said}");

    let strict = person().config("[plugins.signatures]\nlocal = \"require\"\n");
    let said = refused(&strict, &wasm, &[], "`acme:list` 1.0.0 was not installed: it is not signed");
    let flag =
        said.split("install it with `").nth(1).and_then(|rest| rest.split('`').next()).expect("the flag").to_owned();
    let wrong = "--allow-unsigned=sha256:0000000000000000000000000000000000000000000000000000000000000000";
    refused(&strict, &wasm, &[wrong], "its digest is another one");
    let (option, digest) = flag.split_once(' ').expect("an option and a digest");
    installed(&strict, &wasm, &[option, digest]);
    assert_eq!(strict.run(&["plugin", "verify", "acme:list"]).code, Some(0), "it is what was installed");
    assert_eq!(strict.run(&["plugin", "verify", &wasm]).code, Some(1), "and nobody has signed it");
}

#[test]
fn a_tar_file_that_is_no_package_says_so() {
    let runtime = built(person(), "acme:list", "1.0.0", "");
    assert_eq!(runtime.run(&["plugin", "pack", "list.wasm", "-o", "list.tar"]).code, Some(0));
    let whole = std::fs::read(runtime.project().join("list.tar")).unwrap();
    let mut changed = whole.clone();
    // In the middle is the component.
    let middle = whole.len() / 2;
    changed[middle] ^= 1;
    let mut renamed = whole.clone();
    let at = whole.windows(10).position(|window| window == b"index.json").unwrap();
    renamed[at] = b'I';
    for (name, bytes, why) in [
        ("changed.tar", changed, "has the digest sha256:"),
        ("renamed.tar", renamed, "it is no OCI layout in a tar file"),
        ("short.tar", whole[..whole.len() / 2].to_vec(), "it is no OCI layout in a tar file"),
    ] {
        std::fs::write(runtime.project().join(name), bytes).unwrap();
        refused(&runtime, name, &[], why);
    }
    assert_eq!(runtime.run(&["plugin", "pack", "plugin.toml"]).code, Some(1), "nothing else is packed");
}

#[test]
fn a34_a_file_that_was_changed_after_it_was_installed_is_found_and_not_run() {
    let publisher = Publisher::new();
    assert_eq!(publisher.runtime.run(&["plugin", "pack", "list.wasm", "--key", "key"]).code, Some(0));
    let runtime = trusting(&publisher);
    let wasm = publisher.runtime.project().join("list.wasm");
    installed(&runtime, &wasm.display().to_string(), &[]);
    let digest = entry(&runtime, "acme:list")["digest"].as_str().unwrap().replace("sha256:", "");
    let kept = runtime.home().join("plugins/sha256").join(digest).join("plugin.wasm");
    let good = std::fs::read(&kept).unwrap();

    let mut changed = good.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    std::fs::write(&kept, changed).unwrap();
    let verified = runtime.run(&["plugin", "verify", "--all"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.starts_with("bad  acme:list  1.0.0  ") && verified.stdout.contains("is not the file"));
    let doctor = runtime.run(&["doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("fail  plugins   `acme:list` 1.0.0: "), "{doctor:?}");

    std::fs::write(&kept, good).unwrap();
    let signature = kept.with_extension("wasm.minisig");
    assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));
    std::fs::remove_file(&signature).unwrap();
    let verified = runtime.run(&["plugin", "verify", "acme:list", "--json"]);
    assert_eq!(json(&verified.stdout)["finding"], "its signature is gone");
    assert_eq!(json(&verified.stdout)["good"], false);
}

#[test]
fn keys_are_made_once_and_kept_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let publisher = Publisher::new();
    let again = publisher.runtime.run(&["plugin", "keygen", "key", "--no-password"]);
    assert!(again.code == Some(2) && again.stderr.contains("`key` is there already"), "{again:?}");
    let mode = std::fs::metadata(publisher.runtime.project().join("key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(publisher.runtime.read("key.pub").contains(&publisher.key));
    let nested = publisher.runtime.run(&["plugin", "keygen", "keys/mine/acme.key", "--no-password"]);
    assert_eq!(nested.code, Some(0), "{nested:?}");
    let mode = std::fs::metadata(publisher.runtime.project().join("keys/mine")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "folders are made for it, and are its owner's alone");
    let unasked = publisher.runtime.run(&["plugin", "keygen", "other"]);
    assert!(unasked.code == Some(2) && unasked.stderr.contains("or pass `--no-password`"), "{unasked:?}");
    let wrong = publisher.runtime.run(&["plugin", "pack", "list.wasm", "--key", "key.pub"]);
    assert!(wrong.stderr.contains("`key.pub` is no secret key of minisign"), "{wrong:?}");
}
