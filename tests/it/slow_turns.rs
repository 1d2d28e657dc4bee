//! One session of many turns: the last turn takes no longer than one of the first.

use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, Runtime};

const TURNS: usize = 500;
/// Turns that are looked at together: a single one says more about the machine.
const WINDOW: usize = 40;
/// A machine that is busy with something else is asked again.
const ATTEMPTS: usize = 3;

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

async fn times(editor: &EditorDouble) -> Vec<Duration> {
    let session = editor.new_session().await;
    let mut times = Vec::with_capacity(TURNS);
    for number in 0..TURNS {
        let begun = Instant::now();
        let turn = editor.prompt(&session, &format!("Prompt {number}")).await;
        times.push(begun.elapsed());
        assert_eq!((turn.stop.as_str(), turn.calls().len()), ("end_turn", 2));
        editor.forget_updates(&session);
    }
    times
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_costs_the_same_after_five_hundred() {
    let runtime = Runtime::scripted(WORK).file("a.txt", "needle\n").file("AGENTS.md", "Be brief.\n");
    let mut ratios = Vec::new();
    for _ in 0..ATTEMPTS {
        let editor = runtime.editor().await;
        let times = times(&editor).await;
        editor.close().await;
        let (early, late) = (median(&times[10..10 + WINDOW]), median(&times[TURNS - WINDOW..]));
        println!("turn 10: {early:?}, turn {TURNS}: {late:?}");
        ratios.push(late.as_secs_f64() / early.as_secs_f64());
        if ratios.last().is_some_and(|ratio| *ratio <= 1.2) {
            return;
        }
    }
    panic!("the last turns took longer than the first: {ratios:?}");
}
