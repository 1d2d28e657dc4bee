//! The policy table, row by row: each row gives the decision in every mode.

use super::*;
use crate::capability::{
    CommandLine, Grant, HookEvent, HostPattern, KvScope, NetRequest, OwnFolder, PathScope, PluginId, RootId,
    RunPattern, RunRight, SecretName, SecretPlace, SecretRight, ServerName, ToolName, WorkspacePath,
};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(RootId(0), text).unwrap()
}

fn scope(text: &str) -> PathScope {
    PathScope { root: RootId(0), glob: PathGlob::parse(text).unwrap() }
}

fn run() -> Effect {
    Effect::Run(CommandLine { program: "git".into(), arguments: vec!["log".into()] })
}

fn fetch() -> Effect {
    Effect::Fetch(NetRequest { scheme: "https".into(), host: "a.com".into(), port: 443, path: "/".into() })
}

fn fetch_local() -> Effect {
    Effect::Fetch(NetRequest { scheme: "http".into(), host: "localhost".into(), port: 80, path: "/".into() })
}

fn server(read_only: bool) -> Effect {
    Effect::CallServer { server: ServerName::new("s").unwrap(), tool: ToolName::new("t").unwrap(), read_only }
}

fn call_plugin() -> Effect {
    Effect::CallPlugin(PluginId::new("a:b").unwrap(), ToolName::new("t").unwrap())
}

fn move_() -> Effect {
    Effect::Move { from: path("src/a"), to: path("src/b") }
}

fn secret() -> Effect {
    Effect::UseSecret(SecretName::new("token").unwrap())
}

fn every_grant() -> Vec<Grant> {
    vec![
        Grant::Read(PathGlob::parse("src/**").unwrap()),
        Grant::Write(PathGlob::parse("src/**").unwrap()),
        Grant::Run(RunRight::new(RunPattern { program: "git".into(), arguments: vec!["log".into()] }, &[]).unwrap()),
        Grant::Net(HostPattern::parse("https://a.com").unwrap()),
        Grant::Secret(SecretRight {
            name: SecretName::new("token").unwrap(),
            audience: HostPattern::parse("https://a.com").unwrap(),
            place: SecretPlace::Query("key".into()),
        }),
        Grant::Kv,
        Grant::OwnFiles(OwnFolder::Data),
        Grant::ReadSession,
        Grant::Prompt,
        Grant::Hook(HookEvent::ToolCall),
    ]
}

fn set(tier: Tier, ceiling: Vec<Grant>, granted: Vec<Grant>) -> GrantSet {
    GrantSet { tier, ceiling, granted }
}

/// `review auto-edit auto read-only plan`, one letter each: allow, ask (`?`), mode, undeclared, not granted, not here, a folder of
/// the session, a folder that no right names.
fn row(effect: &Effect, grants: &GrantSet) -> String {
    let policy = Policy::new(vec![PathGlob::parse("**/.env").unwrap()]);
    Mode::ALL
        .into_iter()
        .map(|mode| match policy.decide(effect, grants, mode) {
            Decision::Allow => 'A',
            Decision::Ask => '?',
            Decision::Deny(Rule::Mode(named)) if named == mode => 'm',
            Decision::Deny(Rule::Mode(other)) => panic!("{mode:?} is refused as {other:?}"),
            Decision::Deny(Rule::DenyList(_)) => 'd',
            Decision::Deny(Rule::Undeclared) => 'u',
            Decision::Deny(Rule::NotGranted) => 'g',
            Decision::Deny(Rule::NotForThisCode) => 'n',
            Decision::Deny(Rule::SessionFolder) => 's',
            Decision::Deny(Rule::Dangerous(_)) => 'x',
            Decision::Deny(Rule::Unnamed(_)) => 'f',
        })
        .collect()
}

#[test]
fn native_tools() {
    let native = GrantSet::native();
    for (effect, expected) in [
        (Effect::Read(scope("**")), "AAAAA"),
        (Effect::Write(scope("src/a")), "?AAmm"),
        (move_(), "?AAmm"),
        (Effect::Delete(scope("src/a")), "??Amm"),
        (run(), "??Amm"),
        (fetch(), "??A?m"),
        (fetch_local(), "????m"),
        (server(true), "??A??"),
        (server(false), "??Amm"),
        (call_plugin(), "AAAAA"),
        (secret(), "nnnnn"),
        (Effect::ReadSession, "nnnnn"),
        (Effect::Prompt, "nnnnn"),
        (Effect::Kv(KvScope::User), "nnnnn"),
        (Effect::OwnFiles(OwnFolder::Data), "nnnnn"),
        (Effect::Read(scope("a/.env")), "ddddd"),
        (Effect::Write(scope(".env")), "ddddd"),
        (Effect::Delete(scope(".env")), "ddddd"),
        (Effect::Move { from: path("a"), to: path("b/.env") }, "ddddd"),
        (Effect::Move { from: path(".env"), to: path("b") }, "ddddd"),
    ] {
        assert_eq!(row(&effect, &native), expected, "{effect}");
    }
}

#[test]
fn single_flags_give_states_between_the_modes() {
    let native = GrantSet::native();
    let runs = Leeway::default().with_runs(true);
    let held = Leeway::from(Mode::Auto).with_read_only(true);
    let decide = |effect: &Effect, leeway| Policy::default().decide(effect, &native, leeway);
    let refused = || Decision::Deny(Rule::Mode(Mode::ReadOnly));
    for (effect, while_running, while_held) in [
        (Effect::Write(scope("src/a")), Decision::Ask, refused()),
        (Effect::Delete(scope("src/a")), Decision::Ask, refused()),
        (run(), Decision::Allow, refused()),
        (server(false), Decision::Allow, refused()),
        (fetch(), Decision::Ask, Decision::Ask),
        (Effect::Read(scope("src/a")), Decision::Allow, Decision::Allow),
    ] {
        assert_eq!((decide(&effect, runs), decide(&effect, held)), (while_running, while_held), "{effect}");
    }
}

#[test]
fn bundled_plugins() {
    let full = set(Tier::Bundled, every_grant(), every_grant());
    let bare = set(Tier::Bundled, every_grant(), Vec::new());
    let none = set(Tier::Bundled, Vec::new(), every_grant());
    for (effect, with_grant, without, undeclared) in [
        (Effect::Read(scope("src/**")), "AAAAA", "ggggg", "uuuuu"),
        (Effect::Write(scope("src/a")), "?AAmm", "ggggg", "uuuuu"),
        (move_(), "?AAmm", "ggggg", "uuuuu"),
        (Effect::Delete(scope("src/a")), "??Amm", "ggggg", "uuuuu"),
        (run(), "??Amm", "ggggg", "uuuuu"),
        (fetch(), "??A?m", "ggggg", "uuuuu"),
        (secret(), "AAAAA", "ggggg", "uuuuu"),
        (Effect::ReadSession, "AAAAA", "ggggg", "uuuuu"),
        (Effect::Prompt, "AAAAA", "ggggg", "uuuuu"),
        (Effect::Hook(HookEvent::ToolCall), "AAAAA", "ggggg", "uuuuu"),
        (Effect::Hook(HookEvent::UserMessage), "uuuuu", "uuuuu", "uuuuu"),
        (Effect::Kv(KvScope::Project), "AAAAA", "AAAAA", "uuuuu"),
        (Effect::OwnFiles(OwnFolder::Data), "AAAAA", "ggggg", "uuuuu"),
        (Effect::OwnFiles(OwnFolder::Tmp), "uuuuu", "uuuuu", "uuuuu"),
        (server(true), "uuuuu", "uuuuu", "uuuuu"),
        (call_plugin(), "uuuuu", "uuuuu", "uuuuu"),
        (Effect::Write(scope("src/.env")), "ddddd", "ddddd", "ddddd"),
    ] {
        assert_eq!(row(&effect, &full), with_grant, "{effect} granted");
        assert_eq!(row(&effect, &bare), without, "{effect} not granted");
        assert_eq!(row(&effect, &none), undeclared, "{effect} undeclared");
    }
}

#[test]
fn other_plugins() {
    let full = set(Tier::Installed, every_grant(), every_grant());
    let bare = set(Tier::Installed, every_grant(), Vec::new());
    let none = set(Tier::Installed, Vec::new(), every_grant());
    for (effect, with_grant, without, undeclared) in [
        (Effect::Read(scope("src/**")), "AAAAA", "?????", "uuuuu"),
        (Effect::Write(scope("src/a")), "?AAmm", "ggggg", "uuuuu"),
        (move_(), "?AAmm", "ggggg", "uuuuu"),
        (Effect::Delete(scope("src/a")), "??Amm", "ggggg", "uuuuu"),
        (run(), "??Amm", "ggggg", "uuuuu"),
        (fetch(), "AAAAm", "ggggg", "uuuuu"),
        (secret(), "AAAAA", "ggggg", "uuuuu"),
        (Effect::ReadSession, "AAAAA", "ggggg", "uuuuu"),
        (Effect::Prompt, "AAAAA", "ggggg", "uuuuu"),
        (Effect::Hook(HookEvent::ToolCall), "AAAAA", "ggggg", "uuuuu"),
        (Effect::Hook(HookEvent::UserMessage), "uuuuu", "uuuuu", "uuuuu"),
        (Effect::Kv(KvScope::Project), "AAAAA", "AAAAA", "uuuuu"),
        (Effect::OwnFiles(OwnFolder::Data), "AAAAA", "?????", "uuuuu"),
        (Effect::OwnFiles(OwnFolder::Tmp), "uuuuu", "uuuuu", "uuuuu"),
        (server(false), "uuuuu", "uuuuu", "uuuuu"),
        (Effect::Read(scope("src/.env")), "ddddd", "ddddd", "ddddd"),
        (Effect::Read(scope("docs/a")), "uuuuu", "uuuuu", "uuuuu"),
        (Effect::Move { from: path("src/a"), to: path("docs/a") }, "uuuuu", "uuuuu", "uuuuu"),
    ] {
        assert_eq!(row(&effect, &full), with_grant, "{effect} granted");
        assert_eq!(row(&effect, &bare), without, "{effect} not granted");
        assert_eq!(row(&effect, &none), undeclared, "{effect} undeclared");
    }
}

#[test]
fn a_grant_outside_the_ceiling_gives_nothing() {
    let ceiling = vec![Grant::Write(PathGlob::parse("notes/**").unwrap())];
    let granted = vec![Grant::Write(PathGlob::parse("**").unwrap())];
    let grants = set(Tier::Installed, ceiling, granted);
    assert_eq!(row(&Effect::Write(scope("notes/a")), &grants), "?AAmm");
    assert_eq!(row(&Effect::Write(scope("src/a")), &grants), "uuuuu");
}

#[test]
fn what_is_forbidden_is_denied_in_every_mode_and_to_everyone() {
    let policy = Policy::default().forbid(["run", "write:src/**"].map(|text| EffectPattern::parse(text).unwrap()));
    let denied = |text: &str| Decision::Deny(Rule::DenyList(text.to_owned()));
    for grants in [GrantSet::native(), set(Tier::Installed, every_grant(), every_grant())] {
        for mode in Mode::ALL {
            assert_eq!(policy.decide(&run(), &grants, mode), denied("run"), "{mode:?}");
            assert_eq!(
                policy.decide(&Effect::Write(scope("src/a")), &grants, mode),
                denied("write:src/**"),
                "{mode:?}"
            );
        }
    }
    let elsewhere = Effect::Write(scope("docs/a"));
    assert_eq!(policy.decide(&elsewhere, &GrantSet::native(), Mode::Auto), Decision::Allow);
}

/// A person may run it all the same; a plugin may not, whatever it was granted.
#[test]
fn what_is_dangerous_is_not_for_plugins() {
    let line =
        CommandLine { program: "git".into(), arguments: ["-c", "core.pager=x", "log"].map(str::to_owned).into() };
    let effect = Effect::Run(line);
    assert_eq!(row(&effect, &GrantSet::native()), "??Amm");
    for tier in [Tier::Bundled, Tier::Installed] {
        assert_eq!(row(&effect, &set(tier, every_grant(), every_grant())), "xxxxx");
    }
}

/// What other programs act on is changed only by a right that names the folder; to read it needs no more than elsewhere.
#[test]
fn a13_a_right_to_everything_is_none_to_what_other_programs_act_on() {
    let (read, write) = (Grant::Read(PathGlob::subtree("")), |glob: &str| Grant::Write(PathGlob::parse(glob).unwrap()));
    let everything = vec![read.clone(), write("**")];
    let named = vec![read, write("**"), write(".zed/**"), write("sub/.vscode/tasks.json")];
    let moved = |from: &str, to: &str| Effect::Move { from: path(from), to: path(to) };
    for (effect, by_everything, by_name) in [
        (Effect::Write(scope("src/a")), "?AAmm", "?AAmm"),
        (Effect::Write(scope("**")), "?AAmm", "?AAmm"),
        (Effect::Write(scope("a.zed/x")), "?AAmm", "?AAmm"),
        (Effect::Read(scope(".zed/settings.json")), "AAAAA", "AAAAA"),
        (Effect::Write(scope(".zed/settings.json")), "fffmm", "?AAmm"),
        (Effect::Write(scope("deep/.Zed/tasks.json")), "fffmm", "?AAmm"),
        (Effect::Delete(scope(".zed")), "fffmm", "??Amm"),
        (Effect::Write(scope(".vscode/tasks.json")), "fffmm", "?AAmm"),
        (Effect::Write(scope(".github/workflows/ci.yml")), "fffmm", "fffmm"),
        (Effect::Write(scope(".git/info/exclude")), "fffmm", "fffmm"),
        (Effect::Write(scope(".acp-runtime/plugins/a.wasm")), "fffmm", "fffmm"),
        (moved("src/zed", ".zed"), "fffmm", "?AAmm"),
        (moved(".idea/a.xml", "a.xml"), "fffmm", "fffmm"),
    ] {
        for tier in [Tier::Bundled, Tier::Installed] {
            for (rights, expected) in [(&everything, by_everything), (&named, by_name)] {
                let found = row(&effect, &set(tier, rights.clone(), rights.clone()));
                assert_eq!(found, expected, "{tier:?} {effect} {rights:?}");
            }
        }
        let found = row(&effect, &set(Tier::Installed, named.clone(), everything.clone()));
        assert_eq!(found.contains('f'), by_everything.contains('f'), "asked for and not granted: {effect}");
    }
}
