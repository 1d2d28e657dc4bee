//! Hooks that are functions, and what becomes of what they decide about.
#![expect(clippy::unnecessary_wraps, reason = "a hook can fail")]

use super::*;

type Says = Box<dyn Fn(&str) -> Result<Verdict, HookFailure> + Send + Sync>;

/// A hook of the plugin `test:<name>` for every event.
struct Fake {
    plugin: PluginId,
    subscriptions: Vec<Subscription>,
    says: Says,
    told: Mutex<Vec<String>>,
}

impl Fake {
    fn new(
        name: &str,
        priority: u16,
        says: impl Fn(&str) -> Result<Verdict, HookFailure> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let subscriptions = HookEvent::ALL.map(|event| Subscription { event, priority });
        Arc::new(Self {
            plugin: PluginId::new(format!("test:{name}")).unwrap(),
            subscriptions: subscriptions.into(),
            says: Box::new(says),
            told: Mutex::default(),
        })
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

impl Hook for Fake {
    fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    fn handle<'a>(&'a self, occurrence: &'a Occurrence) -> BoxFuture<'a, Result<Verdict, HookFailure>> {
        let payload: Value = serde_json::from_str(&occurrence.payload).unwrap();
        let text = payload["text"].as_str().unwrap().to_owned();
        let said = (self.says)(&text);
        self.told.lock().unwrap().push(text);
        Box::pin(async { said })
    }
}

/// Hides nothing.
fn nothing() -> Veil {
    Arc::new(|_| None)
}

struct Text(HookEvent, String);

impl Matter for Text {
    fn event(&self) -> HookEvent {
        self.0
    }

    fn call(&self) -> Option<&ToolCallId> {
        None
    }

    fn payload(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { serde_json::json!({ "text": self.1 }) })
    }

    fn replace(&mut self, text: &str) -> Result<bool, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let changed = self.1 != text;
        text.clone_into(&mut self.1);
        Ok(changed)
    }
}

fn hooks(hooks: &[&Arc<Fake>]) -> Hooks {
    let hooks: Vec<Arc<dyn Hook>> = hooks.iter().map(|hook| (*hook).clone() as Arc<dyn Hook>).collect();
    Hooks::new(SessionId::new("s"), Switches::default(), &hooks, nothing())
}

/// What became of `text`, and what was done about it.
async fn pass(asked: &Hooks, event: HookEvent, text: &str) -> (String, Passage) {
    let mut matter = Text(event, text.to_owned());
    let passage = asked.pass(&mut matter).await;
    (matter.1, passage)
}

fn silent(_: &str) -> Result<Verdict, HookFailure> {
    Ok(Verdict::NoOpinion)
}

fn replace(text: &str) -> Result<Verdict, HookFailure> {
    Ok(Verdict::Replace(text.to_owned()))
}

fn ids(passage: &Passage) -> Vec<(&str, Deed)> {
    passage.deeds.iter().map(|(plugin, deed)| (plugin.as_str(), deed.clone())).collect()
}

#[tokio::test]
async fn the_order_is_that_of_priorities_and_then_of_ids() {
    let mark = |mark: &'static str| {
        move |text: &str| if text.contains(mark) { silent(text) } else { replace(&format!("{text}{mark}")) }
    };
    let (z, b, a) = (Fake::new("z", 1, mark("z")), Fake::new("b", 5, mark("b")), Fake::new("a", 5, mark("a")));
    let (text, passage) = pass(&hooks(&[&a, &b, &z]), HookEvent::ToolResult, "-").await;
    assert_eq!(text, "-zab");
    assert_eq!(ids(&passage), ["test:z", "test:a", "test:b"].map(|id| (id, Deed::Replaced)));
    // Who lets something pass lets that pass, and nothing else: a gate sees what came of it.
    let (text, _) = pass(&hooks(&[&a, &b, &z]), HookEvent::ToolCall, "-").await;
    assert_eq!(text, "-zab");
    assert_eq!(z.told(), ["-", "-", "-zab"]);
    assert_eq!(b.told(), ["-za", "-za"], "the last one has seen what it made");
}

#[tokio::test]
async fn a_gate_is_asked_about_what_a_later_one_made_of_it() {
    let guard = Fake::new("guard", 0, |text| {
        if text.contains("bad") { Ok(Verdict::Block("it is bad".to_owned())) } else { silent(text) }
    });
    let sly = Fake::new("sly", 9, |_| replace("bad"));
    let (_, passage) = pass(&hooks(&[&sly, &guard]), HookEvent::ToolCall, "good").await;
    let stop = passage.stop.unwrap();
    assert_eq!((stop.plugin.as_str(), stop.reason.as_str(), stop.failed), ("test:guard", "it is bad", false));
    // Two that do not agree stop it, and do not go on for ever.
    let one = Fake::new("one", 1, |_| replace("one"));
    let two = Fake::new("two", 2, |_| replace("two"));
    let (_, passage) = pass(&hooks(&[&one, &two]), HookEvent::ToolCall, "good").await;
    assert!(passage.stop.unwrap().reason.contains("do not agree"));
    assert_eq!((one.told().len(), two.told().len()), (2, 1));
}

#[tokio::test]
async fn a_gate_fails_closed_and_a_transform_open() {
    let broken = Fake::new("broken", 0, |_| Err(HookFailure("it trapped".to_owned())));
    let empty = Fake::new("empty", 1, |_| replace(""));
    let asks = Fake::new("asks", 2, |_| Ok(Verdict::Ask("really?".to_owned())));
    for hook in [&broken, &empty] {
        let (text, passage) = pass(&hooks(&[hook]), HookEvent::UserMessage, "said").await;
        assert!(passage.stop.unwrap().failed);
        assert_eq!(text, "said");
    }
    let (text, passage) = pass(&hooks(&[&broken, &empty, &asks]), HookEvent::ToolResult, "said").await;
    assert_eq!((text.as_str(), passage.stop.as_ref(), passage.concerns.len()), ("said", None, 0));
    let why = ["it trapped", "it is empty", "it asks about what has happened already"];
    let failed: Vec<_> = passage.deeds.into_iter().map(|(_, deed)| deed).collect();
    assert_eq!(failed, why.map(|why| Deed::Failed(why.to_owned())));
}

#[tokio::test]
async fn a_block_ends_it_and_a_question_does_not() {
    let asks = Fake::new("asks", 0, |_| Ok(Verdict::Ask("sure?\u{202e}\n".to_owned())));
    let last = Fake::new("last", 9, silent);
    let asked = hooks(&[&asks, &last]);
    let (_, passage) = pass(&asked, HookEvent::ToolCall, "said").await;
    assert_eq!(passage.concerns[0].reason, "sure?");
    assert_eq!(last.told().len(), 1);
    // Who was refused so often is not asked any more in this turn.
    for _ in 0..REFUSALS {
        assert_eq!(pass(&asked, HookEvent::ToolCall, "said").await.1.stop, None);
        asked.refused(&passage.concerns);
    }
    let stop = pass(&asked, HookEvent::ToolCall, "said").await.1.stop.unwrap();
    assert_eq!(stop.reason, "sure? (not asked: 3 of its questions were refused in this turn)");
    asked.begin_turn();
    assert_eq!(pass(&asked, HookEvent::ToolCall, "said").await.1.stop, None);
    let block = Fake::new("block", 5, |_| Ok(Verdict::Block(String::new())));
    let (_, passage) = pass(&hooks(&[&block, &last]), HookEvent::ToolCall, "said").await;
    assert_eq!(passage.stop.unwrap().reason, "it gives no reason");
    assert_eq!(last.told().len(), 5, "nobody is asked about what is stopped");
}

#[tokio::test]
async fn what_was_not_shown_whole_is_not_replaced() {
    let cuts = Fake::new("cuts", 0, |text| replace(&text[..1]));
    let long = "x".repeat(PAYLOAD);
    let (text, passage) = pass(&hooks(&[&cuts]), HookEvent::ToolCall, &long).await;
    assert_eq!(text, long);
    assert!(passage.stop.unwrap().reason.contains("not shown in full"));
    assert!(cuts.told()[0].len() < PAYLOAD);
}

#[tokio::test]
async fn a_plugin_that_is_off_is_not_asked_and_observers_are_told_in_order() {
    let (switches, one, off) = (Switches::default(), Fake::new("one", 0, silent), Fake::new("off", 0, silent));
    switches.set(&off.plugin, false);
    let all: Vec<Arc<dyn Hook>> = vec![one.clone(), off.clone()];
    let asked = Hooks::new(SessionId::new("s"), switches, &all, nothing());
    pass(&asked, HookEvent::ToolCall, "call").await;
    for text in ["a", "b", "c"] {
        asked.tell(HookEvent::AssistantMessage, || serde_json::json!({ "text": text }));
        asked.of_child().tell(HookEvent::AssistantMessage, || panic!("a child's words are nobody's"));
    }
    asked.close().await;
    asked.tell(HookEvent::AssistantMessage, || serde_json::json!({ "text": "late" }));
    assert_eq!((one.told(), off.told()), (["call", "a", "b", "c"].map(str::to_owned).into(), Vec::new()));
    let none = Hooks::new(SessionId::new("s"), Switches::default(), &[], nothing());
    none.tell(HookEvent::Error, || panic!("nobody is told"));
    assert!(!none.wants(HookEvent::ToolCall));
}

/// Never answers.
struct Stuck(PluginId, [Subscription; 1]);

impl Hook for Stuck {
    fn plugin(&self) -> &PluginId {
        &self.0
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.1
    }

    fn handle<'a>(&'a self, _: &'a Occurrence) -> BoxFuture<'a, Result<Verdict, HookFailure>> {
        Box::pin(futures::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_an_observer_for_long() {
    let subscription = Subscription { event: HookEvent::SessionEnd, priority: 0 };
    let stuck: Arc<dyn Hook> = Arc::new(Stuck(PluginId::new("test:stuck").unwrap(), [subscription]));
    let asked = Hooks::new(SessionId::new("s"), Switches::default(), &[stuck], nothing());
    for _ in 0..1000 {
        asked.tell(HookEvent::SessionEnd, || serde_json::json!({}));
    }
    let begun = tokio::time::Instant::now();
    asked.close().await;
    assert!(begun.elapsed() <= std::time::Duration::from_millis(510));
}

/// A secret is hidden from every hook, wherever it stands; what would then be made of a call is not made.
#[tokio::test]
async fn a27_no_hook_is_told_a_secret() {
    let asked = |hook: &Arc<Fake>| {
        let hooks: Vec<Arc<dyn Hook>> = vec![hook.clone()];
        let veil: Veil = Arc::new(|text| text.contains("s3cret").then(|| text.replace("s3cret", KEPT_SECRET)));
        Hooks::new(SessionId::new("s"), Switches::default(), &hooks, veil)
    };
    for event in [HookEvent::UserMessage, HookEvent::ToolCall, HookEvent::ToolResult] {
        let hook = Fake::new("curious", 0, silent);
        let (text, _) = pass(&asked(&hook), event, "the s3cret").await;
        assert_eq!((text.as_str(), hook.told()), ("the s3cret", vec![format!("the {KEPT_SECRET}")]), "{event}");
    }
    // Also where the text is cut in the middle of it.
    let hook = Fake::new("curious", 0, silent);
    pass(&asked(&hook), HookEvent::UserMessage, &"s3cret".repeat(PAYLOAD / 4)).await;
    assert!(!hook.told()[0].contains("s3c"));
    let hook = Fake::new("busy", 0, |text| replace(&format!("{text}!")));
    let (text, passage) = pass(&asked(&hook), HookEvent::ToolCall, "the s3cret").await;
    assert_eq!(text, "the s3cret");
    assert!(passage.stop.unwrap().reason.contains("a secret in it, which it was not shown"));
    let (text, _) = pass(&asked(&hook), HookEvent::UserMessage, "the s3cret").await;
    assert_eq!(text, format!("the {KEPT_SECRET}!"));
}
