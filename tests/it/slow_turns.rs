//! One session of many turns: a turn in it takes no longer than one of the first of a new session.

use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, Runtime};

const TURNS: usize = 500;
/// Turns of a new session before it is looked at.
const BEGINNING: usize = 10;
/// Turns that are looked at together: a single one says more about the machine.
const WINDOW: usize = 40;
/// How often they are looked at until it shows.
const ATTEMPTS: usize = 5;

/// Reads a file and tells of it. The model takes no time by itself.
const WORK: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [
  { text = "Let me see. " },
  { call = { tool = "read_file", arguments = { path = "a.txt" } } },
  { call = { tool = "grep", arguments = { pattern = "needle" } } },
]
[[reply]]
steps = [{ chunks = { count = 20, size = 6 } }, { usage = { input = 10, output = 3, window = 100000000 } }]
"#;

/// How long a turn takes.
async fn turn(editor: &EditorDouble, session: &str) -> Duration {
    let begun = Instant::now();
    let turn = editor.prompt(session, "Look.").await;
    let elapsed = begun.elapsed();
    assert_eq!((turn.stop.as_str(), turn.calls().len()), ("end_turn", 2));
    editor.forget_updates(session);
    elapsed
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Turns of the long session and of a new one take turns, so whatever else the machine does meets both alike.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_costs_the_same_after_five_hundred() {
    let runtime = Runtime::scripted(WORK).file("a.txt", "needle\n").file("AGENTS.md", "Be brief.\n");
    let editor = runtime.editor().await;
    let long = editor.new_session().await;
    for _ in 0..TURNS {
        turn(&editor, &long).await;
    }
    let mut ratios = Vec::new();
    for _ in 0..ATTEMPTS {
        let new = editor.new_session().await;
        for _ in 0..BEGINNING {
            turn(&editor, &new).await;
        }
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for _ in 0..WINDOW {
            early.push(turn(&editor, &new).await);
            late.push(turn(&editor, &long).await);
        }
        let (early, late) = (median(early), median(late));
        println!("turn {BEGINNING}: {early:?}, turn {TURNS}: {late:?}");
        ratios.push(late.as_secs_f64() / early.as_secs_f64());
        if ratios.last().is_some_and(|ratio| *ratio <= 1.2) {
            editor.close().await;
            return;
        }
    }
    panic!("the turns of a long session take longer than those of a new one: {ratios:?}");
}
