//! The WIT packages: they resolve together, and keep the rules in `wit/README.md`.
#![expect(clippy::disallowed_methods, reason = "reads the project's own WIT files")]

use std::path::{Path, PathBuf};

use wit_parser::{Interface, PackageName, Resolve, Type, TypeDefKind, TypeOwner, UnresolvedPackageGroup, WorldItem};

/// Every package below `wit/`: each folder is one, and so is each file in `wit/deps`.
fn sources() -> Vec<PathBuf> {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let folders = entries(&wit).into_iter().filter(|path| path.is_dir() && !path.ends_with("deps"));
    let vendored = entries(&wit.join("deps")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "wit"));
    let mut sources: Vec<_> = folders.chain(vendored).collect();
    sources.sort();
    sources
}

fn parsed(source: &Path) -> UnresolvedPackageGroup {
    if source.is_dir() {
        return UnresolvedPackageGroup::parse_dir(source).unwrap_or_else(|error| panic!("{error:#}"));
    }
    let text = std::fs::read_to_string(source).unwrap();
    UnresolvedPackageGroup::parse(source, &text).unwrap_or_else(|(sources, error)| panic!("{}", error.render(&sources)))
}

pub(crate) fn resolved() -> Resolve {
    let mut resolve = Resolve::default();
    let (mains, others): (Vec<_>, Vec<_>) = sources().into_iter().partition(|source| source.ends_with("plugin-wasi"));
    let main = parsed(&mains[0]);
    let others = others.iter().map(|source| parsed(source)).collect();
    resolve.push_groups(main, others).unwrap_or_else(|error| panic!("{}", error.render(&resolve.source_map)));
    resolve
}

fn is_ours(name: &PackageName) -> bool {
    name.namespace == "aar"
}

fn our_interfaces(resolve: &Resolve) -> impl Iterator<Item = (String, &Interface)> {
    resolve.interfaces.iter().filter_map(|(_, interface)| {
        let package = &resolve.packages[interface.package?].name;
        is_ours(package).then(|| (format!("{package} {}", interface.name.as_deref().unwrap_or_default()), interface))
    })
}

#[test]
fn all_packages_resolve_together() {
    let resolve = resolved();
    let names: Vec<_> = resolve.packages.iter().map(|(_, package)| package.name.to_string()).collect();
    assert_eq!(names.len(), sources().len(), "{names:?}");
    for name in ["aar:tool@0.1.0", "aar:host@0.1.0", "aar:plugin@0.1.0", "wasi:filesystem@0.2.12"] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
}

#[test]
fn every_record_ends_with_room_to_grow() {
    let resolve = resolved();
    let mut records = 0;
    for (_, definition) in &resolve.types {
        let (TypeDefKind::Record(record), TypeOwner::Interface(interface)) = (&definition.kind, definition.owner)
        else {
            continue;
        };
        let package = resolve.interfaces[interface].package.unwrap();
        if is_ours(&resolve.packages[package].name) {
            records += 1;
            let last = record.fields.last().map(|field| field.name.as_str());
            assert_eq!(last, Some("extra"), "{:?}", definition.name);
        }
    }
    assert!(records > 10, "only {records} records were seen");
}

#[test]
fn nothing_is_closed_that_may_have_to_grow() {
    let resolve = resolved();
    for (name, interface) in our_interfaces(&resolve) {
        for (of, id) in &interface.types {
            let kind = &resolve.types[*id].kind;
            let closed = matches!(kind, TypeDefKind::Enum(_) | TypeDefKind::Variant(_) | TypeDefKind::Flags(_));
            assert!(!closed, "{name}: {of}");
        }
    }
}

#[test]
fn everything_is_described() {
    let resolve = resolved();
    for (name, interface) in our_interfaces(&resolve) {
        assert!(!interface.docs.is_empty(), "{name}");
        for (function, definition) in &interface.functions {
            assert!(!definition.docs.is_empty(), "{name}: {function}");
        }
        for (of, id) in &interface.types {
            let definition = &resolve.types[*id];
            let used_from_elsewhere = matches!(definition.kind, TypeDefKind::Type(Type::Id(_)));
            assert!(used_from_elsewhere || !definition.docs.is_empty(), "{name}: {of}");
        }
    }
    for (_, world) in &resolve.worlds {
        let package = &resolve.packages[world.package.unwrap()].name;
        assert!(!is_ours(package) || !world.docs.is_empty(), "{package} {}", world.name);
    }
}

#[test]
fn the_world_with_wasi_has_both_halves() {
    let resolve = resolved();
    let with_wasi = |package: &PackageName| package.name == "plugin-wasi";
    let mut worlds = resolve.worlds.iter().map(|(_, world)| world);
    let world = worlds.find(|world| with_wasi(&resolve.packages[world.package.unwrap()].name)).unwrap();
    let interfaces = world.imports.values().filter_map(|item| match item {
        WorldItem::Interface { id, .. } => resolve.id_of(*id),
        _ => None,
    });
    let imports: Vec<String> = interfaces.collect();
    for name in ["aar:host/kv@0.1.0", "wasi:filesystem/preopens@0.2.12"] {
        assert!(imports.iter().any(|import| import == name), "{name} is not among {imports:?}");
    }
}
