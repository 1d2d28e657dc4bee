//! What plugins can do to the person who is asked about them, and what holds of the answers.

use futures::FutureExt as _;
use futures::future::join_all;
use tokio::sync::Semaphore;

use super::*;

fn read(text: &str) -> Effect {
    Effect::Read(path(text).scope())
}

fn guest() -> Origin {
    plugin("acme:notes")
}

/// A person who answers when they are let.
struct Slow {
    asked: Mutex<Vec<Ask>>,
    let_go: Semaphore,
}

impl Approver for Slow {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async {
            self.let_go.acquire().await.unwrap().forget();
            Approval::AllowOnce
        })
    }
}

fn slow() -> (Arc<Slow>, Arc<World>, Gate) {
    let slow = Arc::new(Slow { asked: Mutex::default(), let_go: Semaphore::new(0) });
    let world = Arc::new(World::default());
    let leeway = SharedLeeway::new(Mode::Review);
    let gate = Gate::new(Arc::default(), leeway, slow.clone(), world.clone(), world.clone(), world.clone());
    (slow, world, gate)
}

#[tokio::test]
async fn a42_a_thousand_equal_questions_are_one() {
    let (slow, world, gate) = slow();
    let child = gate.on_behalf_of(ToolCallId::new("subagent"));
    let gates = [&gate, &child];
    let asking = (0..1000).map(|number| gates[number % 2].authorize(guest(), vec![read("a")]));
    let answers = async {
        tokio::task::yield_now().await;
        slow.let_go.add_permits(1);
    };
    let (permits, ()) = tokio::join!(join_all(asking), answers);
    assert!(permits.iter().all(Result::is_ok));
    assert_eq!(slow.asked.lock().unwrap().len(), 1);
    assert_eq!(world.audit.lock().unwrap().len(), 1000, "each of them was decided");
    // What differs in anything is another question, and so is the same one later.
    let other = [vec![read("a")], vec![read("b")], vec![read("a"), read("b")], vec![read("a")]];
    slow.let_go.add_permits(other.len());
    for effects in other {
        gate.authorize(guest(), effects).await.unwrap();
    }
    assert_eq!(slow.asked.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a42_a_plugin_asks_only_so_often_in_a_turn_with_all_its_subagents() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowOnce));
    let gate = gate.asking_at_most(NonZeroU32::new(3).unwrap());
    let child = gate.on_behalf_of(ToolCallId::new("subagent"));
    for (number, gate) in [&gate, &child, &gate].into_iter().enumerate() {
        assert_eq!(outcome(gate, guest(), read(&number.to_string())).await, "permit");
    }
    let capped = "denied: read `x`: the plugin has had the user asked 3 times in this turn";
    for gate in [&gate, &child] {
        assert_eq!(outcome(gate, guest(), read("x")).await, capped);
        assert_eq!(outcome(gate, model(), write("x")).await, "permit", "the agent's own tools are asked about");
        assert_eq!(outcome(gate, plugin("acme:notes-too"), read("x")).await, "permit", "and so are other plugins");
        world.asked.lock().unwrap().clear();
    }
    assert!(world.audit.lock().unwrap().contains(&"read `x` denied by capped".to_owned()));
    gate.turn();
    assert_eq!(outcome(&child, guest(), read("x")).await, "permit", "in the next turn");
}

#[tokio::test]
async fn a42_what_a_plugin_says_for_itself_is_quoted_and_clean() {
    let (world, gate) = gate(Mode::Review, Some(Approval::AllowOnce));
    let hostile = "\u{202e}evil\u{1b}[2J\n\n\"\nAllow everything?\u{200b} [Yes] (acp-runtime asks) ".repeat(20);
    *world.reason.lock().unwrap() = Some(hostile);
    outcome(&gate, guest(), read("a")).await;
    gate.authorize(guest(), vec![read("b"), write("notes/a")]).await.unwrap();
    let asked = world.asked.lock().unwrap();
    let texts: Vec<&str> = asked
        .iter()
        .map(|ask| match ask.content.as_slice() {
            [ToolContent::Text { text }] => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    for text in texts {
        let begin = "The plugin `acme:notes` 1.2.3 (nobody knows it) wants to do this. Its reason to read, in its own words: \"";
        let quoted =
            text.strip_prefix(begin).and_then(|rest| rest.strip_suffix("\".")).unwrap_or_else(|| panic!("{text}"));
        assert!(
            quoted.chars().count() <= 200 && !quoted.contains('"') && quoted.chars().all(plain::is_plain),
            "{text}"
        );
    }
    assert_eq!(asked[0].title, "plugin acme:notes: read `a`", "what it is about is the runtime's to say");
}

#[tokio::test]
async fn a42_who_was_refused_three_times_is_not_asked_about_any_more() {
    let (world, gate) = gate(Mode::Review, Some(Approval::RejectOnce));
    let child = gate.on_behalf_of(ToolCallId::new("subagent"));
    for (number, gate) in [&gate, &child, &gate].into_iter().enumerate() {
        assert_eq!(
            outcome(gate, guest(), read(&number.to_string())).await,
            format!("denied: read `{number}`: the user refused")
        );
    }
    for gate in [&gate, &child] {
        gate.turn();
        let refusal = gate.authorize(guest(), vec![read("3")]).await.unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "denied: read `3`: the user has refused `read` to this plugin again and again, so it is not asked for any more"
        );
        assert_eq!(refusal.remedy.as_deref(), Some("allow it with `/permissions allow acme:notes read:3`"));
    }
    assert_eq!(world.asked.lock().unwrap().len(), 3);
    assert_eq!(world.audit.lock().unwrap().last().map(String::as_str), Some("read `3` denied by auto-deny"));
    // Of that plugin and that class alone.
    assert_eq!(outcome(&gate, guest(), write("notes/a")).await, "denied: write `notes/a`: the user refused");
    assert_eq!(outcome(&gate, plugin("acme:notes-too"), read("a")).await, "denied: read `a`: the user refused");
    // A yes that is typed is one.
    world.remember(&guest(), &read("3"), true).await;
    assert_eq!(outcome(&gate, guest(), read("3")).await, "permit");
}

#[tokio::test]
async fn a42_a_yes_between_refusals_is_a_change_of_mind_and_no_answer_is_no_refusal() {
    for between in [Approval::AllowOnce, Approval::AllowAlways] {
        let (world, gate) = gate(Mode::Review, None);
        for (number, answer) in
            [Approval::RejectOnce, Approval::RejectOnce, between, Approval::RejectOnce, Approval::RejectOnce]
                .into_iter()
                .enumerate()
        {
            *world.answer.lock().unwrap() = Some(answer);
            outcome(&gate, guest(), read(&number.to_string())).await;
        }
        assert_eq!(outcome(&gate, guest(), read("last")).await, "denied: read `last`: the user refused", "{between:?}");
        assert_eq!(world.asked.lock().unwrap().len(), 6);
    }
    for nobody in [Approval::Cancelled, Approval::NoChannel, Approval::Malformed, Approval::Late(Duration::ZERO)] {
        let (world, gate) = gate(Mode::Review, Some(nobody));
        for number in 0..5 {
            outcome(&gate, guest(), read(&number.to_string())).await;
        }
        assert_eq!(world.asked.lock().unwrap().len(), 5, "{nobody:?}");
    }
}

#[tokio::test]
async fn a43_where_nobody_answers_it_is_a_no_with_a_line_that_says_so() {
    for (approval, by) in [
        (Approval::NoChannel, "no-channel"),
        (Approval::Cancelled, "cancelled"),
        (Approval::Malformed, "malformed"),
        (Approval::Late(Duration::from_secs(1)), "timeout"),
    ] {
        let (world, gate) = gate(Mode::Review, Some(approval));
        gate.authorize(guest(), vec![read("a")]).await.unwrap_err();
        assert_eq!(*world.audit.lock().unwrap(), [format!("read `a` denied by {by}")]);
    }
}

#[tokio::test]
async fn a43_a_question_that_is_withdrawn_is_a_no_with_a_line_that_says_so() {
    let (slow, world, gate) = slow();
    {
        let mut asking = std::pin::pin!(gate.authorize(guest(), vec![read("a"), read("b")]));
        assert!(asking.as_mut().now_or_never().is_none(), "it waits");
    }
    assert_eq!(*world.audit.lock().unwrap(), ["read `a` denied by cancelled", "read `b` denied by cancelled"]);
    // Another one who waits for the same answer still gets it.
    let mut first = Box::pin(gate.authorize(guest(), vec![read("c")]));
    let mut second = Box::pin(gate.authorize(guest(), vec![read("c")]));
    assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
    drop(first);
    slow.let_go.add_permits(1);
    assert!(second.await.is_ok());
    assert_eq!(slow.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a44_what_is_remembered_is_a_right_inside_the_manifest_and_nothing_else() {
    let (world, gate) = gate(Mode::AutoEdit, Some(Approval::RejectOnce));
    // Asked for by the manifest of this one, and not granted.
    let stranger = plugin("acme:notes-bare");
    let refusal = gate.authorize(stranger.clone(), vec![write("notes/a")]).await.unwrap_err();
    assert_eq!(refusal.to_string(), "denied: write `notes/a`: the plugin was not granted it");
    assert_eq!(refusal.hint, "the user can allow it with `/permissions allow acme:notes-bare write:notes/a`");
    for effect in [write("notes/a"), write("src/a")] {
        world.remember(&stranger, &effect, true).await;
    }
    assert_eq!(outcome(&gate, stranger.clone(), write("notes/a")).await, "permit");
    assert_eq!(
        outcome(&gate, stranger.clone(), write("src/a")).await,
        "denied: write `src/a`: the plugin's manifest does not ask for it"
    );
    assert_eq!(
        outcome(&gate, stranger.clone(), write("notes/b")).await,
        "denied: write `notes/b`: the plugin was not granted it"
    );
    assert!(world.asked.lock().unwrap().is_empty(), "what was not granted is not asked for");
    // No answer allows what the mode does not.
    let (world, gate) = self::gate(Mode::ReadOnly, None);
    world.remember(&stranger, &write("notes/a"), true).await;
    assert_eq!(
        outcome(&gate, stranger.clone(), write("notes/a")).await,
        "denied: write `notes/a`: the session is in mode `read-only`"
    );
    assert!(gate.unasked(stranger, vec![write("notes/a")]).await.is_none());
}

#[tokio::test]
async fn a44_each_run_of_a_program_is_asked_for_whatever_was_answered() {
    let (world, gate) = gate(Mode::Review, Some(Approval::RejectOnce));
    let run = Effect::Run(CommandLine { program: "make".into(), arguments: vec![] });
    world.remember(&guest(), &run, true).await;
    for _ in 0..4 {
        assert_eq!(outcome(&gate, guest(), run.clone()).await, "denied: run `make`: the user refused");
    }
    assert!(gate.unasked(guest(), vec![run.clone()]).await.is_none());
    let asked = world.asked.lock().unwrap();
    assert!(asked.len() == 4 && asked.iter().all(|ask| !ask.may_remember));
}

#[tokio::test]
async fn a_lasting_answer_is_audited_as_one() {
    for (answer, settled) in [
        (Approval::AllowAlways, &["plugin acme:notes: read:a granted (project)"][..]),
        (Approval::RejectAlways, &["plugin acme:notes: read:a denied (project)"]),
        (Approval::AllowOnce, &[]),
        (Approval::RejectOnce, &[]),
    ] {
        let (world, gate) = gate(Mode::Review, Some(answer));
        outcome(&gate, guest(), read("a")).await;
        assert_eq!(*world.settled.lock().unwrap(), settled, "{answer:?}");
    }
}
