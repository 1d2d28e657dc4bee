//! The `Cargo.lock` of a new project: of what this program was itself locked to, all that the SDK needs.
//!
//! So a plugin is first built with versions that are known to work with it, whatever has been published since.

use std::collections::{BTreeSet, HashMap};

use toml::{Table, Value};

/// The crates of the SDK, and those that only a project's tests name.
const NEEDED: [&str; 4] = ["acp-plugin", "schemars", "serde", "serde_json"];

/// The lock of a project whose package has that name; the error says what is odd about the lock that it comes from.
pub(super) fn lock(package: &str, whole: &str) -> Result<String, String> {
    let whole: Table = whole.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let packages = whole.get("package").and_then(Value::as_array).ok_or("it has no packages")?;
    let mut named: HashMap<&str, Vec<&Table>> = HashMap::new();
    for package in packages.iter().filter_map(Value::as_table) {
        let name = package.get("name").and_then(Value::as_str).ok_or("a package has no name")?;
        named.entry(name).or_default().push(package);
    }
    // A dependency is `name`, or `name version` where there are several of that name.
    let find = |dependency: &str| {
        let (name, version) = dependency.split_once(' ').map_or((dependency, None), |(name, rest)| (name, Some(rest)));
        let of_name = named.get(name).map(Vec::as_slice).unwrap_or_default();
        let is_it = |package: &&Table| version.is_none() || package.get("version").and_then(Value::as_str) == version;
        of_name.iter().copied().find(is_it).ok_or_else(|| format!("it has no `{dependency}`"))
    };
    let sdk = find(NEEDED[0])?;
    let direct: Vec<&str> = dependencies(sdk).collect();
    let own = |needed: &str| direct.iter().copied().find(|it| it.split(' ').next() == Some(needed));
    let mut roots: Vec<Value> = vec![NEEDED[0].into()];
    for needed in NEEDED.iter().skip(1) {
        roots.push(own(needed).ok_or_else(|| format!("the SDK has no `{needed}`"))?.into());
    }
    let mut waiting: Vec<&str> = vec![NEEDED[0]];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut kept: Vec<&Table> = Vec::new();
    while let Some(dependency) = waiting.pop() {
        if seen.insert(dependency) {
            let package = find(dependency)?;
            if !kept.contains(&package) {
                kept.push(package);
            }
            waiting.extend(dependencies(package));
        }
    }
    let mut project = Table::new();
    project.insert("name".to_owned(), package.into());
    project.insert("version".to_owned(), "0.1.0".into());
    project.insert("dependencies".to_owned(), Value::Array(roots));
    let mut all: Vec<Table> = kept.into_iter().cloned().chain([project]).collect();
    let key = |package: &Table| ["name", "version"].map(|key| package.get(key).map(ToString::to_string));
    all.sort_by_key(key);
    let mut lock = Table::new();
    lock.insert("version".to_owned(), whole.get("version").cloned().unwrap_or(Value::Integer(4)));
    lock.insert("package".to_owned(), all.into_iter().map(Value::Table).collect::<Vec<_>>().into());
    toml::to_string(&lock).map_err(|error| error.to_string())
}

fn dependencies(package: &Table) -> impl Iterator<Item = &str> {
    package.get("dependencies").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_lock_all_that_the_sdk_needs_is_kept() {
        let package = |name: &str, version: &str, needs: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [{needs}]\n")
        };
        let whole = [
            "version = 4\n".to_owned(),
            package("acp-plugin", "0.1.0", r#""schemars 1.2.3", "serde", "serde_json""#),
            package("schemars", "0.9.0", ""),
            package("schemars", "1.2.3", r#""serde""#),
            package("serde", "1.0.1", ""),
            package("serde_json", "1.0.2", r#""itoa", "serde""#),
            package("itoa", "1.0.3", ""),
            package("wasmtime", "48.0.8", ""),
        ];
        let locked: Table = lock("me-greet", &whole.concat()).unwrap().parse().unwrap();
        let names: Vec<String> = locked["package"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| format!("{} {}", it["name"].as_str().unwrap(), it["version"].as_str().unwrap()))
            .collect();
        let expected =
            ["acp-plugin 0.1.0", "itoa 1.0.3", "me-greet 0.1.0", "schemars 1.2.3", "serde 1.0.1", "serde_json 1.0.2"];
        assert_eq!(names, expected);
        assert!(lock("me-greet", "version = 4").is_err());
    }
}
