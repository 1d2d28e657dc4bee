//! The files of the repository that are in the program, by their names there. `build.rs` collects them.

/// Names and texts, sorted by name.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/vendored.rs"));

/// The file of that name.
pub(super) fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// All files in a folder, by their names below it.
pub(super) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(name, text)| Some((name.strip_prefix(folder)?.strip_prefix('/')?, *text)))
}
