//! What can be typed, as tables.

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    let words = std::iter::once("acp-runtime").chain(line.split(' ').filter(|word| !word.is_empty()));
    read(words.map(Into::into))
}

#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
    definition().debug_assert();
}

#[test]
fn what_is_typed_is_read() {
    for line in [
        "",
        "--acp",
        "acp",
        "acp --log-level debug --log-file /tmp/x",
        "acp --log-level warn,host=debug,mcp=trace",
        "--acp --mcp a.json --mcp b.json",
        "run --mcp a.json hello",
        "--acp --config c.toml --model script:x.toml --mode auto",
        "run hello",
        "run --cwd /p --mode plan --model lab/m --json --allow write:notes/** --allow run --deny fetch -- --hello",
        "run -",
        "run --continue --cwd /p hello",
        "run --session abc hello",
        "run --cwd --odd hello",
        "session list --cwd -x",
        "plugin install -- --odd",
        "--config -c config check",
        "session list --cwd /p --json",
        "session show",
        "session show abc --json",
        "session export",
        "session export abc --format json --output a.md",
        "session export --output a.md --force",
        "session delete a b --yes --json",
        "plugin list --json",
        "plugin info aar:notes",
        "plugin install ./x.wasm --yes",
        "plugin install oci://h/x:1 --trust-publisher RW --allow-unsigned sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 --allow-downgrade",
        "plugin verify --all",
        "plugin verify acme:x --json",
        "plugin pack x.wasm -o x.tar --key key",
        "plugin publish x.wasm oci://h/x --key key --replace --json",
        "plugin keygen key --no-password",
        "trust add publisher acme --key RW --namespace a --namespace b --until 2027-12-31",
        "trust add publisher acme --namespace a",
        "trust remove publisher acme",
        "plugin remove aar:notes",
        "plugin new acme:greet --lang c --dir -x",
        "plugin build",
        "plugin build --component a --manifest b --output c",
        "plugin test x --built y --only z --update --json",
        "plugin dev x --watch --yes",
        "config show",
        "config path --all",
        "config check",
        "config schema",
        "doctor --json",
        "models",
        "models --json",
        "audit show",
        "audit show --session 01 --plugin aar:notes --class write --decision deny --since 7d --json",
        "audit verify --json",
        "login",
        "login lab",
        "logout lab",
        "--acp --login",
        "acp --login",
        "secret set lab",
        "secret list --json",
        "secret remove lab",
        "completions zsh",
    ] {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
    }
    for line in [
        "--apc",
        "run",
        "run a b",
        "run --continue --session abc x",
        "run --session abc --cwd /p x",
        "run --mode yolo x",
        "run --allow wirte x",
        "run --allow kv:x x",
        "--log-level loud",
        "--log-level warn,hots=debug",
        "session",
        "plugin install",
        "plugin new acme:greet",
        "plugin new acme:greet --lang cobol",
        "completions tcsh",
        "session list --deny run",
        "audit",
        "audit show --class wirte",
        "audit show --decision maybe",
        "audit show --since yesterday",
        "audit verify --head 12",
        "session delete",
        "session export --format html",
        "session export --force",
        "secret set",
        "secret set lab value",
        "secret set a.b",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_command_that_is_typed_wrong_is_known() {
    for (line, command) in [
        ("", ""),
        ("--apc", ""),
        ("sesion list", ""),
        ("session list --deny run", "session list"),
        ("--mode plan session --log-level session delete", "session delete"),
        ("--mode=plan run --session list", "run"),
        ("run -- session", "run"),
        ("plugin install a list", "plugin install"),
    ] {
        let words = std::iter::once("acp-runtime").chain(line.split(' ').filter(|word| !word.is_empty()));
        assert_eq!(command_of(words.map(Into::into)), command, "{line}");
    }
}

#[test]
fn what_overrides_the_files() {
    let overrides = parse("run --mode auto --deny run --deny write:a x").unwrap().overrides().unwrap();
    assert_eq!(overrides.mode, Some(Mode::Auto));
    assert_eq!(overrides.deny.iter().map(ToString::to_string).collect::<Vec<_>>(), ["run", "write:a"]);
    assert_eq!(overrides.log_level, None);
}

#[test]
fn a_time_is_a_moment_a_day_or_how_long_ago() {
    let exact = |text: &str| since(text).unwrap().to_string();
    assert_eq!(exact("2026-11-30T10:00:00Z"), "2026-11-30T10:00:00Z");
    assert_eq!(exact("2026-11-30"), "2026-11-30T00:00:00Z");
    for (text, seconds) in [("90m", 5400), ("2h", 7200), ("7d", 7 * 86_400), ("1h 30m", 5400)] {
        let then = since(text).unwrap();
        let ago = Timestamp::now().duration_since(then).as_secs();
        assert!((seconds..seconds + 60).contains(&ago), "{text}: {ago}");
    }
    for text in ["", "d", "2026", "-", "soon"] {
        assert!(since(text).is_err(), "{text}");
    }
}
