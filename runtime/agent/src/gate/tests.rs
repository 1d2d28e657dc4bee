//! The gate against a policy, a person and a book: what is asked, what is remembered, what is audited.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;

use super::*;
use crate::capability::{CommandLine, Grant, PathGlob, PathScope, RootId, RunPattern, RunRight, Tier, WorkspacePath};
use crate::policy::Mode;

#[derive(Default)]
struct World {
    answer: Mutex<Option<Approval>>,
    asked: Mutex<Vec<Ask>>,
    remembered: Mutex<HashMap<String, bool>>,
    audit: Mutex<Vec<String>>,
    /// What stands there, one look after another, the last one first.
    stamps: Mutex<Vec<u64>>,
    /// What is refused for good when folders are lent.
    refused: Mutex<Option<String>>,
    /// What plugins say for themselves.
    reason: Mutex<Option<String>>,
    /// What was settled.
    settled: Mutex<Vec<String>>,
}

fn about(effect: &Effect) -> String {
    format!("{}:{}", effect.class(), effect.key())
}

/// `notes` is a folder, `link` is another name for it; in it `out` leads to `src`.
impl Ground for World {
    fn real<'a>(&'a self, path: &'a WorkspacePath) -> BoxFuture<'a, Option<WorkspacePath>> {
        let text = path.as_str();
        let real = match (text.strip_prefix("link"), text.strip_prefix("notes/out")) {
            (Some(rest), _) => format!("notes{rest}"),
            (_, Some(rest)) => format!("src{rest}"),
            (None, None) => text.to_owned(),
        };
        Box::pin(async move { (real != "broken").then(|| self::path(&real)) })
    }

    fn stamp<'a>(&'a self, _: &'a WorkspacePath) -> BoxFuture<'a, u64> {
        let stamp = self.stamps.lock().unwrap().pop().unwrap_or_default();
        Box::pin(async move { stamp })
    }
}

impl Approver for World {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        self.asked.lock().unwrap().push(ask);
        let answer = self.answer.lock().unwrap().expect("nothing should have been asked");
        Box::pin(async move { answer })
    }
}

impl GrantBook for World {
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet> {
        let make = RunPattern { program: "make".into(), arguments: Vec::new() };
        let right = Grant::Run(RunRight::new(make, &[]).unwrap());
        let write = Grant::Write(PathGlob::subtree("notes"));
        let ceiling = vec![Grant::Read(PathGlob::subtree("")), write.clone(), right.clone()];
        let granted = if plugin.as_str().ends_with("-bare") { Vec::new() } else { vec![write, right] };
        plugin.as_str().starts_with("acme:notes").then_some(GrantSet { tier: Tier::Installed, ceiling, granted })
    }

    fn remembered<'a>(&'a self, origin: &'a Origin, effect: &'a Effect) -> BoxFuture<'a, Option<Remembered>> {
        let allowed = self.remembered.lock().unwrap().get(&format!("{} {effect}", origin.subject())).copied();
        let answer = allowed.map(|allowed| Remembered { allowed, about: about(effect), scope: Scope::Project });
        Box::pin(async move { answer })
    }

    fn refused<'a>(&'a self, _: &'a Origin) -> BoxFuture<'a, Refused> {
        let refused = self.refused.lock().unwrap().clone();
        let refused: Refused = Arc::new(move |effect| refused.clone().filter(|refused| *refused == effect.to_string()));
        Box::pin(async { refused })
    }

    fn introduces(&self, _: &PluginId, effect: &Effect) -> Option<Introduction> {
        let reason = self.reason.lock().unwrap().clone()?;
        let reason = effect.is_read().then_some(reason);
        Some(Introduction { publisher: "nobody knows it".to_owned(), version: "1.2.3".to_owned(), reason })
    }

    fn keeps(&self, origin: &Origin) -> bool {
        !origin.subject().ends_with("-in-the-making")
    }

    fn remember<'a>(&'a self, origin: &'a Origin, effect: &'a Effect, allowed: bool) -> BoxFuture<'a, ()> {
        self.remembered.lock().unwrap().insert(format!("{} {effect}", origin.subject()), allowed);
        Box::pin(async {})
    }
}

impl AuditSink for World {
    fn record(&self, entry: AuditEntry<'_>) {
        let verdict = if entry.allowed { "allowed" } else { "denied" };
        let times = if entry.times == 1 { String::new() } else { format!(", {} times", entry.times) };
        self.audit.lock().unwrap().push(format!("{} {verdict} by {}{times}", entry.effect, entry.by));
    }

    fn settled(&self, settled: &Settled<'_>) {
        let Settled { subject, about, scope, verdict, .. } = settled;
        self.settled.lock().unwrap().push(format!("{subject}: {about} {} ({scope})", verdict.as_str()));
    }
}

fn gate(mode: Mode, answer: Option<Approval>) -> (Arc<World>, Gate) {
    forbidding(&[], mode, answer)
}

fn forbidding(patterns: &[&str], mode: Mode, answer: Option<Approval>) -> (Arc<World>, Gate) {
    let world = Arc::new(World { answer: Mutex::new(answer), ..World::default() });
    let policy = Policy::default().forbid(patterns.iter().map(|pattern| pattern.parse().unwrap()));
    let (leeway, each) = (SharedLeeway::new(mode), || world.clone());
    let gate = Gate::new(Arc::new(policy), leeway, each(), each(), each(), each());
    (world, gate)
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(RootId(0), text).unwrap()
}

fn model() -> Origin {
    Origin::Model { call: ToolCallId::new("call-1"), tool: ToolName::new("write_file").unwrap() }
}

fn plugin(id: &str) -> Origin {
    Origin::Plugin { plugin: PluginId::new(id).unwrap(), call: None }
}

fn write(text: &str) -> Effect {
    Effect::Write(path(text).scope())
}

async fn outcome(gate: &Gate, origin: Origin, effect: Effect) -> String {
    match gate.authorize(origin, vec![effect.clone()]).await {
        Ok(permit) => {
            assert!(permit.covers(&effect));
            "permit".to_owned()
        }
        Err(refusal) => refusal.to_string(),
    }
}

#[tokio::test]
async fn a_permit_covers_what_was_allowed_and_no_more() {
    let (_, gate) = gate(Mode::Auto, None);
    let permit = gate.authorize(model(), vec![Effect::Read(path("src").subtree()), write("src/a")]).await.unwrap();
    assert!(permit.covers(&Effect::Read(path("src/deep/b").scope())));
    assert!(permit.covers(&write("src/a")));
    for other in [write("src/b"), Effect::Read(path("").subtree()), Effect::Delete(path("src/a").scope())] {
        assert!(!permit.covers(&other), "{other}");
    }
}

#[tokio::test]
async fn every_answer_has_its_consequence() {
    for (answer, expected) in [
        (Approval::AllowOnce, "permit"),
        (Approval::AllowAlways, "permit"),
        (Approval::RejectOnce, "denied: write `a`: the user refused"),
        (Approval::RejectAlways, "denied: write `a`: the user refused"),
        (Approval::Cancelled, "denied: write `a`: the question was withdrawn before it was answered"),
        (Approval::Late(Duration::from_secs(90)), "denied: write `a`: no answer within 90 s"),
        (Approval::Late(Duration::from_millis(1500)), "denied: write `a`: no answer within 1.5 s"),
        (Approval::NoChannel, "denied: write `a`: it needs a person's approval and there is nobody to ask"),
        (Approval::Malformed, "denied: write `a`: the client's answer to the question has not the form of one"),
    ] {
        let (world, gate) = gate(Mode::Review, Some(answer));
        assert_eq!(outcome(&gate, model(), write("a")).await, expected, "{answer:?}");
        // What was answered for good is not asked again; the rest is.
        let again = outcome(&gate, model(), write("a")).await;
        let asked = world.asked.lock().unwrap().len();
        match answer {
            Approval::AllowAlways => assert_eq!((again.as_str(), asked), ("permit", 1)),
            Approval::RejectAlways => {
                assert_eq!((again.as_str(), asked), ("denied: write `a`: the user has refused `write:a` for good", 1));
            }
            _ => assert_eq!(asked, 2, "{answer:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_is_remembered_for_that_subject_and_effect_only() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowAlways));
    outcome(&gate, model(), write("a")).await;
    *world.answer.lock().unwrap() = Some(Approval::RejectOnce);
    assert_eq!(outcome(&gate, model(), write("b")).await, "denied: write `b`: the user refused");
    let other = Origin::Model { call: ToolCallId::new("call-2"), tool: ToolName::new("edit_file").unwrap() };
    assert_eq!(outcome(&gate, other, write("a")).await, "denied: write `a`: the user refused");
}

#[tokio::test]
async fn a_no_for_good_goes_before_whatever_allows_it() {
    let (world, gate) = gate(Mode::Auto, None);
    world.remember(&model(), &write("a"), false).await;
    assert_eq!(outcome(&gate, model(), write("a")).await, "denied: write `a`: the user has refused `write:a` for good");
    assert_eq!(outcome(&gate, model(), write("b")).await, "permit");
    assert!(gate.unasked(model(), vec![write("a")]).await.is_none());
    assert!(gate.unasked(model(), vec![write("b")]).await.is_some());
    // A yes for good changes nothing for code that changes under its name.
    let (world, gate) = self::gate(Mode::Review, Some(Approval::RejectOnce));
    let (making, read) = (plugin("acme:notes-in-the-making"), Effect::Read(path("a").scope()));
    world.remember(&making, &read, true).await;
    assert!(gate.unasked(making.clone(), vec![read.clone()]).await.is_none());
    assert_eq!(outcome(&gate, making, read).await, "denied: read `a`: the user refused");
}

#[tokio::test]
async fn programs_are_never_allowed_for_good() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowAlways));
    let run = Effect::Run(CommandLine { program: "make".into(), arguments: vec![] });
    assert_eq!(outcome(&gate, model(), run.clone()).await, "permit");
    assert!(!world.asked.lock().unwrap()[0].may_remember);
    *world.answer.lock().unwrap() = Some(Approval::RejectOnce);
    assert_eq!(outcome(&gate, model(), run).await, "denied: run `make`: the user refused");
}

#[tokio::test]
async fn code_that_changes_under_its_name_is_never_allowed_for_good() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowAlways));
    let asking = || outcome(&gate, plugin("acme:notes-in-the-making"), Effect::Read(path("a").scope()));
    assert_eq!((asking().await.as_str(), asking().await.as_str()), ("permit", "permit"));
    let asked = world.asked.lock().unwrap();
    assert!(asked.len() == 2 && !asked[0].may_remember, "{asked:?}");
}

#[tokio::test]
async fn one_refusal_refuses_all_and_nothing_is_asked() {
    let (world, gate) = gate(Mode::ReadOnly, None);
    let effects = vec![Effect::Read(path("a").scope()), write("a")];
    let refusal = gate.authorize(model(), effects).await.unwrap_err();
    assert_eq!(refusal.to_string(), "denied: write `a`: the session is in mode `read-only`");
    assert_eq!(refusal.hint, "the user can change the session's mode");
    assert!(world.asked.lock().unwrap().is_empty());
    assert_eq!(*world.audit.lock().unwrap(), ["read `a` allowed by policy", "write `a` denied by mode"]);
}

#[tokio::test]
async fn several_open_effects_are_one_question() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowOnce));
    gate.authorize(model(), vec![Effect::Read(path("a").scope()), write("a"), write("b")]).await.unwrap();
    let asked = world.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].title, "tool write_file: write `a`, write `b`");
    assert_eq!(asked[0].call, Some(ToolCallId::new("call-1")));
}

#[tokio::test]
async fn plugins_have_their_own_rights() {
    let (_, gate) = gate(Mode::Auto, Some(Approval::RejectOnce));
    for (id, effect, expected) in [
        ("acme:notes", write("notes/a"), "permit"),
        ("acme:notes", write("src/a"), "denied: write `src/a`: the plugin's manifest does not ask for it"),
        ("acme:notes", Effect::Read(path("a").scope()), "denied: read `a`: the user refused"),
        ("acme:other", write("notes/a"), "denied: write `notes/a`: the plugin was not granted it"),
    ] {
        assert_eq!(outcome(&gate, plugin(id), effect.clone()).await, expected, "{id} {effect}");
    }
}

/// A person who makes the mode narrower before they say yes.
struct Cautious(SharedLeeway);

impl Approver for Cautious {
    fn ask(&self, _ask: Ask) -> BoxFuture<'_, Approval> {
        self.0.set(Mode::ReadOnly);
        Box::pin(async { Approval::AllowOnce })
    }
}

#[tokio::test]
async fn an_answer_does_not_outlive_the_mode_that_it_was_asked_in() {
    let world = Arc::new(World::default());
    let leeway = SharedLeeway::new(Mode::Review);
    let cautious = Arc::new(Cautious(leeway.clone()));
    let gate = Gate::new(Arc::new(Policy::default()), leeway, cautious, world.clone(), world.clone(), world);
    let refusal = gate.authorize(model(), vec![write("a")]).await.unwrap_err();
    assert!(refusal.to_string().contains("read-only"), "{refusal}");
}

#[tokio::test]
async fn what_is_judged_is_where_links_lead() {
    let (read, delete) = (|text| Effect::Read(path(text).scope()), |text| Effect::Delete(path(text).scope()));
    let moved = |from, to| Effect::Move { from: path(from), to: path(to) };
    for (forbidden, effect, expected) in [
        (
            "read:src/**",
            read("notes/out/a"),
            "denied: read `src/a`: `read:src/**` is on the deny list; `notes/out/a` leads there",
        ),
        (
            "read:src/**",
            Effect::Read(path("notes/out").subtree()),
            "denied: read `src/**`: `read:src/**` is on the deny list; `notes/out/**` leads there",
        ),
        (
            "write:notes/**",
            write("link/a"),
            "denied: write `notes/a`: `write:notes/**` is on the deny list; `link/a` leads there",
        ),
        (
            "write:link/**",
            write("link/a"),
            "denied: write `notes/a`: `write:link/**` is on the deny list; `link/a` leads there",
        ),
        ("write:link/**", write("notes/a"), "permit"),
        (
            "delete:notes/a",
            delete("link/a"),
            "denied: delete `notes/a`: `delete:notes/a` is on the deny list; `link/a` leads there",
        ),
        // A link that is removed or moved is meant itself.
        ("delete:src/**", delete("notes/out"), "permit"),
        ("delete:src", Effect::Delete(path("notes/out").subtree()), "permit"),
        ("move:src/**", moved("notes/out", "a"), "permit"),
        (
            "move:src/**",
            moved("a", "notes/out/a"),
            "denied: move `a -> src/a`: `move:src/**` is on the deny list; `a -> notes/out/a` leads there",
        ),
        // Where nobody can tell, the name is judged.
        ("read:broken", read("broken"), "denied: read `broken`: `read:broken` is on the deny list"),
        ("read:src/**", read("broken"), "permit"),
    ] {
        let (_, gate) = forbidding(&[forbidden], Mode::Auto, None);
        assert_eq!(outcome(&gate, model(), effect.clone()).await, expected, "{forbidden} {effect}");
    }
    // A plugin's rights are rights to places.
    let (_, gate) = gate(Mode::Auto, None);
    for (effect, expected) in [
        (write("link/a"), "permit"),
        (
            write("notes/out/a"),
            "denied: write `src/a`: the plugin's manifest does not ask for it; `notes/out/a` leads there",
        ),
    ] {
        assert_eq!(outcome(&gate, plugin("acme:notes"), effect).await, expected);
    }
}

#[tokio::test]
async fn a_permit_reaches_where_its_links_led_and_nothing_else() {
    let (_, gate) = gate(Mode::Auto, None);
    let permit = gate.authorize(model(), vec![write("link/a")]).await.unwrap();
    assert!(permit.covers(&write("link/a")) && permit.reaches(&write("notes/a")));
    assert!(!permit.covers(&write("notes/a")), "it was not asked for by that name");
    assert!(!permit.reaches(&write("link/a")), "a folder that takes the link's place is another one");
    assert_eq!(permit.leads_to(&write("link/a")), Some(&write("notes/a")));
    assert_eq!(permit.leads_to(&write("notes/a")), None);
}

#[tokio::test]
async fn a_person_is_asked_about_both_names_and_answers_for_the_place() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowAlways));
    assert_eq!(outcome(&gate, model(), write("link/a")).await, "permit");
    let asked = world.asked.lock().unwrap().pop().unwrap();
    assert_eq!(
        (asked.title.as_str(), asked.effects),
        ("tool write_file: write `notes/a` (named `link/a`)", vec![write("notes/a")])
    );
    // By whatever name: nobody is asked again.
    *world.answer.lock().unwrap() = None;
    assert_eq!(outcome(&gate, model(), write("notes/a")).await, "permit");
    assert_eq!(outcome(&gate, model(), write("link/a")).await, "permit");
    world.remembered.lock().unwrap().insert("tool write_file write `link/a`".to_owned(), false);
    let refused = "denied: write `notes/a`: the user has refused `write:link/a` for good; `link/a` leads there";
    assert_eq!(outcome(&gate, model(), write("link/a")).await, refused);
    assert_eq!(outcome(&gate, model(), write("notes/a")).await, "permit");
    assert!(world.audit.lock().unwrap().iter().all(|line| line.starts_with("write `notes/a` ")));
}

#[tokio::test]
async fn an_answer_is_about_what_stood_there() {
    for (stamps, expected) in [
        (vec![1, 1], "permit"),
        (vec![2, 1], "denied: write `a`: it changed while the user was asked, and was left as it is"),
    ] {
        let (world, gate) = gate(Mode::Review, Some(Approval::AllowOnce));
        *world.stamps.lock().unwrap() = stamps;
        match gate.authorize(plugin("acme:notes"), vec![write("notes/a")]).await {
            Ok(_) => assert_eq!(expected, "permit"),
            Err(refusal) => {
                assert_eq!(refusal.to_string().replace("notes/a", "a"), expected);
                assert_eq!((refusal.kind, refusal.hint.as_str()), (RefusalKind::Conflict, "look at it again"));
            }
        }
    }
}

#[tokio::test]
async fn what_needs_no_question_is_allowed_without_one() {
    let (world, gate) = gate(Mode::Review, None);
    let read = |text| vec![Effect::Read(path(text).scope())];
    let permit = gate.unasked(model(), read("link/a")).await.unwrap();
    assert!(!permit.was_asked() && permit.reaches(&read("notes/a")[0]));
    for (origin, effects) in [
        (model(), vec![write("a")]),
        (model(), [read("a"), vec![write("a")]].concat()),
        (plugin("acme:notes"), read("a")),
        (plugin("acme:other"), read("a")),
    ] {
        assert!(gate.unasked(origin, effects.clone()).await.is_none(), "{effects:?}");
    }
    world.remembered.lock().unwrap().insert("plugin acme:notes read `a`".to_owned(), true);
    assert!(gate.unasked(plugin("acme:notes"), read("a")).await.is_some());
    let audited = ["read `notes/a` allowed by policy", "read `a` allowed by remembered"];
    assert_eq!(*world.audit.lock().unwrap(), audited, "nothing was refused");
}

#[path = "tests/questions.rs"]
mod questions;

mod lending {
    use super::*;

    const PRIVATE: &[&str] = &["read:notes/private/**", "write:notes/private/**"];

    fn way(named: &str, real: &str) -> Way {
        Way { named: path(named), real: path(real) }
    }

    async fn lent(world: &Arc<World>, gate: Gate) -> Lent {
        *world.answer.lock().unwrap() = Some(Approval::AllowOnce);
        let gate = Arc::new(gate);
        let docs = Effect::Read(PathScope { root: RootId(0), glob: PathGlob::parse("docs/*.md").unwrap() });
        let read = gate.authorize(plugin("acme:notes"), vec![docs]).await.unwrap();
        let write = gate.authorize(plugin("acme:notes"), vec![Effect::Write(path("notes").subtree())]).await.unwrap();
        world.audit.lock().unwrap().clear();
        Lent::new(gate, plugin("acme:notes"), vec![read, write]).await
    }

    #[tokio::test]
    async fn each_path_is_held_against_what_was_lent() {
        let (world, gate) = forbidding(PRIVATE, Mode::Auto, None);
        let lent = lent(&world, gate).await;
        for (named, real, reads, enters, writes) in [
            ("docs/a.md", "docs/a.md", true, false, false),
            ("docs", "docs", false, true, false),
            ("", "", false, true, false),
            ("docs/a.txt", "docs/a.txt", false, false, false),
            ("docs/in/a.md", "docs/in/a.md", false, false, false),
            ("src/a.md", "src/a.md", false, false, false),
            ("notes/a", "notes/a", true, true, true),
            ("notes/private/a", "notes/private/a", false, false, false),
            ("notes/alias/a", "notes/private/a", false, false, false),
            ("notes/private/a", "notes/a", false, false, false),
            ("notes/a", "src/a", false, false, false),
            ("src/a", "notes/a", false, false, false),
        ] {
            let way = way(named, real);
            let judged = (lent.read(&way).is_ok(), lent.enters(&way), lent.write(&way).is_ok());
            assert_eq!(judged, (reads, enters, writes), "{named} -> {real}");
            assert_eq!(lent.shows(&way), reads, "{named} -> {real}");
        }
        let refusal = lent.read(&way("docs/a.txt", "docs/a.txt")).unwrap_err();
        assert_eq!(refusal.to_string(), "denied: read `docs/a.txt`: it is not in what the plugin was lent");
    }

    #[tokio::test]
    async fn reads_are_counted_and_all_else_is_kept_one_by_one() {
        let (world, gate) = forbidding(PRIVATE, Mode::Auto, None);
        let lent = lent(&world, gate).await;
        for _ in 0..3 {
            lent.read(&way("docs/a.md", "docs/a.md")).unwrap();
        }
        lent.write(&way("notes/a", "notes/a")).unwrap();
        for _ in 0..105 {
            lent.write(&way("notes/private/a", "notes/private/a")).unwrap_err();
        }
        drop(lent);
        let audit = world.audit.lock().unwrap();
        assert_eq!(audit.len(), 1 + 100 + 1 + 1);
        assert_eq!(audit[0], "write `notes/a` allowed by lent");
        assert_eq!(audit[1], "write `notes/private/a` denied by deny-list");
        assert_eq!(
            audit[101..],
            ["read `docs/*.md` allowed by lent, 3 times", "write `notes/private/a` denied by not-lent, 5 times",]
        );
    }

    #[tokio::test]
    async fn what_was_refused_for_good_stays_so() {
        let (world, gate) = forbidding(&[], Mode::Auto, None);
        *world.refused.lock().unwrap() = Some("write `notes/fixed`".to_owned());
        let lent = lent(&world, gate).await;
        assert!(lent.write(&way("notes/a", "notes/a")).is_ok());
        assert!(lent.write(&way("notes/fixed", "notes/fixed")).is_err());
        assert!(lent.shows(&way("notes/fixed", "notes/fixed")), "it is read all the same");
        assert!(lent.write(&way("notes/link", "notes/fixed")).is_err());
    }
}
