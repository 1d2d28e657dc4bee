//! Which language a file is in, and how that language writes comments and strings.
//!
//! A table, not a parser: enough to tell code from comments in well-formed files. Knows nothing about files on disk.

use std::path::Path;

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Language {
    /// As people call it.
    pub(crate) name: &'static str,
    extensions: &'static [&'static str],
    /// Whole file names, for files without a telling extension.
    files: &'static [&'static str],
    /// How to read it.
    pub(crate) syntax: &'static Syntax,
}

/// How a language writes what is not plain code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// What begins a comment up to the end of the line.
    pub(crate) line: &'static [&'static str],
    /// What begins and ends a comment over several lines.
    pub(crate) block: &'static [(&'static str, &'static str)],
    /// Whether such comments lie in one another.
    pub(crate) nested: bool,
    /// Texts, the longer beginnings first.
    pub(crate) strings: &'static [Text],
    /// Whether `'x'` is a character, so that the quotes in `'"'` begin no text.
    pub(crate) characters: bool,
}

/// One way to write a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// What begins it.
    pub(crate) begin: &'static str,
    /// What ends it.
    pub(crate) end: &'static str,
    /// Whether a backslash hides the end.
    pub(crate) escapes: bool,
    /// Whether it may go on in the next line.
    pub(crate) multiline: bool,
}

const fn line_text(quote: &'static str) -> Text {
    Text { begin: quote, end: quote, escapes: true, multiline: false }
}

const fn long_text(begin: &'static str, end: &'static str, escapes: bool) -> Text {
    Text { begin, end, escapes, multiline: true }
}

const DOUBLE: Text = line_text("\"");
const SINGLE: Text = line_text("'");
const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];

const PLAIN: Syntax = Syntax { line: &[], block: &[], nested: false, strings: &[], characters: false };
const C: Syntax = Syntax { line: &["//"], block: C_BLOCK, strings: &[DOUBLE], characters: true, ..PLAIN };
const ZIG: Syntax = Syntax { block: &[], ..C };
const JAVA: Syntax = Syntax { strings: &[long_text("\"\"\"", "\"\"\"", true), DOUBLE], ..C };
const KOTLIN: Syntax = Syntax { nested: true, ..JAVA };
const GO: Syntax = Syntax { strings: &[DOUBLE, long_text("`", "`", false)], ..C };
const RUST: Syntax = Syntax {
    nested: true,
    strings: &[long_text("r#\"", "\"#", false), long_text("r\"", "\"", false), long_text("\"", "\"", true)],
    ..C
};
const JAVASCRIPT: Syntax = Syntax { strings: &[DOUBLE, SINGLE, long_text("`", "`", true)], characters: false, ..C };
const PHP: Syntax = Syntax { line: &["//", "#"], strings: &[DOUBLE, SINGLE], characters: false, ..C };
const CSS: Syntax = Syntax { block: C_BLOCK, strings: &[DOUBLE, SINGLE], ..PLAIN };
const SCSS: Syntax = Syntax { line: &["//"], ..CSS };
const HASH: Syntax = Syntax { line: &["#"], strings: &[DOUBLE, SINGLE], ..PLAIN };
const SHELL: Syntax = Syntax { strings: &[long_text("\"", "\"", true), long_text("'", "'", false)], ..HASH };
const PYTHON: Syntax =
    Syntax { strings: &[long_text("\"\"\"", "\"\"\"", true), long_text("'''", "'''", true), DOUBLE, SINGLE], ..HASH };
const TOML: Syntax =
    Syntax { strings: &[long_text("\"\"\"", "\"\"\"", true), long_text("'''", "'''", false), DOUBLE, SINGLE], ..HASH };
const RUBY: Syntax = Syntax { block: &[("=begin", "=end")], ..HASH };
const PERL: Syntax = Syntax { block: &[("=pod", "=cut")], ..HASH };
const POWERSHELL: Syntax = Syntax { block: &[("<#", "#>")], ..HASH };
const JULIA: Syntax = Syntax { block: &[("#=", "=#")], nested: true, strings: &[DOUBLE], ..HASH };
const NIX: Syntax = Syntax { block: C_BLOCK, strings: &[DOUBLE, long_text("''", "''", false)], ..HASH };
const HCL: Syntax = Syntax { line: &["#", "//"], block: C_BLOCK, strings: &[DOUBLE], ..PLAIN };
const MARKUP: Syntax = Syntax { block: &[("<!--", "-->")], ..PLAIN };
const DASH: Syntax = Syntax { line: &["--"], strings: &[DOUBLE], ..PLAIN };
const SQL: Syntax = Syntax { block: C_BLOCK, strings: &[long_text("'", "'", false), DOUBLE], ..DASH };
const LUA: Syntax =
    Syntax { block: &[("--[[", "]]")], strings: &[DOUBLE, SINGLE, long_text("[[", "]]", false)], ..DASH };
const HASKELL: Syntax = Syntax { block: &[("{-", "-}")], nested: true, characters: true, ..DASH };
const ML: Syntax = Syntax { block: &[("(*", "*)")], nested: true, strings: &[DOUBLE], characters: true, ..PLAIN };
const FSHARP: Syntax = Syntax { line: &["//"], ..ML };
const LISP: Syntax = Syntax { line: &[";"], strings: &[long_text("\"", "\"", true)], ..PLAIN };
const SCHEME: Syntax = Syntax { block: &[("#|", "|#")], nested: true, ..LISP };
const ERLANG: Syntax = Syntax { line: &["%"], strings: &[DOUBLE], ..PLAIN };
const FORTRAN: Syntax = Syntax { line: &["!"], strings: &[DOUBLE, SINGLE], ..PLAIN };
const VIM: Syntax = Syntax { line: &["\""], ..PLAIN };
const BATCH: Syntax = Syntax { line: &["REM ", "rem ", "::"], ..PLAIN };
const ASSEMBLY: Syntax = Syntax { line: &[";", "#"], strings: &[DOUBLE], ..PLAIN };
const INI: Syntax = Syntax { line: &[";", "#"], ..PLAIN };
const WAT: Syntax = Syntax { line: &[";;"], block: &[("(;", ";)")], nested: true, strings: &[DOUBLE], ..PLAIN };

/// A language that is known by its extensions.
const fn of(name: &'static str, extensions: &'static [&'static str], syntax: &'static Syntax) -> Language {
    Language { name, extensions, files: &[], syntax }
}

/// The same language, known by whole file names as well.
const fn named(language: Language, files: &'static [&'static str]) -> Language {
    Language { files, ..language }
}

/// Every language that is known, by name.
static LANGUAGES: &[Language] = &[
    of("Assembly", &["asm", "s"], &ASSEMBLY),
    of("AsciiDoc", &["adoc", "asciidoc"], &PLAIN),
    of("Batch", &["bat", "cmd"], &BATCH),
    of("C", &["c"], &C),
    of("C Header", &["h"], &C),
    of("C#", &["cs"], &C),
    of("C++", &["cc", "cpp", "cxx", "c++"], &C),
    of("C++ Header", &["hh", "hpp", "hxx"], &C),
    of("Clojure", &["clj", "cljs", "cljc", "edn"], &LISP),
    named(of("CMake", &["cmake"], &HASH), &["CMakeLists.txt"]),
    of("CSS", &["css"], &CSS),
    of("D", &["d"], &C),
    of("Dart", &["dart"], &JAVASCRIPT),
    named(of("Dockerfile", &["dockerfile"], &HASH), &["Dockerfile", "Containerfile"]),
    of("Elixir", &["ex", "exs"], &PYTHON),
    of("Elm", &["elm"], &HASKELL),
    of("Emacs Lisp", &["el"], &LISP),
    of("Erlang", &["erl", "hrl"], &ERLANG),
    of("F#", &["fs", "fsi", "fsx"], &FSHARP),
    of("Fish", &["fish"], &SHELL),
    of("Fortran", &["f90", "f95", "f03", "f08"], &FORTRAN),
    of("GLSL", &["glsl", "vert", "frag"], &C),
    of("Go", &["go"], &GO),
    of("GraphQL", &["graphql", "gql"], &PYTHON),
    of("Groovy", &["groovy", "gradle"], &JAVASCRIPT),
    of("Haskell", &["hs"], &HASKELL),
    of("HCL", &["hcl", "tf", "tfvars"], &HCL),
    of("HTML", &["html", "htm", "xhtml"], &MARKUP),
    of("INI", &["ini", "cfg", "properties"], &INI),
    of("Java", &["java"], &JAVA),
    of("JavaScript", &["js", "mjs", "cjs"], &JAVASCRIPT),
    of("JSON", &["json", "jsonl", "webmanifest"], &PLAIN),
    of("JSON with Comments", &["jsonc", "json5"], &JAVASCRIPT),
    of("JSX", &["jsx"], &JAVASCRIPT),
    of("Julia", &["jl"], &JULIA),
    named(of("Just", &["just"], &HASH), &["justfile", "Justfile"]),
    of("Kotlin", &["kt", "kts"], &KOTLIN),
    of("Less", &["less"], &SCSS),
    of("Lua", &["lua"], &LUA),
    named(of("Makefile", &["mk", "mak"], &HASH), &["Makefile", "makefile", "GNUmakefile"]),
    of("Markdown", &["md", "markdown", "mdx"], &MARKUP),
    named(of("Meson", &[], &PYTHON), &["meson.build", "meson_options.txt"]),
    of("Nim", &["nim"], &PYTHON),
    of("Nix", &["nix"], &NIX),
    of("Objective-C", &["m", "mm"], &C),
    of("OCaml", &["ml", "mli"], &ML),
    of("Perl", &["pl", "pm"], &PERL),
    of("PHP", &["php"], &PHP),
    of("PowerShell", &["ps1", "psm1", "psd1"], &POWERSHELL),
    of("Protocol Buffers", &["proto"], &C),
    of("Python", &["py", "pyi", "pyw"], &PYTHON),
    of("R", &["r"], &HASH),
    of("reStructuredText", &["rst"], &PLAIN),
    named(of("Ruby", &["rb", "rake", "gemspec"], &RUBY), &["Rakefile", "Gemfile"]),
    of("Rust", &["rs"], &RUST),
    of("Scala", &["scala", "sc"], &KOTLIN),
    of("Scheme", &["scm", "ss", "rkt"], &SCHEME),
    of("SCSS", &["scss", "sass"], &SCSS),
    of("Shell", &["sh", "bash", "zsh", "ksh"], &SHELL),
    of("Solidity", &["sol"], &JAVASCRIPT),
    of("SQL", &["sql"], &SQL),
    of("Svelte", &["svelte"], &MARKUP),
    of("SVG", &["svg"], &MARKUP),
    of("Swift", &["swift"], &KOTLIN),
    of("Tcl", &["tcl"], &HASH),
    of("TOML", &["toml"], &TOML),
    of("TSX", &["tsx"], &JAVASCRIPT),
    of("TypeScript", &["ts", "mts", "cts"], &JAVASCRIPT),
    of("Vim Script", &["vim"], &VIM),
    of("Vue", &["vue"], &MARKUP),
    of("WebAssembly", &["wat", "wast"], &WAT),
    of("WGSL", &["wgsl"], &KOTLIN),
    of("WIT", &["wit"], &C),
    of("XML", &["xml", "xsd", "xsl", "plist"], &MARKUP),
    of("YAML", &["yaml", "yml"], &HASH),
    of("Zig", &["zig"], &ZIG),
];

/// The language of a file, by its name alone. None where it is not known, as for images.
pub(crate) fn of_path(path: &Path) -> Option<&'static Language> {
    let name = path.file_name()?.to_str()?;
    let by_name = LANGUAGES.iter().find(|language| language.files.contains(&name));
    by_name.or_else(|| {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        LANGUAGES.iter().find(|language| language.extensions.contains(&extension.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn by_name() {
        for (path, expected) in [
            ("src/lib.rs", Some("Rust")),
            ("A.RS", Some("Rust")),
            ("Makefile", Some("Makefile")),
            ("CMakeLists.txt", Some("CMake")),
            ("Dockerfile", Some("Dockerfile")),
            ("a/b.d.ts", Some("TypeScript")),
            ("logo.png", None),
            ("README", None),
            (".gitignore", None),
        ] {
            assert_eq!(of_path(Path::new(path)).map(|language| language.name), expected, "{path}");
        }
    }

    #[test]
    fn no_extension_belongs_to_two_languages() {
        let mut seen = BTreeSet::new();
        for extension in LANGUAGES.iter().flat_map(|language| language.extensions) {
            assert!(seen.insert(extension), "{extension}");
        }
    }

    #[test]
    fn longer_beginnings_come_first() {
        for language in LANGUAGES {
            for (index, text) in language.syntax.strings.iter().enumerate() {
                let earlier = language.syntax.strings.iter().take(index);
                assert!(
                    earlier.clone().all(|other| !text.begin.starts_with(other.begin)),
                    "{}: {} is never reached",
                    language.name,
                    text.begin
                );
            }
        }
    }
}
