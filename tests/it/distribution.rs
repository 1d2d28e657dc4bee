//! How plugins travel: packed into a file, published in a registry, signed, and installed by somebody else.
//!
//! The publisher and the person who installs are two runtimes that share nothing but the registry.
#![expect(clippy::disallowed_methods, reason = "tests look at the files that were written, and damage them")]

mod debian_registry;
mod decisions;
mod files;
mod hostile_registry;
mod publishers;
mod registry;
mod updates;
mod web;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Finished, RegistryDouble, Runtime};
use serde_json::Value;

const KV: &str = "kv = { reason = \"remembers\" }\n";

/// Somebody with a plugin and a key.
struct Publisher {
    runtime: Runtime,
    /// Their public key.
    key: String,
    /// Its fingerprint.
    fingerprint: String,
}

impl Publisher {
    /// With a new key, `key`, and the plugin `acme:list` 1.0.0 as `list.wasm`.
    fn new() -> Self {
        let runtime = Runtime::new();
        let made = runtime.run(&["plugin", "keygen", "key", "--no-password"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let mut lines = made.stdout.lines().map(str::to_owned);
        let (key, fingerprint) = (lines.next().expect("a key"), lines.next().expect("a fingerprint"));
        Self { runtime: built(runtime, "acme:list", "1.0.0", KV), key, fingerprint }
    }

    /// The same publisher with another version.
    fn new_with(other: &Self, version: &str) -> Self {
        let runtime = built(Runtime::new(), "acme:list", version, KV);
        for name in ["key", "key.pub"] {
            std::fs::copy(other.runtime.project().join(name), runtime.project().join(name)).expect("the key");
        }
        Self { runtime, key: other.key.clone(), fingerprint: other.fingerprint.clone() }
    }

    /// Builds another one as `list.wasm`.
    fn build(self, id: &str, version: &str, rights: &str) -> Self {
        Self { runtime: built(self.runtime, id, version, rights), ..self }
    }

    /// Publishes `list.wasm`, signed.
    fn publish(&self, place: &str, more: &[&str]) -> Finished {
        self.runtime.run(&[&["plugin", "publish", "list.wasm", place, "--key", "key"], more].concat())
    }

    /// [`Publisher::publish`], which works; the reference by digest.
    fn published(&self, place: &str) -> String {
        let published = self.publish(place, &[]);
        assert_eq!(published.code, Some(0), "{published:?}");
        published.stdout.trim_end().rsplit_once(": ").expect("a reference").1.to_owned()
    }
}

/// A plugin with that name and those rights as `list.wasm` in the project.
fn built(runtime: Runtime, id: &str, version: &str, rights: &str) -> Runtime {
    let toml = format!(
        "id = \"{id}\"\nversion = \"{version}\"\ntitle = \"List\"\ndescription = \"A list.\"\nlicense = \"MIT\"\n\
         source = \"https://example.com/list\"\n[capabilities]\n{rights}"
    );
    let runtime = runtime.file("plugin.toml", &toml);
    let component = build_folder().join("plugins/tasks.wasm").display().to_string();
    let arguments = ["--component", &component, "--manifest", "plugin.toml", "--output", "list.wasm"];
    let build = runtime.run(&[&["plugin", "build"], arguments.as_slice()].concat());
    assert_eq!(build.code, Some(0), "{build:?}");
    runtime
}

/// A person with nothing installed, who does not trust anybody.
fn person() -> Runtime {
    Runtime::new()
}

/// Installs without a terminal, with all rights.
fn install(runtime: &Runtime, source: &str, more: &[&str]) -> Finished {
    runtime.run(&[&["plugin", "install", source, "--yes"], more].concat())
}

/// Installs, and it works; what was said.
fn installed(runtime: &Runtime, source: &str, more: &[&str]) -> String {
    let finished = install(runtime, source, more);
    assert_eq!(finished.code, Some(0), "{source}: {finished:?}");
    finished.stderr
}

/// Installs, and it is refused with these words; nothing of it is kept. The whole of what was said.
fn refused(runtime: &Runtime, source: &str, more: &[&str], why: &str) -> String {
    let before = index(runtime);
    let finished = install(runtime, source, more);
    assert!(matches!(finished.code, Some(1 | 2)), "{source}: {finished:?}");
    assert!(finished.stderr.contains(why), "{source}: expected `{why}` in {}", finished.stderr);
    assert!(finished.stderr.contains("\nhint: "), "{source}: {}", finished.stderr);
    assert_eq!((finished.stdout.as_str(), index(runtime)), ("", before), "{source}");
    finished.stderr
}

/// What is installed, as the store has it.
fn index(runtime: &Runtime) -> String {
    std::fs::read_to_string(runtime.home().join("plugins/index.toml")).unwrap_or_default()
}

/// One installed plugin's entry of the index.
fn entry(runtime: &Runtime, id: &str) -> toml::Table {
    let index: toml::Table = index(runtime).parse().expect("TOML");
    index["plugins"][id].as_table().expect("it is installed").clone()
}

/// A registry with the publisher's `acme:list` 1.0.0 at `acme/list`, and the reference to it.
async fn stocked(publisher: &Publisher) -> (RegistryDouble, String) {
    let registry = RegistryDouble::start().await;
    let place = format!("oci://{}/acme/list", registry.host());
    publisher.published(&place);
    (registry, format!("{place}:1.0.0"))
}

/// A person who trusts the publisher already.
fn trusting(publisher: &Publisher) -> Runtime {
    let runtime = person();
    let trusted = runtime.run(&["trust", "add", "publisher", "acme", "--key", &publisher.key]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    runtime
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
