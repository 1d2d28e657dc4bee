//! What a command line for a shell would run, as far as that can be told by looking at it.
//!
//! A line that only runs programs is told apart into them, so that each is judged as what it is. Anything else, from a
//! variable to a redirection, makes it opaque: then it is the shell that is run. When in doubt a line is opaque. Tested
//! by tables, and against a real shell where one is run.

use super::CommandLine;

/// Programs that run what their arguments say, so that a look at their own name tells little.
const RUNNERS: [&str; 62] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "csh",
    "tcsh",
    "fish",
    "busybox",
    "toybox",
    "env",
    "eval",
    "exec",
    "command",
    "builtin",
    "source",
    ".",
    "alias",
    "trap",
    "xargs",
    "parallel",
    "find",
    "nohup",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "numactl",
    "setsid",
    "setarch",
    "linux32",
    "linux64",
    "i386",
    "x86_64",
    "uname26",
    "stdbuf",
    "unbuffer",
    "time",
    "timeout",
    "watch",
    "flock",
    "script",
    "prlimit",
    "unshare",
    "nsenter",
    "chroot",
    "setpriv",
    "capsh",
    "ssh-agent",
    "dbus-run-session",
    "systemd-run",
    "strace",
    "ltrace",
    "faketime",
    "sudo",
    "doas",
    "su",
    "runuser",
    "sg",
    "pkexec",
];

/// Words that are no programs where a command begins.
const RESERVED: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
    "select", "coproc", "[[",
];

/// Redirections that change nothing but what is shown.
const HARMLESS: [&str; 7] = ["2>&1", "1>&2", ">&2", ">/dev/null", "1>/dev/null", "2>/dev/null", "</dev/null"];

impl CommandLine {
    /// What `sh -c LINE` runs, with `variables` set: the programs, where the line does nothing but run them, else the
    /// shell.
    pub fn of_shell<'a>(line: &str, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Self> {
        let shell = ["sh", "-c", line].map(str::to_owned);
        let mut setting: Vec<String> = variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !setting.is_empty() {
            setting.extend(shell);
            return vec![Self { program: "env".to_owned(), arguments: setting }];
        }
        plain_commands(line).unwrap_or_else(|| {
            let [program, arguments @ ..] = shell;
            vec![Self { program, arguments: arguments.to_vec() }]
        })
    }

    /// Whether it can run other programs than the one that it names.
    pub fn is_opaque(&self) -> bool {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        // The loader runs the program that it is given.
        RUNNERS.contains(&name) || name == "ld.so" || name.starts_with("ld-linux") || name.starts_with("ld-musl")
    }
}

/// The commands of a line that does nothing but run them, one after another or joined by pipes.
fn plain_commands(line: &str) -> Option<Vec<CommandLine>> {
    let mut commands = Vec::new();
    let mut rest = line.trim();
    loop {
        let (command, after) = command(rest)?;
        commands.push(command);
        rest = match after {
            "" => return Some(commands),
            after => {
                let joint = ["&&", "||", "|", ";", "\n"].into_iter().find(|joint| after.starts_with(joint))?;
                let more = after.get(joint.len()..)?.trim_start();
                // A line may end with these two, but not with a joint that waits for another command.
                if more.is_empty() && matches!(joint, ";" | "\n") {
                    return Some(commands);
                }
                more
            }
        };
    }
}

/// The command that `text` begins with, and what follows it.
fn command(text: &str) -> Option<(CommandLine, &str)> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() || rest.starts_with(['&', '|', ';', '\n']) {
            break;
        }
        if let Some(after) = HARMLESS.iter().find_map(|harmless| rest.strip_prefix(harmless))
            && (after.is_empty() || after.starts_with([' ', '\t', '&', '|', ';', '\n']))
        {
            rest = after;
            continue;
        }
        let (word, after) = word(rest)?;
        words.push(word);
        rest = after;
    }
    let mut words = words.into_iter();
    let program = words.next()?;
    let plain = !program.is_empty() && !program.contains('=') && !RESERVED.contains(&program.as_str());
    plain.then(|| (CommandLine { program, arguments: words.collect() }, rest))
}

/// The word that `text` begins with, as the shell would give it to a program, and what follows it.
fn word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            ' ' | '\t' | '\n' | ';' | '|' | '&' => break,
            '\'' => {
                let (quoted, after) = rest.get(1..)?.split_once('\'')?;
                word.push_str(quoted);
                after
            }
            '"' => {
                let (quoted, after) = rest.get(1..)?.split_once('"')?;
                if quoted.contains(['$', '`', '\\', '!']) {
                    return None;
                }
                word.push_str(quoted);
                after
            }
            plain if plain.is_alphanumeric() || "-_./=:,@+%^".contains(plain) => {
                word.push(plain);
                rest.get(plain.len_utf8()..)?
            }
            _ => return None,
        };
    }
    (!word.contains('\0')).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let commands = CommandLine::of_shell(line, []);
        let one = |command: &CommandLine| format!("{}{:?}", command.program, command.arguments);
        commands.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_that_only_run_programs_are_told_apart() {
        for (line, commands) in [
            ("ls", "ls[]"),
            ("  cargo test --workspace  ", r#"cargo["test", "--workspace"]"#),
            ("git commit -m 'a $b `c`'", r#"git["commit", "-m", "a $b `c`"]"#),
            (r#"echo "a b"c'd' """#, r#"echo["a bcd", ""]"#),
            ("make && ./run a=b || tail -n5 log.txt;", r#"make[] ./run["a=b"] tail["-n5", "log.txt"]"#),
            ("cargo test 2>&1 | tail -5", r#"cargo["test"] tail["-5"]"#),
            ("a\nb\n", "a[] b[]"),
            ("a >/dev/null 2>&1; b", "a[] b[]"),
            ("grün ü", r#"grün["ü"]"#),
            ("/bin/sh -c 'rm x'", r#"/bin/sh["-c", "rm x"]"#),
        ] {
            assert_eq!(shown(line), commands, "{line}");
        }
    }

    #[test]
    fn everything_else_is_a_shell() {
        for line in [
            "",
            " ",
            "a;;b",
            "&& a",
            "a &&",
            "a |",
            "a & b",
            "a &",
            "a &&& b",
            "a |& b",
            "! a",
            "(a)",
            "{ a; }",
            "a > f",
            "a >> f",
            "a < f",
            "a <<EOF",
            "2>f a",
            ">/dev/null",
            "a >/dev/nullx",
            "a &>/dev/null",
            "a $b",
            "a ${b}",
            "a $(b)",
            "a `b`",
            "a \"$b\"",
            "a \"`b`\"",
            "a \"\\\"\"",
            "a \\b",
            "a *",
            "a ?",
            "a [b]",
            "a {b,c}",
            "a ~",
            "a #b",
            "a 'b",
            "a \"b",
            "A=b c",
            "A= c",
            "if a; then b; fi",
            "while a",
            "for a in b",
            "'' a",
            "a\u{7}",
            "a\0",
            "a 'b\0'",
            "[[ a ]]",
            "a \"b!c\"",
            "a\rb",
        ] {
            let commands = CommandLine::of_shell(line, []);
            assert_eq!(commands.len(), 1, "{line:?}");
            assert_eq!(commands[0].program, "sh", "{line:?}");
            assert_eq!(commands[0].arguments, ["-c", line]);
            assert!(commands[0].is_opaque());
        }
    }

    #[test]
    fn variables_make_a_line_opaque() {
        let commands = CommandLine::of_shell("cargo test", [("LD_PRELOAD", "x.so")]);
        assert_eq!(commands[0].to_string(), "env LD_PRELOAD=x.so sh -c \"cargo test\"");
        assert!(commands[0].is_opaque());
    }

    #[test]
    fn runners_are_opaque_under_any_path() {
        let opaque = |line: &str| CommandLine::of_shell(line, [])[0].is_opaque();
        for line in [
            "xargs rm",
            "ionice -c 3 rm",
            "flock . rm",
            "script -qc rm",
            "/usr/bin/env rm",
            "./sh x",
            "find . -delete",
            "sudo rm",
            "eval rm",
        ] {
            assert!(opaque(line), "{line}");
        }
        for line in ["rm x", "envoy", "git log", "shred"] {
            assert!(!opaque(line), "{line}");
        }
    }
}
