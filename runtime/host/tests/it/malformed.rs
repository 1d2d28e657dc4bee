//! Files that are no plugins, or try to be more: each is told apart soon, by an error that says what is wrong.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use acp_runtime_agent::fuzz::Fuzz;
use acp_runtime_host::egress::Target;
use acp_runtime_host::manifest::{Inventory, MOST_BYTES, Manifest};
use acp_runtime_host::package::Package;
use wasm_encoder::{
    CodeSection, Component, ComponentTypeSection, Function, FunctionSection, Module, ModuleSection,
    NestedComponentSection, TypeSection,
};

use crate::guest;
use crate::support::{inventory, manifest};

/// More than any of these takes, and less than anybody waits.
const SOON: Duration = Duration::from_secs(20);

const RIGHTS: &str = r#"
minimum-host = "0.1.0"
lifecycle = "session"
[capabilities]
fs.read = [{ glob = "src/{a,b}/**", reason = "reads" }]
fs.write = [{ glob = "notes/**", reason = "writes", preopen = true }]
fs.data = { reason = "keeps" }
kv = { reason = "keeps" }
net = [{ host = "https://*.example.com/v1", reason = "asks" }]
secrets = [{ name = "key", audience = "https://api.example.com", header = "x-key", prefix = "Bearer ", reason = "asks" }]
exec = [{ program = "git", arguments = ["log", "--max-count=*", "--", "**"], env = ["LANG"], reason = "lists" }]
session.read = { reason = "sums up" }
prompt = { reason = "adds" }
hooks = [{ event = "tool-call", priority = 3, reason = "guards" }]
[limits]
memory = "16 MiB"
wall = "30 s"
[settings]
type = "object"
[settings.properties.a]
type = "string"
pattern = "^a+$"
"#;

fn toml() -> String {
    manifest("test:plugin", RIGHTS)
}

fn section() -> Vec<u8> {
    Manifest::section(&toml(), &inventory()).unwrap()
}

/// What is read of a file with these bytes: its manifest, or why not.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::TempDir::new().unwrap())
    }

    fn put(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join("plugin.wasm");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn read(&self, bytes: &[u8]) -> Result<Package, String> {
        Package::read(self.put(bytes)).map_err(|error| error.to_string())
    }
}

/// Bytes that are held while patterns are read: one is as long as a path, and each byte of it takes some thousands.
const OF_PATTERNS: usize = 64 << 20;

fn texts() -> Fuzz {
    Fuzz::of([toml(), manifest("a:b", "")])
        .up_to(16 << 10)
        .with_words([
            "[",
            "]",
            "{",
            "}",
            "\"",
            "\u{27}\u{27}\u{27}",
            "= ",
            "\n",
            "\\u202e",
            "\0",
            "[capabilities]\n",
            "[[a]]\n",
            "a.b.c = 1\n",
            "id = 'a:b'\n",
            "**/",
            "../",
            "fs.read = [",
            "9999999999999 GiB",
            "1 KiB",
            "-1 s",
            "https://*",
            "$ref = '#'\n",
            "pattern = '(a+)+$'\n",
        ])
        .costing(OF_PATTERNS)
}

/// What is taken is taken again from what is written of it, and what is not says why in few words.
fn check_text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Manifest::from_toml(&text, Inventory::default()) {
        Ok(read) => {
            let again = Manifest::from_section(&Manifest::section(&text, &Inventory::default()).unwrap()).unwrap();
            assert_eq!((read.ceiling(), read.about), (again.ceiling(), again.about));
            assert!(read.capabilities.iter().all(|asked| asked.reason.chars().count() <= 200));
        }
        Err(error) => assert!(error.to_string().len() <= 4 * input.len() + 2000, "{error}"),
    }
}

fn sections() -> Fuzz {
    let words = [
        "[",
        "]",
        "{",
        "}",
        "\"",
        ",",
        ":",
        "null",
        "\\ud800",
        "\\u202e",
        "\"schema\":1",
        "\"tools\":[",
        "\"input_schema\":{",
        "[[[[[[[[",
        "{\"a\":{\"a\":",
        "\"$ref\":\"#\"",
    ];
    Fuzz::of([section(), b"{}".to_vec()]).up_to(16 << 10).with_words(words).costing(OF_PATTERNS)
}

fn check_section(input: &[u8]) {
    if let Ok(manifest) = Manifest::from_section(input) {
        assert!(manifest.inventory.tools.len() <= 128);
    }
}

fn components() -> Fuzz {
    let whole = guest::with_manifest(guest::component("echo"), &section());
    let two = [&whole[..], &section()].concat();
    Fuzz::of([whole, two])
        .up_to(64 << 10)
        .with_words([
            &b"\0asm\x0d\0\x01\0"[..],
            b"\0asm\x01\0\0\0",
            b"\xff\xff\xff\xff\x0f",
            b"\x80\x80\x80\x80\x00",
            b"\x00\x0caar:manifest",
            b"\x00",
            b"\x01",
            b"\x04",
            b"\x07\x7f",
        ])
        // Its types are kept in blocks.
        .costing(4 << 20)
}

/// A file that is read as a plugin is that file as a whole.
fn check_component(files: &Files) -> impl Fn(&[u8]) {
    move |input| {
        // By whoever compiles it.
        drop(wasmparser::validate(input));
        if let Ok(package) = files.read(input) {
            assert_eq!(package.bytes().map(|(bytes, _)| bytes).unwrap(), input);
        }
    }
}

fn addresses() -> Fuzz {
    let honest =
        ["https://user:pw@api.example.com:8443/a/../b?q=1#f", "http://[::ffff:127.0.0.1]/", "http://0x7f.1/%2e%2e/"];
    Fuzz::of(honest).with_words([
        "://", "@", ":", "/", "//", "\\", "?", "#", "%", "%00", "%2e", "[", "]", "\t", "\n", "\0", "\u{202e}",
        "\u{3002}", "xn--", "..", ".", "127.1", "0x", "\u{ad}", "\u{df}",
    ])
}

fn check_address(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(target) = Target::parse(&text) else { return };
    let request = target.request();
    assert_eq!(Target::parse(target.as_str()).unwrap().request(), request);
    assert!(matches!(&*request.scheme, "http" | "https") && !request.host.is_empty() && request.port > 0);
    assert!(request.path.starts_with('/') && !request.path.split('/').any(|name| name == ".."), "{request}");
    let host = request.host.trim_matches(['[', ']']);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    assert!(host.chars().all(plain) && !host.ends_with('.') && host.to_ascii_lowercase() == host, "{host}");
}

#[test]
fn whatever_is_a_manifest_or_an_address_is_read_or_refused() {
    texts().quick(check_text);
    sections().quick(check_section);
    addresses().quick(check_address);
}

#[test]
fn a37_whatever_is_a_component_is_read_or_refused() {
    components().quick(check_component(&Files::new()));
}

#[test]
fn slow_fuzz_a_manifest_as_text() {
    texts().slow(check_text);
}

#[test]
fn slow_fuzz_a_manifest_in_a_component() {
    sections().slow(check_section);
}

#[test]
fn slow_fuzz_a37_a_component() {
    components().slow(check_component(&Files::new()));
}

#[test]
fn slow_fuzz_an_address() {
    addresses().slow(check_address);
}

#[test]
fn a37_what_ends_too_early_is_no_plugin() {
    let files = Files::new();
    let whole = guest::with_manifest(guest::component("echo"), &section());
    assert!(files.read(&whole).is_ok());
    for length in (0..whole.len()).step_by(7).chain(whole.len() - 200..whole.len()) {
        let refused = files.read(&whole[..length]).err();
        assert!(refused.is_some(), "{length} bytes of {}", whole.len());
    }
}

/// Components that are small to write and large to take: each is refused or read within a time, whatever it has.
#[test]
fn a37_what_is_made_to_be_slow_is_not() {
    let mut types = TypeSection::new();
    for _ in 0..900_000 {
        types.ty().function([], []);
    }
    let mut huge = Module::new();
    huge.section(&types);
    let mut functions = Module::new();
    let (mut types, mut declared, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([], []);
    for _ in 0..1_000_000 {
        declared.function(0);
        let mut function = Function::new([]);
        function.instructions().end();
        code.function(&function);
    }
    functions.section(&types).section(&declared).section(&code);
    let in_component = |module: &Module| {
        let mut component = Component::new();
        component.section(&ModuleSection(module));
        component.finish()
    };
    let mut nested = Component::new();
    for _ in 0..2_000 {
        let mut outer = Component::new();
        outer.section(&NestedComponentSection(&nested));
        nested = outer;
    }
    let mut deep = ComponentTypeSection::new();
    deep.defined_type().list(wasm_encoder::ComponentValType::Primitive(wasm_encoder::PrimitiveValType::U8));
    for inner in 0..10_000 {
        deep.defined_type().list(wasm_encoder::ComponentValType::Type(inner));
    }
    let mut lists = Component::new();
    lists.section(&deep);
    for (what, component) in [
        ("types", in_component(&huge)),
        ("functions", in_component(&functions)),
        ("components in components", nested.finish()),
        ("lists of lists", lists.finish()),
        ("sections", [&b"\0asm\x0d\0\x01\0"[..], &[0, 1, 0].repeat(100_001)].concat()),
    ] {
        let plugin = guest::with_manifest(component, &section());
        let began = Instant::now();
        let (read, valid) = (Files::new().read(&plugin).map(drop), wasmparser::validate(&plugin).map(drop));
        let took = began.elapsed();
        assert!(took < SOON, "{what} took {took:?}: {read:?} {valid:?}");
    }
}

/// Manifests that are small to write and large to hold.
#[test]
fn a37_a_manifest_that_is_a_bomb_is_refused() {
    let files = Files::new();
    let component = || guest::component("echo");
    let deep = format!("{{\"schema\":1,\"plugin\":{}", "[".repeat(MOST_BYTES / 2));
    let wide = format!("{{\"schema\":1,\"plugin\":[{}0]}}", "0,".repeat(MOST_BYTES / 4));
    let long = format!("{{\"schema\":1,\"plugin\":\"{}\"}}", "a".repeat(MOST_BYTES / 2));
    let large = vec![b' '; MOST_BYTES + 1];
    for (what, section) in [
        ("deep", deep.into_bytes()),
        ("wide", wide.into_bytes()),
        ("long", long.into_bytes()),
        ("large", large),
        ("none", vec![]),
    ] {
        let began = Instant::now();
        let refused = files.read(&guest::with_manifest(component(), &section)).map(drop).unwrap_err();
        assert!(refused.len() < 2500, "{what}: {} bytes are said of it", refused.len());
        assert!(began.elapsed() < SOON, "{what}");
    }
    for text in
        [format!("a = {}", "[".repeat(500_000)), format!("{} = 1", "a.".repeat(250_000)), "[a]\n".repeat(200_000)]
    {
        let began = Instant::now();
        let refused = Manifest::from_toml(&text, Inventory::default()).unwrap_err().to_string();
        assert!(refused.len() < 4000 && began.elapsed() < SOON, "{}", &refused[..200.min(refused.len())]);
    }
}
