//! Components from the WAT files: `prelude.wat` is put into each, and the canonical ABI around it.

use std::path::Path;

use wasm_encoder::{ComponentSection, CustomSection};
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::Resolve;

pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/guests");

const CALL: &str = r#"
  (func (export "aar:tool/tool@0.1.0#call") (param i32 i32) (param $at i32) (param $length i32)
    (param i32 i32 i32 i32 i64 i32 i32) (result i32)
    (call $run (local.get $at) (local.get $length)))
  (func (export "cabi_post_aar:tool/tool@0.1.0#call") (param i32)
    (global.set $free (i32.const 16384)))
"#;

/// For guests with a function `$decide` of the event and its payload.
const HANDLE: &str = r#"
  (func (export "aar:hooks/hooks@0.1.0#list-events") (result i32) (call $events))
  (func (export "aar:hooks/hooks@0.1.0#handle") (param $event i32) (param $event_length i32)
    (param i32 i32 i32 i32 i32) (param $at i32) (param $length i32) (param i32 i64 i32 i32) (result i32)
    (call $decide (local.get $event) (local.get $event_length) (local.get $at) (local.get $length)))
  (func (export "cabi_post_aar:hooks/hooks@0.1.0#handle") (param i32)
    (global.set $free (i32.const 16384)))
"#;

/// For guests that do not say what they offer.
const NO_TOOLS: &str = r#"
  (func (export "aar:tool/tool@0.1.0#list-tools") (result i32) (i32.const 0))
"#;

/// The component of a guest, without a manifest.
pub fn component(name: &str) -> Vec<u8> {
    let read = |name: &str| std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap();
    let (guest, prelude) = (read(&format!("{name}.wat")), read("prelude.wat"));
    let (world, exports) = match () {
        () if guest.contains("$decide") => ("hooks", HANDLE.to_owned()),
        () if guest.contains("#list-tools") => ("everything", CALL.to_owned()),
        () => ("tool", format!("{CALL}{NO_TOOLS}")),
    };
    let module = format!("(module\n{guest}{prelude}{exports})");
    let mut module = wat::parse_str(&module).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (resolve, package) = interfaces();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let encoder = ComponentEncoder::default().validate(true).module(&module).unwrap();
    encoder.reject_legacy_names(false).encode().unwrap_or_else(|error| panic!("{name}: {error:#}"))
}

/// `component` with `content` as its manifest, whatever it offers.
pub fn with_manifest(mut component: Vec<u8>, content: &[u8]) -> Vec<u8> {
    CustomSection { name: "aar:manifest".into(), data: content.into() }.append_to_component(&mut component);
    component
}

fn interfaces() -> (Resolve, wit_parser::PackageId) {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let mut resolve = Resolve::default();
    for name in ["io", "clocks", "random", "filesystem", "sockets", "cli", "http"] {
        resolve.push_file(wit.join(format!("deps/{name}.wit"))).unwrap();
    }
    for name in ["types", "host", "tool", "panel", "command", "hooks", "plugin", "plugin-wasi"] {
        resolve.push_file(wit.join(format!("{name}/{name}.wit"))).unwrap();
    }
    let package = resolve.push_file(Path::new(FOLDER).join("worlds.wit")).unwrap();
    (resolve, package)
}
