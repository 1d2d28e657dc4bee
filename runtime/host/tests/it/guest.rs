//! Components from the WAT files: `prelude.wat` is put into each, and the canonical ABI around it.

use std::path::Path;

use wasm_encoder::{
    ComponentExportKind, ComponentInstanceSection, ComponentSection, CustomSection, InstanceSection, ModuleArg,
    RawSection,
};
use wasmparser::Payload;
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

/// For guests with a function `$list` in the place of that.
const LIST: &str = r#"
  (func (export "aar:tool/tool@0.1.0#list-tools") (result i32) (call $list))
"#;

/// The component of a guest, without a manifest.
pub fn component(name: &str) -> Vec<u8> {
    let read = |name: &str| std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap();
    let (guest, prelude) = (read(&format!("{name}.wat")), read("prelude.wat"));
    // Those with a `$realloc` have it in the place of the usual one.
    let prelude = if guest.contains("$realloc") {
        prelude.replace("(call $alloc (local.get 3))", "(call $realloc (local.get 3))")
    } else {
        prelude
    };
    let (world, exports) = match () {
        () if guest.contains("$decide") => ("hooks", HANDLE.to_owned()),
        () if guest.contains("(func $list ") => ("tool", format!("{CALL}{LIST}")),
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

/// `component` with so many more core instances, each of a module with these `fields`.
pub fn crowded(mut component: Vec<u8>, fields: &str, instances: usize) -> Vec<u8> {
    /// The id of a component's section that is a core module.
    const CORE_MODULE: u8 = 1;
    let (mut depth, mut modules) = (0, 0);
    for payload in wasmparser::Parser::new(0).parse_all(&component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } => {
                modules += u32::from(depth == 0);
                depth += 1;
            }
            Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) if depth > 0 => depth -= 1,
            _ => {}
        }
    }
    let module = wat::parse_str(format!("(module {fields})")).unwrap();
    RawSection { id: CORE_MODULE, data: &module }.append_to_component(&mut component);
    let mut section = InstanceSection::new();
    for _ in 0..instances {
        section.instantiate(modules, std::iter::empty::<(&str, ModuleArg)>());
    }
    section.append_to_component(&mut component);
    component
}

/// `component` with another one in it, which is made together with it.
pub fn with_inner(mut component: Vec<u8>, inner: &str) -> Vec<u8> {
    /// The id of a component's section that is a component.
    const COMPONENT: u8 = 4;
    let (mut depth, mut components) = (0, 0);
    for payload in wasmparser::Parser::new(0).parse_all(&component) {
        match payload.unwrap() {
            Payload::ComponentSection { .. } => {
                components += u32::from(depth == 0);
                depth += 1;
            }
            Payload::ModuleSection { .. } => depth += 1,
            Payload::End(_) if depth > 0 => depth -= 1,
            _ => {}
        }
    }
    let inner = wat::parse_str(format!("(component {inner})")).unwrap();
    RawSection { id: COMPONENT, data: &inner }.append_to_component(&mut component);
    let mut section = ComponentInstanceSection::new();
    section.instantiate(components, std::iter::empty::<(&str, ComponentExportKind, u32)>());
    section.append_to_component(&mut component);
    component
}

/// `component` with a section that means nothing.
pub fn with_section(mut component: Vec<u8>, name: &str, data: Vec<u8>) -> Vec<u8> {
    CustomSection { name: name.into(), data: data.into() }.append_to_component(&mut component);
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
