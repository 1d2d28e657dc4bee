//! What servers and their tools are called: names that models, settings and people can write, each one unique.

use std::collections::HashSet;

use acp_runtime_agent::capability::{ServerName, ToolName};

/// Characters of a name.
const MOST: usize = 64;
/// Characters of a server's part, so that enough is left for its tools.
const SERVER: usize = 32;

/// The name of a server for settings and tools: letters, digits, `-` and single `_`, none of them at an end, so that
/// `mcp__server__tool` is read in one way only.
pub(super) fn server(name: &str, taken: &HashSet<ServerName>) -> Option<ServerName> {
    let words: Vec<String> = plain(name).split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let joined = words.join("_");
    let free = |text: &str| ServerName::new(text).ok().filter(|name| !taken.contains(name));
    let fits = !joined.is_empty() && joined.len() <= SERVER;
    fits.then(|| free(&joined)).flatten().or_else(|| free(&shortened(&joined, SERVER, name)))
}

/// The names of one server's tools: of each the name within the server, and the one for the model. A tool whose own
/// name is valid keeps it, whatever the others are called.
pub(super) fn tools<'a>(server: &ServerName, names: &[&'a str]) -> Vec<(&'a str, ToolName, ToolName)> {
    let mut taken: HashSet<ToolName> = HashSet::new();
    let mut named: Vec<Option<(ToolName, ToolName)>> = vec![None; names.len()];
    for exact in [true, false] {
        for (name, place) in names.iter().zip(&mut named) {
            let plain = plain(name);
            if place.is_none() && (plain == *name) == exact {
                let short = unique(&plain, name, &taken);
                *place = short.and_then(|short| Some((short.clone(), for_model(server, short.as_str(), name)?)));
                taken.extend(place.iter().map(|(short, _)| short.clone()));
            }
        }
    }
    let pairs = names.iter().zip(named);
    pairs.filter_map(|(name, place)| place.map(|(short, full)| (*name, short, full))).collect()
}

fn unique(plain: &str, name: &str, taken: &HashSet<ToolName>) -> Option<ToolName> {
    let free = |text: &str| ToolName::new(text).ok().filter(|name| !taken.contains(name));
    free(plain).or_else(|| free(&shortened(plain, MOST, name)))
}

fn for_model(server: &ServerName, short: &str, name: &str) -> Option<ToolName> {
    let full = format!("mcp__{}__{short}", server.as_str());
    let full = if full.len() <= MOST { full } else { shortened(&full, MOST, name) };
    ToolName::new(full).ok()
}

/// At most `most` characters of `plain`, the last of them a mark of what it was made from.
fn shortened(plain: &str, most: usize, original: &str) -> String {
    // FNV-1a: the same mark in every version, since remembered answers hold these names.
    let hash = original.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mark = format!("{hash:08x}");
    let kept = plain.get(..plain.len().min(most - mark.len() - 1)).unwrap_or_default().trim_end_matches('_');
    if kept.is_empty() { mark } else { format!("{kept}_{mark}") }
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn servers_have_plain_names() {
        let mut taken = HashSet::new();
        let mut table = String::new();
        for name in ["files", "My Files!", "my_files", "a__b", "a_b", "_", "", "日本", "@scope/server", &"x".repeat(40)]
        {
            let named = server(name, &taken).expect("a name");
            let _ = writeln!(table, "{name:?} {named}");
            assert!(taken.insert(named), "{name}");
        }
        expect![[r#"
            "files" files
            "My Files!" My_Files
            "my_files" my_files
            "a__b" a_b
            "a_b" a_b_1ba46871
            "_" da0c196e
            "" 811c9dc5
            "日本" 9f26ee51
            "@scope/server" scope_server
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" xxxxxxxxxxxxxxxxxxxxxxx_84ae4e65
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn tools_have_names_for_the_model() {
        let files = ServerName::new("files").unwrap();
        let long = "get_".repeat(20);
        let longer = format!("{long}x");
        let names = ["read.file", "read_file", "read/file", "list", "", &long, &longer];
        let mut table = String::new();
        for (name, short, full) in tools(&files, &names) {
            assert!(full.as_str().starts_with("mcp__files__"));
            let _ = writeln!(table, "{name} {short} {full}");
        }
        expect![[r#"
            read.file read_file_2d6f0437 mcp__files__read_file_2d6f0437
            read_file read_file mcp__files__read_file
            read/file read_file_e53a8158 mcp__files__read_file_e53a8158
            list list mcp__files__list
             811c9dc5 mcp__files__811c9dc5
            get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_ get_get_get_get_get_get_get_get_get_get_get_get_get_get_c3d4176d mcp__files__get_get_get_get_get_get_get_get_get_get_get_c3d4176d
            get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_get_x get_get_get_get_get_get_get_get_get_get_get_get_get_get_5be0560f mcp__files__get_get_get_get_get_get_get_get_get_get_get_5be0560f
        "#]].assert_eq(&table);
    }

    #[test]
    fn long_names_of_servers_and_tools_fit_together() {
        let server = server(&"server-".repeat(10), &HashSet::new()).unwrap();
        let [a, b] = [format!("{}a", "tool-".repeat(12)), format!("{}b", "tool-".repeat(12))];
        let named = tools(&server, &[&a, &b]);
        assert!(named.iter().all(|(.., full)| full.as_str().len() <= 64), "{named:?}");
        assert_ne!(named[0].2, named[1].2);
    }
}
