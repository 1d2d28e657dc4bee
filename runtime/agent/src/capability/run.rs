//! The right to run a program: which one, with which arguments, and which variables of the environment it gets.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::effect::argument;
use super::{CommandLine, Danger};

/// A program and what its arguments may be, one pattern each: `*` is any one argument that does not start with `-`,
/// a last `**` any number of those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPattern {
    /// The program's name, without a folder.
    pub program: String,
    /// One pattern for each argument.
    pub arguments: Vec<String>,
}

impl RunPattern {
    /// Whether that command line fits.
    pub fn matches(&self, line: &CommandLine) -> bool {
        self.fits(line, |pattern, argument| pattern == argument || (pattern == "*" && is_free(argument)))
    }

    /// Whether that command line reads like one of these, or like more of one: what a prohibition needs. The program may
    /// be named by its path, a `*` stands for any text in a word and a `**` for any number of words; further options, each
    /// with or without a value behind it, may stand anywhere, and anything at the end. What is in quotes is any.
    pub fn touches(&self, line: &CommandLine) -> bool {
        let [wanted, given] = [&self.program, &line.program].map(|program| bare(program));
        if !reads_like(&self.program, &line.program) && !reads_like(wanted, given) {
            return false;
        }
        let quoted = |word: &&str| word.starts_with(['"', '\'']);
        let wanted: Vec<&str> = self.arguments.iter().map(String::as_str).take_while(|word| !quoted(word)).collect();
        // How many of them are done with, and whether the next argument may be an option's value.
        let mut places = BTreeSet::from([(0, false)]);
        let mut arguments = line.arguments.iter();
        loop {
            let spanned = |at: usize| at + wanted.iter().skip(at).take_while(|pattern| **pattern == "**").count();
            places = places.iter().flat_map(|&(at, valued)| [(at, valued), (spanned(at), valued)]).collect();
            if places.iter().any(|(at, _)| *at == wanted.len()) {
                return true;
            }
            let Some(argument) = arguments.next() else { return false };
            let is_option = argument.starts_with('-');
            let after = |&(at, valued): &(usize, bool)| {
                let pattern = wanted.get(at).copied().unwrap_or_default();
                let stays = (is_option || valued || pattern == "**").then_some((at, is_option));
                [stays, reads_like(pattern, argument).then_some((at + 1, false))]
            };
            places = places.iter().flat_map(after).flatten().collect();
        }
    }

    /// Whether the program is the same, and each argument fits by itself into its place or the last `**`.
    fn fits(&self, line: &CommandLine, one: impl Fn(&str, &str) -> bool) -> bool {
        if line.program != self.program {
            return false;
        }
        let (fixed, rest) = self.places();
        if line.arguments.len() < fixed.len() || (!rest && line.arguments.len() > fixed.len()) {
            return false;
        }
        let (first, more) = line.arguments.split_at(fixed.len());
        fixed.iter().zip(first).all(|(pattern, argument)| one(pattern, argument))
            && more.iter().all(|argument| one("*", argument))
    }
}

impl RunPattern {
    /// What stands for one argument each, and whether any number of others may follow.
    fn places(&self) -> (&[String], bool) {
        match self.arguments.split_last() {
            Some((last, fixed)) if last == "**" => (fixed, true),
            _ => (self.arguments.as_slice(), false),
        }
    }
}

/// A program's name without its folder.
fn bare(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether `text` is the pattern, with anything in the place of each `*`.
fn reads_like(pattern: &str, text: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == text };
    let mut between: Vec<&str> = rest.split('*').collect();
    let end = between.pop().unwrap_or_default();
    let left = between.into_iter().try_fold(text.strip_prefix(begin), |left, part| {
        left.and_then(|left| left.split_once(part).map(|(_, left)| Some(left)))
    });
    left.flatten().is_some_and(|left| left.ends_with(end))
}

/// Whether it can stand for a `*`: no option, and nothing that ends an argument early.
fn is_free(argument: &str) -> bool {
    !argument.starts_with('-') && !argument.contains(['\n', '\0'])
}

impl fmt::Display for RunPattern {
    /// Quoted where it must be, so that two patterns never look alike.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|pattern| write!(f, " {}", argument(pattern, "*")))
    }
}

/// A plugin's right to run a program. Its patterns have one form more, `--count=*`: such an argument with anything behind
/// it. What a plugin puts in the place of a `*` leads nowhere else: it is no absolute path, does not begin with `~`, and
/// has no `..` as a part of a path. What the pattern itself says is not held to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRight {
    pattern: RunPattern,
    environment: Vec<VariableName>,
}

/// Why there is no such right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Not a name.
    #[error("`{0}` is not the name of a program: write it without a folder, as `git`")]
    Program(String),
    /// A program that runs whatever its arguments say.
    #[error("`{0}` runs other programs, whatever its arguments say: name the program itself")]
    Opaque(String),
    /// `**` in the middle, or an argument that no program can be given.
    #[error("`{0}` is not a pattern for an argument: `**` comes last, and there are no line ends")]
    Pattern(String),
    /// An argument that makes a program run others or leave its place.
    #[error(transparent)]
    Danger(#[from] Danger),
    /// A variable that is not given to programs.
    #[error("{0}")]
    Variable(String),
}

impl RunRight {
    /// A right to run what fits `pattern`, with those variables of the environment, by their names.
    pub fn new(pattern: RunPattern, environment: &[String]) -> Result<Self, RunError> {
        let RunPattern { program, arguments } = &pattern;
        let line = CommandLine { program: program.clone(), arguments: arguments.clone() };
        let named = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if program.is_empty() || !program.chars().all(named) || program.starts_with(['-', '.']) {
            return Err(RunError::Program(shown(program)));
        }
        if line.is_opaque() {
            return Err(RunError::Opaque(shown(program)));
        }
        let last = arguments.len().saturating_sub(1);
        let broken = |(at, pattern): &(usize, &String)| {
            (*pattern == "**" && *at != last) || pattern.contains(['\n', '\0']) || pattern.len() > 1000
        };
        if let Some((_, pattern)) = arguments.iter().enumerate().find(broken) {
            return Err(RunError::Pattern(shown(pattern)));
        }
        if let Some(danger) = Danger::of(&line) {
            return Err(danger.into());
        }
        let variable = |name: &String| name.parse::<VariableName>().and_then(VariableName::harmless);
        let environment = environment.iter().map(variable).collect::<Result<_, _>>().map_err(RunError::Variable)?;
        Ok(Self { pattern, environment })
    }

    /// Whether it is a right to that command line.
    pub fn covers(&self, line: &CommandLine) -> bool {
        self.pattern.fits(line, stands_for)
    }

    /// Whether every line of `other` is one of these. What cannot be told is none.
    pub(super) fn lines_include(&self, other: &Self) -> bool {
        let ((fixed, rest), (others, others_rest)) = (self.pattern.places(), other.pattern.places());
        if self.pattern.program != other.pattern.program || others.len() < fixed.len() || (others_rest && !rest) {
            return false;
        }
        let (first, more) = others.split_at(fixed.len());
        (rest || more.is_empty())
            && fixed.iter().zip(first).all(|(outer, inner)| argument_includes(outer, inner))
            && more.iter().all(|inner| argument_includes("*", inner))
    }

    /// Names of the variables that the program gets, where they are set.
    pub fn environment(&self) -> impl Iterator<Item = &str> {
        self.environment.iter().map(|name| name.0.as_str())
    }
}

/// Whether an argument is one that the pattern means.
fn stands_for(pattern: &str, argument: &str) -> bool {
    let free = || match pattern.strip_suffix('*') {
        Some("") => is_free(argument) && stays_inside(argument),
        Some(begin) => argument.strip_prefix(begin).is_some_and(|rest| {
            // Behind an option a value begins; elsewhere it is the same path that goes on.
            let value = !begin.starts_with('-') || stays_inside(rest);
            !rest.contains(['\n', '\0']) && value && stays_inside(argument)
        }),
        None => false,
    };
    pattern == argument || free()
}

/// Whether all that `inner` means, `outer` means as well; a no where that is not plain to see.
fn argument_includes(outer: &str, inner: &str) -> bool {
    let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match (outer.strip_suffix('*'), inner.strip_suffix('*')) {
        _ if outer == inner => true,
        (Some(""), Some(begin)) => begin.starts_with(|c: char| c.is_ascii_alphanumeric()),
        (Some(outer), Some(inner)) => inner.strip_prefix(outer).is_some_and(word),
        (_, None) => stands_for(outer, inner),
        (None, Some(_)) => false,
    }
}

/// Whether an argument names nothing outside of the folder that a program runs in.
fn stays_inside(argument: &str) -> bool {
    let values = [Some(argument), argument.split_once('=').map(|(_, value)| value)];
    values.into_iter().flatten().all(|value| {
        let local = value.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
        !local && !value.starts_with(['/', '~', '\\']) && !value.split(['/', '\\', ':']).any(|part| part == "..")
    })
}

fn shown(text: &str) -> String {
    crate::plain::line(text, 80)
}

impl fmt::Display for RunRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)?;
        let mut names = self.environment();
        if let Some(first) = names.next() {
            write!(f, " (with {first}")?;
            names.try_for_each(|name| write!(f, ", {name}"))?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// The name of a variable of the environment that a program may get. Those that hold secrets are not among them, and
/// neither are our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableName(String);

impl VariableName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, unless what it holds decides what a program runs.
    fn harmless(self) -> Result<Self, String> {
        const LOADERS: [&str; 4] = ["LD_", "DYLD_", "GIT_", "BASH_"];
        const RUN: [&str; 22] = [
            "PATH",
            "IFS",
            "ENV",
            "SHELL",
            "PAGER",
            "EDITOR",
            "VISUAL",
            "BROWSER",
            "LESSOPEN",
            "LESSCLOSE",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "PERL5LIB",
            "PERL5OPT",
            "RUBYLIB",
            "RUBYOPT",
            "NODE_OPTIONS",
            "NODE_PATH",
            "JAVA_TOOL_OPTIONS",
            "RUSTC_WRAPPER",
            "GCONV_PATH",
        ];
        let upper = self.0.to_ascii_uppercase();
        let decides = LOADERS.iter().any(|begin| upper.starts_with(begin))
            || RUN.contains(&upper.as_str())
            || ["_ASKPASS", "_PRELOAD", "_COMMAND", "_PAGER", "_EDITOR"].iter().any(|end| upper.ends_with(end));
        if decides { Err(format!("`{}` is not given to programs: it decides what they run", self.0)) } else { Ok(self) }
    }
}

impl FromStr for VariableName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        const SECRETS: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "PASSWORD", "_CREDENTIALS"];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(word) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("`{}` is not the name of a variable", shown(name)));
        }
        let upper = name.to_ascii_uppercase();
        if SECRETS.iter().any(|ending| upper.ends_with(ending)) || upper.starts_with("ACP_RUNTIME_") {
            return Err(format!("`{name}` is not given to commands: it holds a secret, or is this program's own"));
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(program: &str, arguments: &[&str]) -> CommandLine {
        CommandLine { program: program.to_owned(), arguments: arguments.iter().map(|&text| text.to_owned()).collect() }
    }

    fn pattern(program: &str, arguments: &[&str]) -> RunPattern {
        let CommandLine { program, arguments } = line(program, arguments);
        RunPattern { program, arguments }
    }

    fn right(arguments: &[&str]) -> RunRight {
        RunRight::new(pattern("tool", arguments), &[]).unwrap()
    }

    #[test]
    fn commands_match_argument_by_argument() {
        let pattern = pattern("git", &["log", "**"]);
        assert!(pattern.matches(&line("git", &["log"])));
        assert!(pattern.matches(&line("git", &["log", "src", "docs"])));
        for bad in [&["push"][..], &["log", "--upload-pack=x"], &["log", "a\nb"], &[]] {
            assert!(!pattern.matches(&line("git", bad)), "{bad:?}");
        }
    }

    /// A no is about all that somebody who reads it would think of.
    #[test]
    fn a_forbidden_command_is_forbidden_in_every_form_of_it() {
        for (program, arguments, line, touched) in [
            ("git", &["**"][..], &["git", "--no-pager", "log"][..], true),
            ("git", &["**"], &["git"], true),
            ("git", &["**"], &["gitk"], false),
            ("git", &[], &["git", "push"], true),
            ("git", &[], &["/usr/bin/git", "push"], true),
            ("git", &[], &["git.exe", "push"], true),
            ("/usr/bin/git", &[], &["git", "push"], true),
            ("git*", &[], &["git-lfs", "push"], true),
            ("*", &["push"], &["hg", "push"], true),
            ("*", &["push"], &["hg", "pull"], false),
            ("git", &["push", "**"], &["git", "push", "--force"], true),
            ("git", &["push"], &["git", "push", "origin", "main"], true),
            ("git", &["push"], &["git", "-C", "elsewhere", "push"], true),
            ("git", &["push"], &["git", "-c", "a=b", "--no-pager", "push", "-f"], true),
            ("git", &["push"], &["git", "pull"], false),
            ("git", &["push"], &["git", "commit", "-m", "push"], false),
            ("git", &["push"], &["git", "stash", "push"], false),
            ("git", &["push", "--force"], &["git", "push", "origin", "--force"], false),
            ("git", &["push", "**", "--force"], &["git", "push", "origin", "--force"], true),
            ("git", &["push", "*", "main"], &["git", "push", "-u", "origin", "main"], true),
            ("git", &["push", "*"], &["git", "push", "-f"], true),
            ("git", &["push", "*"], &["git", "push"], false),
            ("rm", &["-rf", "*"], &["rm", "-rf", "a\nb"], true),
            ("rm", &["-rf*"], &["rm", "-rfv", "x"], true),
            ("cargo", &["*sh"], &["cargo", "publish"], true),
            ("git", &["commit", "-m", "\"a", "b\""], &["git", "commit", "-m", "a b"], true),
        ] {
            let [program_line, given @ ..] = line else { panic!("a line has a program") };
            let line = self::line(program_line, given);
            assert_eq!(pattern(program, arguments).touches(&line), touched, "{program} {arguments:?}: {line}");
        }
        let many = vec!["-x"; 2000];
        assert!(!pattern("git", &["**", "*a*", "**", "push"]).touches(&line("git", &many)), "and it ends soon");
    }

    /// What stands in the place of a star is the plugin's, and it gets nowhere with it.
    #[test]
    fn a_right_covers_what_its_pattern_says() {
        let right = right(&["log", "--count=*", "*", "--", "**"]);
        for good in [
            &["log", "--count=3", "main", "--"][..],
            &["log", "--count=", "main..dev", "--", "src/a.rs", "a..b", "naïve name"],
            &["log", "--count=-1", "HEAD~2", "--", "*"],
        ] {
            assert!(right.covers(&line("tool", good)), "{good:?}");
        }
        for bad in [
            &["log", "--count=3", "main"][..],
            &["log", "--count", "main", "--"],
            &["log", "--counts=3", "main", "--"],
            &["log", "--count=3", "--output=x", "--"],
            &["log", "--count=3", "-p", "--"],
            &["log", "--count=/etc/passwd", "main", "--"],
            &["log", "--count=x\n--output=y", "main", "--"],
            &["log", "--count=3", "/etc/passwd", "--"],
            &["log", "--count=3", "~/.ssh", "--"],
            &["log", "--count=3", "..", "--"],
            &["log", "--count=3", "main", "--", "a/../../b"],
            &["log", "--count=3", "main", "--", "x=/etc/passwd"],
            &["log", "--count=3", "main", "--", "HEAD:../x"],
            &["log", "--count=3", "main", "--", "-x"],
            &["log", "--count=3", "main", "--", "a\0b"],
            &["Log", "--count=3", "main", "--"],
            &[],
        ] {
            assert!(!right.covers(&line("tool", bad)), "{bad:?}");
        }
        assert!(!right.covers(&line("./tool", &["log", "--count=3", "main", "--"])));
        assert!(!right.covers(&line("/bin/tool", &["log", "--count=3", "main", "--"])));
        let inside = self::right(&["src*", "-L*"]);
        assert!(inside.covers(&line("tool", &["src/a", "-L1,2"])));
        for bad in [["src/../..", "-L1"], ["src", "-L/etc/passwd"], ["src", "-L../x"], ["../src", "-L1"]] {
            assert!(!inside.covers(&line("tool", &bad)), "{bad:?}");
        }
        let literal = self::right(&["../lib", "--at=/tmp/x", "-v"]);
        assert!(literal.covers(&line("tool", &["../lib", "--at=/tmp/x", "-v"])));
    }

    #[test]
    fn what_is_no_right_says_why() {
        for (program, arguments, environment, error) in [
            ("", &[][..], "", "`` is not the name of a program: write it without a folder, as `git`"),
            ("./git", &[], "", "`./git` is not the name of a program: write it without a folder, as `git`"),
            ("/bin/ls", &[], "", "`/bin/ls` is not the name of a program: write it without a folder, as `git`"),
            ("-x", &[], "", "`-x` is not the name of a program: write it without a folder, as `git`"),
            ("sh", &["-c", "*"], "", "`sh` runs other programs, whatever its arguments say: name the program itself"),
            ("env", &["x"], "", "`env` runs other programs, whatever its arguments say: name the program itself"),
            (
                "ls",
                &["**", "-l"],
                "",
                "`**` is not a pattern for an argument: `**` comes last, and there are no line ends",
            ),
            (
                "git",
                &["-c", "*", "log"],
                "",
                "git's `-c` before its subcommand is not for plugins: it changes what git runs, or where",
            ),
            ("ls", &[], "LD_PRELOAD", "`LD_PRELOAD` is not given to programs: it decides what they run"),
            ("ls", &[], "GIT_SSH", "`GIT_SSH` is not given to programs: it decides what they run"),
            ("ls", &[], "PATH", "`PATH` is not given to programs: it decides what they run"),
            ("ls", &[], "SSH_ASKPASS", "`SSH_ASKPASS` is not given to programs: it decides what they run"),
            (
                "ls",
                &[],
                "OPENAI_API_KEY",
                "`OPENAI_API_KEY` is not given to commands: it holds a secret, or is this program's own",
            ),
            ("ls", &[], "A=B", "`A=B` is not the name of a variable"),
        ] {
            let environment = if environment.is_empty() { Vec::new() } else { vec![environment.to_owned()] };
            let refused = RunRight::new(pattern(program, arguments), &environment).unwrap_err();
            assert_eq!(refused.to_string(), error);
        }
    }

    /// A right that was granted is known by its text: another one must not have the same.
    #[test]
    fn two_rights_never_look_alike() {
        let shown = |arguments: &[&str], environment: &[&str]| {
            let environment: Vec<String> = environment.iter().map(|&name| name.to_owned()).collect();
            RunRight::new(pattern("tool", arguments), &environment).unwrap().to_string()
        };
        assert_eq!(shown(&["log", "--count=*", "**"], &[]), "tool log --count=* **");
        assert_eq!(shown(&["log -p", ""], &["TZ", "LANG"]), "tool \"log -p\" \"\" (with TZ, LANG)");
        assert_ne!(shown(&["a b"], &[]), shown(&["a", "b"], &[]));
        assert_ne!(shown(&["(with", "TZ)"], &[]), shown(&[], &["TZ"]));
    }
}
