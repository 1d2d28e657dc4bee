//! What a repository could make git do, closed.
//!
//! A repository's configuration and attributes name programs that git runs by itself: a monitor of files, hooks, filters,
//! drivers, pagers, signers, transports. A plugin that only looks at a stranger's repository must not start them, so git
//! gets settings over the repository's own: fixed ones, and one for each driver that the repository's configuration names.
//! System and user settings are left out. Which subcommands and options there are is decided by the policy.

use std::collections::BTreeMap;
use std::path::Path;

/// Lists the names of all settings that hold, each with a zero byte behind it. Runs nothing.
pub(crate) const LIST: [&str; 4] = ["config", "--list", "--name-only", "-z"];

/// Settings of a repository that are closed one by one, at most.
const MOST: usize = 2000;

/// Settings over those of the repository.
const SETTINGS: [(&str, &str); 32] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("sequence.editor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "none"),
    ("core.alternateRefsCommand", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("diff.external", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("diff.submodule", "short"),
    ("diff.orderFile", "/dev/null"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
    ("gpg.ssh.allowedSignersFile", "/dev/null"),
    ("mailmap.file", "/dev/null"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.untrackedCache", "false"),
    ("advice.graftFileDeprecated", "false"),
];

/// Settings with a name of their own in the middle: `filter.NAME.clean`. Empty, a filter is none.
const NAMED: [(&str, &str, &str); 15] = [
    ("filter", "clean", ""),
    ("filter", "smudge", ""),
    ("filter", "process", ""),
    ("filter", "required", "false"),
    ("diff", "command", "false"),
    ("diff", "textconv", "cat"),
    ("diff", "cachetextconv", "false"),
    ("merge", "driver", "false"),
    ("gpg", "program", "false"),
    ("hook", "command", "true"),
    ("trailer", "command", "true"),
    ("trailer", "cmd", "true"),
    ("credential", "helper", ""),
    ("submodule", "ignore", "all"),
    ("remote", "promisor", "false"),
];

/// Variables over all others.
const VARIABLES: [(&str, &str); 17] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("GIT_FLUSH", "0"),
];

/// Whether that program is git.
pub(crate) fn is(program: &str) -> bool {
    program == "git"
}

/// The variables that close git to what can be known beforehand, and keep it from looking for a repository above `roots`.
pub(crate) fn variables<'a>(roots: impl IntoIterator<Item = &'a Path>) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> =
        VARIABLES.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let above = roots.into_iter().filter_map(Path::parent).map(|folder| folder.display().to_string());
    // Empty parts are left out by git, and none can have the separator in it.
    let above: Vec<String> = above.filter(|folder| !folder.contains(SEPARATOR)).collect();
    variables.insert("GIT_CEILING_DIRECTORIES".to_owned(), above.join(&SEPARATOR.to_string()));
    set(&mut variables, SETTINGS.into_iter().map(|(key, value)| (key.to_owned(), value)));
    variables
}

/// What separates the folders of a list.
const SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };

/// Closes what `list` names, which is what git gave for [`LIST`]. The error says why that cannot be done.
pub(crate) fn close(variables: &mut BTreeMap<String, String>, list: &[u8]) -> Result<(), String> {
    let mut named = Vec::new();
    for key in list.split(|byte| *byte == 0).filter(|key| !key.is_empty()) {
        let Some(value) = closed(key) else { continue };
        let key = str::from_utf8(key).map_err(|_| "a driver's name in its configuration is not Unicode".to_owned())?;
        named.push((key.to_owned(), value));
    }
    named.sort_unstable();
    named.dedup();
    if named.len() > MOST {
        return Err(format!("its configuration names {} drivers and programs; at most {MOST}", named.len()));
    }
    set(variables, SETTINGS.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(named));
    Ok(())
}

/// The value that closes that setting; none where it runs nothing.
fn closed(key: &[u8]) -> Option<&'static str> {
    let dots = || key.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    let (first, last) = (dots().next()?, dots().next_back()?);
    let (section, variable) = (key.get(..first)?, key.get(last + 1..)?);
    if section.eq_ignore_ascii_case(b"pager") {
        return Some("false");
    }
    let is = |known: &str, text: &[u8]| known.as_bytes().eq_ignore_ascii_case(text);
    let named = NAMED.iter().filter(|_| first < last);
    named.filter(|(known, name, _)| is(known, section) && is(name, variable)).map(|(.., value)| *value).next()
}

/// Numbers the settings, as git reads them from its environment.
fn set(variables: &mut BTreeMap<String, String>, settings: impl Iterator<Item = (String, &'static str)>) {
    let mut count = 0;
    for (key, value) in settings {
        variables.insert(format!("GIT_CONFIG_KEY_{count}"), key);
        variables.insert(format!("GIT_CONFIG_VALUE_{count}"), value.to_owned());
        count += 1;
    }
    variables.insert("GIT_CONFIG_COUNT".to_owned(), count.to_string());
}

/// `asked`, with the options behind the subcommand that leave out drivers and other repositories inside of this one.
pub(crate) fn arguments(asked: &[String]) -> Vec<String> {
    let Some((subcommand, rest)) = asked.split_first() else { return Vec::new() };
    let options: &[&str] = match subcommand.as_str() {
        "diff" | "diff-files" | "diff-index" | "diff-tree" | "log" | "show" => {
            &["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]
        }
        "status" => &["--ignore-submodules=all"],
        "blame" | "annotate" | "grep" => &["--no-textconv"],
        _ => &[],
    };
    let options = options.iter().map(|&option| option.to_owned());
    std::iter::once(subcommand.clone()).chain(options).chain(rest.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &BTreeMap<String, String>) -> Vec<String> {
        let count: usize = variables["GIT_CONFIG_COUNT"].parse().unwrap();
        let setting = |at| {
            format!("{}={}", variables[&format!("GIT_CONFIG_KEY_{at}")], variables[&format!("GIT_CONFIG_VALUE_{at}")])
        };
        (0..count).map(setting).collect()
    }

    #[test]
    fn each_driver_of_a_repository_is_closed() {
        let mut variables = variables([Path::new("/a/project"), Path::new("/b"), Path::new("/")]);
        assert_eq!(variables["GIT_CEILING_DIRECTORIES"], "/a:/");
        let fixed = settings(&variables);
        assert!(fixed.contains(&"core.fsmonitor=false".to_owned()), "{fixed:?}");
        let keys = [
            "user.name",
            "core.bare",
            "filter.ev.il.clean",
            "filter.x y.process",
            "FILTER.x.Required",
            "diff.a.textconv",
            "diff.a.xfuncname",
            "diff.renames",
            "pager.log",
            "alias.st",
            "merge.a.driver",
            "filter.clean",
            "gpg.program",
            "hook.a.command",
            "filter.x.clean",
            "filter.x.clean",
            "submodule.a.ignore",
            "remote.o.url",
        ];
        close(&mut variables, keys.join("\0").as_bytes()).unwrap();
        let all = settings(&variables);
        assert_eq!(all[..fixed.len()], fixed);
        assert_eq!(
            all[fixed.len()..],
            [
                "FILTER.x.Required=false",
                "diff.a.textconv=cat",
                "filter.ev.il.clean=",
                "filter.x y.process=",
                "filter.x.clean=",
                "hook.a.command=true",
                "merge.a.driver=false",
                "pager.log=false",
                "submodule.a.ignore=all",
            ]
        );
        assert!(close(&mut variables, b"filter.\xff.clean\0").is_err());
        let many = (0..=MOST).map(|at| format!("filter.{at}.clean")).collect::<Vec<_>>().join("\0");
        assert!(close(&mut variables, many.as_bytes()).unwrap_err().contains("at most 2000"));
    }

    #[test]
    fn drivers_and_other_repositories_are_left_out_by_option() {
        let given = |line: &str| arguments(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).join(" ");
        for (asked, all) in [
            ("", ""),
            ("version", "version"),
            ("status -z", "status --ignore-submodules=all -z"),
            ("blame -L1,2 -- a", "blame --no-textconv -L1,2 -- a"),
            ("log -p -- a", "log --no-ext-diff --no-textconv --ignore-submodules=all -p -- a"),
        ] {
            assert_eq!(given(asked), all);
        }
    }
}
