//! The hash of what a plugin asks for.

use super::Digest;
use crate::manifest::Manifest;

/// One hash of all rights that a manifest asks for, in whatever order it does: the SHA-256 of their lines, sorted, as
/// people are shown them. It is in packages, in what was installed and in what was answered about a plugin; whoever
/// compares it knows whether something was added, taken out, narrowed or widened. Reasons are no part of it.
pub fn capability_hash(manifest: &Manifest) -> Digest {
    let mut lines: Vec<String> = manifest.capabilities.iter().map(ToString::to_string).collect();
    lines.sort_unstable();
    Digest::of(lines.join("\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Inventory;

    fn hash(capabilities: &str) -> Digest {
        let about = "id = \"a:b\"\nversion = \"0.1.0\"\ntitle = \"T\"\ndescription = \"D\"\nlicense = \"MIT\"";
        let toml = format!("{about}\n[capabilities]\n{capabilities}");
        capability_hash(&Manifest::from_toml(&toml, Inventory::default()).unwrap())
    }

    #[test]
    fn it_changes_with_what_is_asked_for_and_with_nothing_else() {
        let one = hash("kv = { reason = \"a\" }\nfs.write = [{ glob = \"n/**\", reason = \"a\" }]");
        assert_eq!(one, hash("fs.write = [{ glob = \"n/**\", reason = \"b\" }]\nkv = { reason = \"c\" }"));
        for other in [
            "fs.write = [{ glob = \"n/**\", reason = \"a\" }]",
            "kv = { reason = \"a\" }\nfs.write = [{ glob = \"**\", reason = \"a\" }]",
            "kv = { reason = \"a\" }\nfs.read = [{ glob = \"n/**\", reason = \"a\" }]",
            "kv = { reason = \"a\" }\nfs.write = [{ glob = \"n/**\", reason = \"a\", preopen = true }]",
        ] {
            assert_ne!(one, hash(other), "{other}");
        }
        assert_eq!(hash(""), Digest::of(b""));
    }
}
