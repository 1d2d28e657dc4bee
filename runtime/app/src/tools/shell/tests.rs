//! Command lines told apart, against a real shell.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use acp_runtime_agent::capability::CommandLine;
use proptest::prelude::*;

/// The arguments of each `probe` that a real shell runs for `line`, in order.
fn probes(place: &Path, line: &str) -> Vec<Vec<String>> {
    let log = place.join("log");
    std::fs::write(&log, "").unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).current_dir(place.join("empty")).env_clear();
    shell.env("PATH", place.join("bin")).env("LOG", &log).env("x", "value of x").env("HOME", "/home/of");
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    let calls = log.split_terminator("\0\n\0").map(|call| call.split_terminator('\0'));
    calls.map(|call| call.skip(1).map(str::to_owned).collect()).collect()
}

/// A folder with the only program that there is, and another one with nothing in it.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for folder in ["bin", "empty"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    let probe = place.path().join("bin/probe");
    std::fs::write(
        &probe,
        "#!/bin/sh\n{ printf 'probe\\0'; [ $# = 0 ] || printf '%s\\0' \"$@\"; printf '\\0\\n\\0'; } >> \"$LOG\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&probe, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn piece() -> impl Strategy<Value = String> {
    const PIECES: [&str; 44] = [
        "a",
        "b",
        "probe",
        "--all",
        "x=y",
        "'q $x'",
        "\"r s\"",
        "''",
        "\"\"",
        "ü",
        "./p",
        "a:b",
        "1",
        "%",
        "+",
        ",",
        "^",
        "@",
        "&&",
        "||",
        ";",
        "|",
        "\n",
        "2>&1",
        ">/dev/null",
        "2>/dev/null",
        "&",
        "$x",
        "${x}",
        "$(probe)",
        "`probe`",
        "*",
        "?",
        "~",
        "!",
        "#",
        "\\",
        "{a,b}",
        "[a]",
        "(",
        ")",
        ">f",
        "<f",
        "\"$x\"",
    ];
    (prop::sample::select(PIECES.to_vec()), prop::sample::select(vec!["", " ", " ", "  ", "\t"]))
        .prop_map(|(piece, space)| format!("{piece}{space}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_shell_runs_what_was_told_apart(pieces in prop::collection::vec(piece(), 0..7)) {
        let line = format!("probe {}", pieces.concat());
        let told = CommandLine::of_shell(&line, []);
        if told.first().is_some_and(|first| first.program == "sh") {
            return Ok(());
        }
        let place = place();
        let ran = probes(place.path(), &line);
        let mut told: Vec<_> = told.into_iter().filter(|command| command.program == "probe").collect();
        // What stands behind a program that is not there may be passed over, but nothing else is ever run. Those of a
        // pipe run at the same time.
        for arguments in &ran {
            let found = told.iter().position(|command| command.arguments == *arguments);
            prop_assert!(found.is_some(), "{line:?}: {arguments:?} not in {told:?}");
            told.remove(found.unwrap());
        }
        prop_assert!(!ran.is_empty(), "{line:?}: the first is always run");
        prop_assert_eq!(std::fs::read_dir(place.path().join("empty")).unwrap().count(), 0, "{:?}", line);
    }
}
