//! Patterns over effects, as people write them on a command line or in a configuration: `run`, `write:notes/**`.

use std::fmt;
use std::str::FromStr;

use globset::{Glob, GlobMatcher};

use super::glob::{escaped, in_braces};
use super::path::or_dot;
use super::{
    Effect, Grant, HostPattern, NetRequest, PathError, PathGlob, PathScope, RunPattern, Touched, WorkspacePath,
};
use crate::plain;

/// What somebody types at most, in bytes.
const MOST_TYPED: usize = 200;

/// Effects of one class, or of all. Written `class` or `class:pattern`; what a pattern is depends on the class:
///
/// | class | pattern |
/// |---|---|
/// | `read` `write` `delete` `move` | a path or glob of the workspace: `notes/**` |
/// | `run` | a program and its arguments, `*` for one and a last `**` for the rest: `cargo test **` |
/// | `fetch` | `scheme://host[:port][/path]`, the host exact, `*.suffix` or `*` |
/// | `secret` | a glob over the name |
/// | `plugin` `server` | a glob over the name, for all its tools, or over `plugin tool` and `server tool` |
/// | `kv` `data` `tmp` `session` `prompt` `all` | none |
#[derive(Debug, Clone)]
pub struct EffectPattern {
    text: String,
    class: Option<&'static str>,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Whole,
    Paths(PathGlob),
    Host(HostPattern),
    Program(RunPattern),
    Name(GlobMatcher),
}

/// Why a text is not an [`EffectPattern`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EffectPatternError {
    /// The word before the colon.
    #[error("`{0}` is not a class of effects: expected one of `all`, `{known}`", known = CLASSES.join("`, `"))]
    Class(String),
    /// A pattern where the class has none.
    #[error("`{class}` takes no pattern: write just `{class}` instead of `{class}:{pattern}`")]
    NoPattern {
        /// The class.
        class: &'static str,
        /// What came after the colon.
        pattern: String,
    },
    /// A broken path or host.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A broken name or command line.
    #[error("`{0}` is not a valid pattern: {1}")]
    Malformed(String, String),
}

/// The classes of effects, as patterns and the audit name them.
pub const CLASSES: [&str; 14] = [
    "read", "write", "delete", "move", "run", "fetch", "secret", "plugin", "server", "session", "kv", "data", "tmp",
    "prompt",
];

impl EffectPattern {
    /// Parses `class` or `class:pattern`.
    pub fn parse(text: &str) -> Result<Self, EffectPatternError> {
        Self::parse_with(text, PathGlob::parse)
    }

    /// [`EffectPattern::parse`], where small letters and capitals are the same in a path, and a path means itself alone.
    pub fn parse_in_any_case(text: &str) -> Result<Self, EffectPatternError> {
        Self::parse_with(text, PathGlob::parse_in_any_case)
    }

    fn parse_with(text: &str, glob: fn(&str) -> Result<PathGlob, PathError>) -> Result<Self, EffectPatternError> {
        // Nothing has a name that begins or ends so, and a prohibition that can hold for nothing is none.
        let text = text.trim();
        let (word, pattern) = match text.split_once(':') {
            Some((word, pattern)) => (word, Some(pattern.trim_start())),
            None => (text, None),
        };
        let class = CLASSES.into_iter().find(|known| *known == word);
        let shown = class.unwrap_or("all");
        if class.is_none() && word != "all" {
            return Err(EffectPatternError::Class(word.chars().take(80).collect()));
        }
        let form = match (class, pattern) {
            (_, None) => Form::Whole,
            (Some("read" | "write" | "delete" | "move"), Some(pattern)) => Form::Paths(glob(pattern)?),
            (Some("fetch"), Some(pattern)) => Form::Host(HostPattern::parse(pattern)?),
            (Some("run"), Some(pattern)) => Form::Program(program(pattern)?),
            (Some("secret" | "plugin" | "server"), Some(pattern)) => Form::Name(name(pattern)?),
            (_, Some(pattern)) => {
                let pattern = pattern.chars().take(80).collect();
                return Err(EffectPatternError::NoPattern { class: shown, pattern });
            }
        };
        Ok(Self { text: text.to_owned(), class, form })
    }

    /// Every effect.
    pub fn everything() -> Self {
        Self { text: "all".to_owned(), class: None, form: Form::Whole }
    }

    /// The narrowest pattern that people can type for `effect`: of just that, where it can be written, else of its class.
    pub fn exactly(effect: &Effect) -> Self {
        let class = effect.class();
        let written = written(effect).into_iter().map(|pattern| format!("{class}:{pattern}"));
        let typeable = |text: &String| text.len() <= MOST_TYPED && plain::name(text) == *text;
        let exact = written.filter(typeable).find_map(|text| Self::parse(&text).ok().filter(|it| it.covers(effect)));
        exact.unwrap_or_else(|| Self { text: class.to_owned(), class: Some(class), form: Form::Whole })
    }

    /// Whether all of `effect` surely belongs to it: what an allowance needs.
    pub fn covers(&self, effect: &Effect) -> bool {
        if self.class.is_some_and(|class| class != effect.class()) {
            return false;
        }
        match (&self.form, effect) {
            (Form::Whole, _) => true,
            (Form::Paths(glob), effect) => match effect.touched() {
                Touched::Scope(scope) => glob.covers(&scope.glob),
                Touched::Places { from, to } => glob.matches(from.as_str()) && glob.matches(to.as_str()),
                Touched::Nothing => false,
            },
            (Form::Host(host), Effect::Fetch(request)) => host.matches(request),
            (Form::Program(pattern), Effect::Run(line)) => pattern.matches(line),
            (Form::Name(glob), Effect::CallPlugin(plugin, _)) if glob.is_match(plugin.to_string()) => true,
            (Form::Name(glob), Effect::CallServer { server, .. }) if glob.is_match(server.to_string()) => true,
            (Form::Name(glob), effect) => glob.is_match(effect.key()),
            (Form::Host(_) | Form::Program(_), _) => false,
        }
    }

    /// Whether some of `effect` may belong to it, as far as single paths tell: what a prohibition needs. It is never less
    /// than what the same pattern covers, and more where it can be read in several ways: what lies below a path, a command
    /// with further options, a plugin without its namespace. A whole folder with forbidden paths in it is not forbidden:
    /// its entries are judged one by one. A program that runs others is forbidden with any program: what it runs is not
    /// told.
    pub fn touches(&self, effect: &Effect) -> bool {
        if self.class.is_some_and(|class| class != effect.class()) {
            return false;
        }
        match (&self.form, effect) {
            (Form::Whole, _) => true,
            (Form::Paths(glob), effect) => match effect.touched() {
                Touched::Scope(scope) => glob.bars(&scope.glob),
                Touched::Places { from, to } => glob.bars_path(from.as_str()) || glob.bars_path(to.as_str()),
                Touched::Nothing => false,
            },
            (Form::Host(host), Effect::Fetch(request)) => host.touches(request),
            (Form::Program(pattern), Effect::Run(line)) => line.is_opaque() || pattern.touches(line),
            (Form::Name(glob), effect) => names(effect).iter().any(|name| glob.is_match(name)),
            (Form::Host(_) | Form::Program(_), _) => false,
        }
    }

    /// [`EffectPattern::touches`], and of a whole folder also whether anything in it may belong to it: what a
    /// prohibition needs where the entries of a folder are not judged one by one.
    pub fn may_touch(&self, effect: &Effect) -> bool {
        let inside = |scope: &PathScope| match &self.form {
            Form::Paths(glob) => glob.may_meet(&scope.glob),
            Form::Whole | Form::Host(_) | Form::Program(_) | Form::Name(_) => false,
        };
        let of_class = self.class.is_none_or(|class| class == effect.class());
        (of_class && effect.scope().is_some_and(inside)) || self.touches(effect)
    }

    /// Whether there may be an effect in both.
    pub fn meets(&self, other: &Self) -> bool {
        if self.class.is_some() && other.class.is_some() && self.class != other.class {
            return false;
        }
        match (&self.form, &other.form) {
            (Form::Whole, _) | (_, Form::Whole) => true,
            (Form::Paths(one), Form::Paths(other)) => one.may_meet(other),
            // Two names, hosts or commands that differ may both mean a third.
            (_, _) => true,
        }
    }

    /// Whether `right` may be a right to something that belongs to it.
    pub fn may_need(&self, right: &Grant) -> bool {
        let of_class = |classes: &[&str]| self.class.is_none_or(|class| classes.contains(&class));
        let of_paths = |glob: &PathGlob| match &self.form {
            Form::Paths(own) => own.may_meet(glob),
            Form::Whole | Form::Host(_) | Form::Program(_) | Form::Name(_) => true,
        };
        match right {
            Grant::Read(glob) => of_class(&["read"]) && of_paths(glob),
            Grant::Write(glob) => of_class(&["write", "delete", "move"]) && of_paths(glob),
            Grant::Net(_) => of_class(&["fetch"]),
            Grant::Secret(right) => {
                of_class(&["secret"]) && (self.class.is_none() || self.touches(&Effect::UseSecret(right.name.clone())))
            }
            Grant::Run(_) => of_class(&["run"]),
            Grant::Kv => of_class(&["kv"]),
            Grant::OwnFiles(folder) => of_class(&[folder.as_str()]),
            Grant::ReadSession => of_class(&["session"]),
            Grant::Prompt => of_class(&["prompt"]),
            // Events are subscribed to when a session begins.
            Grant::Hook(_) => false,
        }
    }

    /// Whether it is about all effects of its class.
    pub fn is_whole(&self) -> bool {
        matches!(self.form, Form::Whole)
    }

    /// The class of the effects; none for all of them.
    pub fn class(&self) -> Option<&'static str> {
        self.class
    }
}

/// All that people may call what the effect is about.
fn names(effect: &Effect) -> Vec<String> {
    match effect {
        Effect::CallPlugin(plugin, tool) => {
            let plugins = [plugin.as_str(), plugin.name()];
            plugins.into_iter().flat_map(|plugin| [plugin.to_owned(), format!("{plugin} {tool}")]).collect()
        }
        Effect::CallServer { server, .. } => vec![server.to_string(), effect.key()],
        Effect::UseSecret(secret) => {
            let plugin = secret.as_str().split_once('/').map(|(plugin, _)| plugin.to_owned());
            plugin.into_iter().chain([secret.to_string(), secret.handle().to_owned()]).collect()
        }
        other => vec![other.key()],
    }
}

/// What may come behind the class for such an effect, the narrowest first.
fn written(effect: &Effect) -> Vec<String> {
    match (effect.touched(), effect) {
        (Touched::Scope(scope), _) => vec![scope.glob.to_pattern()],
        (Touched::Places { from, to }, _) => {
            let place = |path: &WorkspacePath| in_braces(or_dot(path.as_str()));
            vec![format!("{{{},{}}}", place(from), place(to))]
        }
        (Touched::Nothing, Effect::Run(line)) => {
            let plain = |word: &&String| {
                !word.is_empty() && !word.contains(char::is_whitespace) && *word != "*" && *word != "**"
            };
            let words = std::iter::once(&line.program).chain(&line.arguments);
            let fixed: Vec<&str> = words.clone().take_while(plain).map(String::as_str).collect();
            // What cannot be written is any.
            let rest = if fixed.len() == words.count() { "" } else { " **" };
            vec![format!("{}{rest}", fixed.join(" "))]
        }
        (Touched::Nothing, Effect::UseSecret(_) | Effect::CallPlugin(..) | Effect::CallServer { .. }) => {
            vec![escaped(&effect.key())]
        }
        (Touched::Nothing, Effect::Fetch(request)) => {
            let host = NetRequest { path: "/".to_owned(), ..request.clone() };
            vec![request.to_string(), host.to_string()]
        }
        (Touched::Nothing, _) => Vec::new(),
    }
}

fn program(pattern: &str) -> Result<RunPattern, EffectPatternError> {
    let mut words = pattern.split_whitespace().map(str::to_owned);
    match words.next() {
        Some(program) => Ok(RunPattern { program, arguments: words.collect() }),
        None => Err(EffectPatternError::Malformed(pattern.to_owned(), "expected a program".to_owned())),
    }
}

fn name(pattern: &str) -> Result<GlobMatcher, EffectPatternError> {
    let glob = Glob::new(pattern)
        .map_err(|error| EffectPatternError::Malformed(pattern.to_owned(), error.kind().to_string()))?;
    Ok(glob.compile_matcher())
}

impl PartialEq for EffectPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for EffectPattern {}

impl fmt::Display for EffectPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for EffectPattern {
    type Err = EffectPatternError;

    fn from_str(text: &str) -> Result<Self, EffectPatternError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capability::{CommandLine, PluginId, RootId, SecretName, ServerName, ToolName};

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(RootId(0), text).unwrap()
    }

    fn write(glob: &str) -> Effect {
        Effect::Write(PathScope { root: RootId(0), glob: PathGlob::parse(glob).unwrap() })
    }

    fn run(line: &str) -> Effect {
        let mut words = line.split(' ').map(str::to_owned);
        Effect::Run(CommandLine { program: words.next().unwrap(), arguments: words.collect() })
    }

    fn fetch(host: &str) -> Effect {
        Effect::Fetch(NetRequest { scheme: "https".into(), host: host.into(), port: 443, path: "/".into() })
    }

    fn plugin() -> Effect {
        Effect::CallPlugin(PluginId::new("aar:notes").unwrap(), ToolName::new("notes__add").unwrap())
    }

    fn server() -> Effect {
        let (server, tool) = (ServerName::new("wiki").unwrap(), ToolName::new("search").unwrap());
        Effect::CallServer { server, tool, read_only: false }
    }

    #[test]
    fn a_pattern_covers_its_own_class_only() {
        for (pattern, effect, covered) in [
            ("all", write("a"), true),
            ("all", run("rm -rf x"), true),
            ("write", write("**"), true),
            ("write", run("ls"), false),
            ("write:notes/**", write("notes/a.md"), true),
            ("write:notes/**", write("notes/b/**"), true),
            ("write:notes/**", write("**"), false),
            ("write:notes/**", write("notesx/a.md"), false),
            ("write:notes/**", Effect::Delete(path("notes/a.md").scope()), false),
            ("run:cargo test **", run("cargo test a b"), true),
            ("run:cargo test **", run("cargo publish"), false),
            ("run:cargo test **", run("cargo test --config=x"), false),
            ("fetch:https://*.good.com", fetch("api.good.com"), true),
            ("fetch:https://*.good.com", fetch("evilgood.com"), false),
            ("plugin:aar:*", plugin(), true),
            ("plugin:other:*", plugin(), false),
            ("plugin:aar:notes", plugin(), true),
            ("plugin:aar:note", plugin(), false),
            ("plugin:aar:notes notes__add", plugin(), true),
            ("plugin:aar:notes notes__list", plugin(), false),
            ("server:wiki", server(), true),
            ("server:wiki search", server(), true),
            ("server:wiki write", server(), false),
            ("server:search", server(), false),
        ] {
            let parsed = EffectPattern::parse(pattern).unwrap();
            assert_eq!(parsed.covers(&effect), covered, "{pattern} {effect}");
            assert!(parsed.touches(&effect) || !covered, "{pattern} {effect}");
            assert_eq!(parsed.to_string(), pattern);
        }
    }

    /// What a prohibition reads like is more than what an allowance may mean.
    #[test]
    fn a_pattern_forbids_all_that_it_reads_like() {
        let read = |path: &str| Effect::Read(self::path(path).scope());
        let secret = |name: &str| Effect::UseSecret(SecretName::new(name).unwrap());
        for (pattern, effect, touched) in [
            ("run:cargo test **", run("cargo test --config=x"), true),
            ("run:cargo test", run("cargo --offline test a"), true),
            ("run:cargo test **", run("cargo publish"), false),
            ("run:cargo", run("env cargo test"), true),
            ("read:secret", read("secret/deep/key"), true),
            ("read:secret", read("secrets"), false),
            ("read:secret/", read("secret/key"), true),
            ("read:./secret", read("secret/key"), true),
            ("read: secret ", read("secret/key"), true),
            ("read:./se*", read("secret/key"), true),
            ("read:a//se*/", read("a/secret/key"), true),
            ("read:*.d", read("x.d/deep/key"), true),
            ("read:*.d", read("x/y.d"), false),
            ("read:secret", Effect::Read(path("secret/deep").subtree()), true),
            ("read:secret", Effect::Read(path("secret").subtree()), true),
            ("read:secret", Effect::Read(path("").subtree()), false),
            ("read:*", Effect::Read(path("").subtree()), false),
            ("read:.", Effect::Read(path("").subtree()), true),
            ("delete:notes/*", Effect::Delete(path("notes/a/b").subtree()), true),
            ("delete:notes/**", Effect::Delete(path("notes").subtree()), true),
            ("move:secret", Effect::Move { from: path("a"), to: path("secret/a") }, true),
            ("plugin:notes", plugin(), true),
            ("plugin:notes notes__add", plugin(), true),
            ("plugin:aar", plugin(), false),
            ("server:wiki", server(), true),
            ("secret:acme:weather", secret("acme:weather/key"), true),
            ("secret:key", secret("acme:weather/key"), true),
            ("secret:acme:weather", secret("acme:weather-2/key"), false),
            ("fetch:https://good.com/a", fetch("good.com"), false),
            ("fetch:https://*", fetch("10.0.0.1"), true),
        ] {
            let parsed = EffectPattern::parse(pattern).unwrap();
            assert_eq!(parsed.touches(&effect), touched, "{pattern} {effect}");
            assert!(parsed.may_touch(&effect) || !touched, "{pattern} {effect}");
        }
        let fixed = EffectPattern::parse_in_any_case("write:**/.git").unwrap();
        assert!(fixed.touches(&Effect::Write(path("a/.GIT").scope())));
        assert!(
            !fixed.touches(&Effect::Write(path("a/.git/info").scope())),
            "of the runtime's own list each is one path"
        );
    }

    #[test]
    fn a_folder_with_something_forbidden_in_it() {
        let read = |path: &str| Effect::Read(PathScope { root: RootId(0), glob: PathGlob::subtree(path) });
        for (pattern, effect, may) in [
            ("read:src/**", read(""), true),
            ("read:src/secret.txt", read("src"), true),
            ("read:src/**", read("src/deep"), true),
            ("read:src/**", read("docs"), false),
            ("read:src/**", read("srcs"), false),
            ("read:**/*.key", read("docs"), true),
            ("write:src/**", read(""), false),
            ("all", read("docs"), true),
            ("read:src/a", Effect::Read(path("src/b").scope()), false),
            ("read:src/a", Effect::Read(path("src/a").scope()), true),
        ] {
            assert_eq!(EffectPattern::parse(pattern).unwrap().may_touch(&effect), may, "{pattern} {effect}");
        }
    }

    #[test]
    fn a_move_needs_both_ends_and_is_stopped_by_either() {
        let pattern = EffectPattern::parse("move:notes/**").unwrap();
        for (from, to, covers, touches) in [
            ("notes/a", "notes/b", true, true),
            ("notes/a", "src/b", false, true),
            ("src/a", "notes/b", false, true),
            ("src/a", "src/b", false, false),
        ] {
            let effect = Effect::Move { from: path(from), to: path(to) };
            assert_eq!((pattern.covers(&effect), pattern.touches(&effect)), (covers, touches), "{from} {to}");
        }
    }

    #[test]
    fn an_effect_can_be_typed() {
        let moved = Effect::Move { from: path("a,b"), to: path("c/{d}") };
        let deleted = Effect::Delete(path("").subtree());
        let odd = Effect::CallPlugin(PluginId::new("aar:notes").unwrap(), ToolName::new("x").unwrap());
        for (effect, typed) in [
            (write("notes/a.md"), "write:notes/a.md"),
            (write("notes/**"), "write:notes/**"),
            (write("notes/*.md"), "write:notes/*.md"),
            (Effect::Write(path("a[1]*.md").scope()), "write:a[[]1[]][*].md"),
            (Effect::Write(path("a b/'c'").scope()), "write:a b/'c'"),
            (Effect::Read(path("").scope()), "read:."),
            (Effect::Read(path("a[1]").subtree()), "read"),
            (Effect::Read(path("a\nb").scope()), "read"),
            (Effect::Read(path(&"a".repeat(300)).scope()), "read"),
            (deleted, "delete:**"),
            (moved, "move:{a[,]b,c/[{]d[}]}"),
            (run("cargo test --all"), "run:cargo test --all"),
            (run("ls *"), "run:ls **"),
            (
                Effect::Run(CommandLine { program: "sh".into(), arguments: vec!["-c".into(), "a > b".into()] }),
                "run:sh -c **",
            ),
            (Effect::Run(CommandLine { program: "sh".into(), arguments: vec!["-c".into(), "a\nb".into()] }), "run"),
            (Effect::Run(CommandLine { program: "a b".into(), arguments: Vec::new() }), "run"),
            (fetch("good.com"), "fetch:https://good.com/"),
            (odd, "plugin:aar:notes x"),
            (server(), "server:wiki search"),
            (Effect::ReadSession, "session"),
        ] {
            let pattern = EffectPattern::exactly(&effect);
            assert_eq!(pattern.to_string(), typed, "{effect}");
            assert!(EffectPattern::parse(typed).unwrap().covers(&effect), "{effect}");
        }
        // No more than that.
        let pattern = EffectPattern::exactly(&Effect::Write(path("a[1]*.md").scope()));
        assert!(!pattern.covers(&write("a1x.md")) && !pattern.covers(&write("a[1]x.md")));
    }

    #[test]
    fn a_broken_pattern_says_why() {
        for (text, error) in [
            (
                "wirte",
                "`wirte` is not a class of effects: expected one of `all`, `read`, `write`, `delete`, `move`, \
                `run`, `fetch`, `secret`, `plugin`, `server`, `session`, `kv`, `data`, `tmp`, `prompt`",
            ),
            ("kv:user", "`kv` takes no pattern: write just `kv` instead of `kv:user`"),
            ("all:x", "`all` takes no pattern: write just `all` instead of `all:x`"),
            ("write:../x", "`../x` leaves the workspace"),
            ("run:", "`` is not a valid pattern: expected a program"),
            ("plugin:[", "`[` is not a valid pattern: unclosed character class; missing ']'"),
            ("fetch:good.com", "`good.com` is not a valid host: expected `https://host`"),
        ] {
            assert_eq!(EffectPattern::parse(text).unwrap_err().to_string(), error, "{text}");
        }
    }

    /// An effect of any class that has a pattern, with names that such patterns are likely to meet.
    fn some_effect() -> impl Strategy<Value = Effect> {
        let names = "(a|b|ab)(/(a|b|-b)){0,2}";
        let words = proptest::collection::vec("-?-?[ab]{1,2}|a b|\\*", 0..4);
        let scoped = |(class, at, tree): (usize, String, bool)| {
            let scope = if tree { path(&at).subtree() } else { path(&at).scope() };
            let classes = [Effect::Read, Effect::Write, Effect::Delete];
            classes[class % classes.len()](scope)
        };
        let fetched = |(host, path): (String, String)| {
            Effect::Fetch(NetRequest { scheme: "https".into(), host, port: 443, path: format!("/{path}") })
        };
        let called = |(name, tool): (String, String)| {
            let plugin = PluginId::new(format!("a:{name}")).unwrap();
            Effect::CallPlugin(plugin, ToolName::new(tool).unwrap())
        };
        prop_oneof![
            (0usize..3, names, any::<bool>()).prop_map(scoped),
            (names, names).prop_map(|(from, to)| Effect::Move { from: path(&from), to: path(&to) }),
            ("[ab]", words).prop_map(|(program, arguments)| Effect::Run(CommandLine { program, arguments })),
            ("([ab]\\.){0,2}[ab]|10\\.0\\.0\\.1", "[ab%]?(/[ab])?").prop_map(fetched),
            ("[ab]", "[ab]").prop_map(called),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// A no that is weaker than a yes of the same words would be a hole.
        #[test]
        fn a_pattern_never_forbids_less_than_it_allows(
            class in proptest::sample::select(vec!["read", "write", "delete", "move", "run", "fetch", "plugin", "all"]),
            pattern in "(:(https://)?(\\*\\.)?[ab*]{1,2}([ :/.](-?-?[ab]|\\*{1,2}|\\?)){0,3})?",
            effect in some_effect(),
        ) {
            if let Ok(pattern) = EffectPattern::parse(&format!("{class}{pattern}")) {
                prop_assert!(pattern.touches(&effect) || !pattern.covers(&effect), "{pattern} {effect}");
                prop_assert!(pattern.may_touch(&effect) || !pattern.touches(&effect), "{pattern} {effect}");
            }
        }
    }
}
