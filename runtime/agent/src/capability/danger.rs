//! What no plugin may give to a program, whatever its manifest asks for and whatever was granted.
//!
//! Some programs have options that make them run others, write files or work elsewhere. A right that names the program
//! says nothing of that to the person who grants it, so a line with such an option is refused: in a manifest, and again
//! when it is to be run. Of git only the subcommands are left that show something. When in doubt it is refused. What a
//! repository's own configuration makes git do is another matter, which the host closes where it runs it. Tested row by
//! row.

use super::CommandLine;
use crate::plain;

/// A part of a command line that is not for plugins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{program}'s {what} is not for plugins: {why}")]
pub struct Danger {
    program: String,
    what: String,
    why: &'static str,
}

/// Options of other programs than git, by the program. One that begins with `--` is meant with every value and every
/// shorter form, others with everything that may follow in the same argument.
const OPTIONS: [(&str, &[&str], &str); 12] = [
    ("rg", &["--pre", "--hostname-bin", "--search-zip", "-z"], RUNS),
    ("ag", &["--pager", "--search-zip", "-z"], RUNS),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"], RUNS),
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "-I",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
            "-F",
            "--directory",
            "-C",
            "--absolute-names",
            "-P",
        ],
        RUNS,
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path", "--daemon", "--config"], RUNS),
    ("ssh", &["-o", "-F", "-E", "-S", "-L", "-R", "-D", "-W"], RUNS),
    ("scp", &["-o", "-F", "-S", "-D"], RUNS),
    ("man", &["-P", "--pager", "-H", "--html", "-C", "--config-file", "-X"], RUNS),
    ("cargo", &["--config", "-C", "-Z", "--target-dir", "--manifest-path"], ELSEWHERE),
    ("go", &["-exec", "-toolexec", "-C", "-overlay", "-vettool"], RUNS),
    ("curl", &["-K", "--config", "-o", "-O", "--output", "--remote-name", "-T", "--upload-file"], ELSEWHERE),
    ("sort", &["--compress-program", "-o", "--output", "-T", "--temporary-directory"], RUNS),
];

/// What git has to show. Its other subcommands change something, go to the network, or run programs.
const SHOWING: [&str; 26] = [
    "annotate",
    "blame",
    "branch",
    "cat-file",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "tag",
    "version",
];

/// Options behind the subcommand, as [`OPTIONS`] has them.
const GIT: [(&str, &str); 31] = [
    ("--exec", RUNS),
    ("--upload-pack", RUNS),
    ("--receive-pack", RUNS),
    ("--open-files-in-pager", RUNS),
    ("--paginate", RUNS),
    ("--ext-diff", RUNS),
    ("--textconv", RUNS),
    ("--filters", RUNS),
    ("--show-signature", RUNS),
    ("--edit", RUNS),
    ("--edit-description", RUNS),
    ("--submodule", RUNS),
    ("--recurse-submodules", RUNS),
    ("--ignore-submodules", RUNS),
    ("--config", RUNS),
    ("--config-env", RUNS),
    ("--exec-path", RUNS),
    ("--template", RUNS),
    ("--output", ELSEWHERE),
    ("--output-directory", ELSEWHERE),
    ("--git-dir", ELSEWHERE),
    ("--work-tree", ELSEWHERE),
    ("--separate-git-dir", ELSEWHERE),
    ("--no-index", ELSEWHERE),
    ("--remote", ELSEWHERE),
    ("--contents", ELSEWHERE),
    ("--ignore-revs-file", ELSEWHERE),
    ("--pathspec-from-file", ELSEWHERE),
    ("--exclude-from", ELSEWHERE),
    ("--resolve-git-dir", ELSEWHERE),
    ("-O", RUNS),
];

/// Whole options that begin one in [`GIT`] and mean something else, other than for `cat-file`.
const HARMLESS: [&str; 2] = ["--text", "--exclude"];

/// What `branch` and `tag` are given to list, rather than to change something.
const LISTING: [&str; 3] = ["--list", "-l", "--show-current"];

const RUNS: &str = "it makes it run something else";
const ELSEWHERE: &str = "it makes it read or write somewhere else";
const CHANGES_GIT: &str = "it changes what git runs, or where";
const NOT_SHOWING: &str = "only those that show something are, such as `status`, `log`, `diff`, `show` and `blame`";
const TRANSPORT: &str = "such an address names a program to run";
const NOT_LISTING: &str = "without `--list` it may change something";
const BUNDLED: &str = "an option that runs a program hides among such letters: give each one by itself";

impl Danger {
    /// The first thing in that line that is not for plugins; none where there is nothing.
    pub fn of(line: &CommandLine) -> Option<Self> {
        let name = line.program.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let danger = |what: String, why: &'static str| Self { program: plain::line(name, 40), what, why };
        if name == "git" {
            return git(&line.arguments).map(|(what, why)| danger(what, why));
        }
        let (_, options, why) = OPTIONS.iter().find(|(program, ..)| *program == name)?;
        let given = options_of(&line.arguments).find(|argument| options.iter().any(|option| is(argument, option)))?;
        Some(danger(quoted(given), why))
    }
}

fn git(arguments: &[String]) -> Option<(String, &'static str)> {
    // Without a subcommand it says how it is used.
    let (subcommand, rest) = arguments.split_first()?;
    if subcommand.starts_with('-') {
        return Some((format!("{} before its subcommand", quoted(subcommand)), CHANGES_GIT));
    }
    if !SHOWING.contains(&subcommand.as_str()) {
        return Some((format!("subcommand {}", quoted(subcommand)), NOT_SHOWING));
    }
    if let Some(address) = arguments.iter().find(|argument| argument.contains("ext::") || argument.contains("fd::")) {
        return Some((quoted(address), TRANSPORT));
    }
    for given in options_of(rest) {
        let whole = subcommand != "cat-file" && HARMLESS.contains(&given.split('=').next().unwrap_or(given));
        if let Some((_, why)) = GIT.iter().find(|(option, _)| is(given, option)).filter(|_| !whole) {
            return Some((quoted(given), why));
        }
        let letters = given.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        if subcommand == "grep" && letters.is_some_and(|letters| letters.contains(['O', 'f'])) {
            return Some((quoted(given), BUNDLED));
        }
    }
    let lists = || options_of(rest).any(|given| LISTING.contains(&given.split('=').next().unwrap_or(given)));
    if matches!(subcommand.as_str(), "branch" | "tag") && !rest.is_empty() && !lists() {
        return Some((format!("subcommand {}", quoted(subcommand)), NOT_LISTING));
    }
    None
}

/// The arguments that are options: what comes behind `--` is none.
fn options_of(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments.iter().map(String::as_str).take_while(|argument| *argument != "--").filter(|text| text.starts_with('-'))
}

/// Whether `given` is that option, with or without a value. Long options may be shortened, as far as programs can tell
/// which is meant.
fn is(given: &str, option: &str) -> bool {
    if !option.starts_with("--") {
        return given.starts_with(option);
    }
    let name = given.split('=').next().unwrap_or(given);
    name.len() > 2 && option.starts_with(name)
}

fn quoted(text: &str) -> String {
    format!("`{}`", plain::line(text, 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn danger(line: &str) -> Option<String> {
        let mut words = line.split(' ').map(str::to_owned);
        let line = CommandLine { program: words.next().unwrap(), arguments: words.collect() };
        Danger::of(&line).map(|danger| danger.to_string())
    }

    #[test]
    fn what_runs_programs_or_leaves_its_place_is_refused() {
        for (line, what) in [
            ("git -c core.sshCommand=x log", "`-c` before its subcommand"),
            ("git -ccore.fsmonitor=x status", "`-ccore.fsmonitor=x` before its subcommand"),
            ("git --config-env=core.pager=X log", "`--config-env=core.pager=X` before its subcommand"),
            ("git -C .. log", "`-C` before its subcommand"),
            ("git --git-dir=/x log", "`--git-dir=/x` before its subcommand"),
            ("git --work-tree /x log", "`--work-tree` before its subcommand"),
            ("git --exec-path=/x log", "`--exec-path=/x` before its subcommand"),
            ("git -p log", "`-p` before its subcommand"),
            ("git --paginate log", "`--paginate` before its subcommand"),
            ("git --bare log", "`--bare` before its subcommand"),
            ("git -- log", "`--` before its subcommand"),
            ("git fetch --upload-pack=x", "subcommand `fetch`"),
            ("git clone ext::sh", "subcommand `clone`"),
            ("git ls-remote ext::sh", "subcommand `ls-remote`"),
            ("git push --receive-pack=x --exec=y", "subcommand `push`"),
            ("git archive --remote=x --exec=y", "subcommand `archive`"),
            ("git config core.hooksPath x", "subcommand `config`"),
            ("git submodule foreach x", "subcommand `submodule`"),
            ("git bisect run x", "subcommand `bisect`"),
            ("git rebase --exec=x", "subcommand `rebase`"),
            ("git difftool -x y", "subcommand `difftool`"),
            ("git commit", "subcommand `commit`"),
            ("git checkout .", "subcommand `checkout`"),
            ("git init --template=x", "subcommand `init`"),
            ("git * x", "subcommand `*`"),
            ("git Log", "subcommand `Log`"),
            ("git evil-alias", "subcommand `evil-alias`"),
            ("git log --output=x", "`--output=x`"),
            ("git log --output x", "`--output`"),
            ("git log --outpu=x", "`--outpu=x`"),
            ("git log --ou x", "`--ou`"),
            ("git diff --no-index a b", "`--no-index`"),
            ("git diff --no-ind a b", "`--no-ind`"),
            ("git diff --ext-diff", "`--ext-diff`"),
            ("git diff --ext", "`--ext`"),
            ("git show --textconv x", "`--textconv`"),
            ("git show --textc x", "`--textc`"),
            ("git cat-file --filters x", "`--filters`"),
            ("git cat-file --textconv x", "`--textconv`"),
            ("git log --show-signature", "`--show-signature`"),
            ("git diff --submodule=diff", "`--submodule=diff`"),
            ("git status --ignore-submodules=none", "`--ignore-submodules=none`"),
            ("git ls-files --recurse-submodules", "`--recurse-submodules`"),
            ("git grep --open-files-in-pager=x y", "`--open-files-in-pager=x`"),
            ("git grep --open x", "`--open`"),
            ("git grep -Ox y", "`-Ox`"),
            ("git grep -nOx y", "`-nOx`"),
            ("git grep -f x", "`-f`"),
            ("git grep -if x", "`-if`"),
            ("git diff -Ox", "`-Ox`"),
            ("git blame --contents /etc/passwd x", "`--contents`"),
            ("git blame --ignore-revs-file x y", "`--ignore-revs-file`"),
            ("git log --exec=x", "`--exec=x`"),
            ("git log --upload-pack=x", "`--upload-pack=x`"),
            ("git log --git-dir=x", "`--git-dir=x`"),
            ("git log --config-env=a=b", "`--config-env=a=b`"),
            ("git rev-parse --resolve-git-dir /x", "`--resolve-git-dir`"),
            ("git log ext::sh%20-c", "`ext::sh%20-c`"),
            ("git tag x", "subcommand `tag`"),
            ("git tag -s x", "subcommand `tag`"),
            ("git cat-file --text x", "`--text`"),
            ("git branch -r -d x", "subcommand `branch`"),
            ("git branch x", "subcommand `branch`"),
            ("git branch --edit-description --list", "`--edit-description`"),
            ("/usr/bin/git -c x log", "`-c` before its subcommand"),
            ("git.exe -c x log", "`-c` before its subcommand"),
            ("rg --pre=x y", "`--pre=x`"),
            ("rg --hostname-bin x y", "`--hostname-bin`"),
            ("fd x --exec rm", "`--exec`"),
            ("fd -X rm", "`-X`"),
            ("tar --to-command=x -xf y", "`--to-command=x`"),
            ("tar --checkpoint-action exec=x", "`--checkpoint-action`"),
            ("tar -I x -cf y", "`-I`"),
            ("rsync -e x a b", "`-e`"),
            ("ssh -oProxyCommand=x y", "`-oProxyCommand=x`"),
            ("man -Px y", "`-Px`"),
            ("cargo --config x test", "`--config`"),
            ("go test -exec x", "`-exec`"),
            ("curl -o x y", "`-o`"),
            ("sort --compress-program=x y", "`--compress-program=x`"),
        ] {
            let told = danger(line).unwrap_or_else(|| panic!("`{line}` is not refused"));
            assert!(told.contains(&format!("'s {what} is not for plugins: ")), "{line}: {told}");
        }
    }

    #[test]
    fn what_shows_something_is_not() {
        for line in [
            "git",
            "git version",
            "git status --porcelain=v2 --branch -z",
            "git log -c -C --text --oneline -n3 -S-c --format=%H -- -c --output",
            "git diff --stat --numstat --no-ext-diff --cached",
            "git show HEAD:a.txt",
            "git blame -L1,3 --porcelain -C -- a.txt",
            "git grep -n -e fOO",
            "git ls-files --exclude=x --exclude-standard",
            "git rev-parse --verify HEAD",
            "git grep -F --text x",
            "git branch --list",
            "git branch -a --list --format=x",
            "git tag --list v1",
            "git tag",
            "git diff -- ext:x",
            "rg -n x",
            "tar -tf x",
            "cargo test --workspace",
            "ls -O -c",
        ] {
            assert_eq!(danger(line), None, "{line}");
        }
    }
}
