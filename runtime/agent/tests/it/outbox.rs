//! Kept first, then shown; nothing lost when the disk is full; nothing grows when nobody reads.

use std::sync::atomic::Ordering;

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::session::PromptError;
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::transcript::StopReason;
use acp_runtime_agent::turn::TurnError;

use crate::doubles::{Setting, say, script, stop, text};

#[tokio::test]
async fn a_full_disk_fails_the_turn_and_loses_nothing() {
    let stage = Setting::default().play(vec![vec![say("1"), stop()], vec![say("2"), stop()]]);
    stage.store.full.store(true, Ordering::SeqCst);
    let failed = stage.session.prompt(text("a")).await.unwrap_err();
    let PromptError::Turn(TurnError::Store(StoreError::Unwritable { reason, .. })) = &failed else {
        panic!("{failed:?}")
    };
    assert_eq!(reason, "No space left on device");
    assert_eq!(script(&stage.screen.shown()), "", "nothing is shown that was not kept");

    stage.store.full.store(false, Ordering::SeqCst);
    assert_eq!(stage.session.prompt(text("b")).await, Ok(StopReason::EndTurn));
    let kept = script(&stage.store.kept());
    assert!(kept.contains("user: a") && kept.contains("user: b"), "{kept}");
    assert_eq!(kept, script(&stage.screen.shown()));
}

#[tokio::test]
async fn prompts_to_a_full_disk_do_not_gather() {
    let stage = Setting::default().play(vec![vec![say("1"), stop()], vec![say("2"), stop()]]);
    stage.store.full.store(true, Ordering::SeqCst);
    for prompt in ["first", "second", "third"] {
        let failed = stage.session.prompt(text(prompt)).await;
        assert!(matches!(failed, Err(PromptError::Turn(TurnError::Store(_)))), "{failed:?}");
    }
    stage.store.full.store(false, Ordering::SeqCst);
    assert_eq!(stage.session.prompt(text("last")).await, Ok(StopReason::EndTurn));
    let kept = script(&stage.store.kept());
    let prompts: Vec<&str> = kept.lines().filter_map(|line| line.split_once("user: ")).map(|(_, text)| text).collect();
    assert_eq!(prompts, ["first", "last"], "{kept}");
    assert_eq!(kept, script(&stage.screen.shown()));
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_the_turn_back() {
    let lines = (0..20_000).map(|_| say("x")).chain([stop()]).collect();
    let stage = Setting::default().play(vec![lines]);
    stage.screen.stuck.store(true, Ordering::SeqCst);
    let mut prompt = Box::pin(stage.session.prompt(text("a")));
    for _ in 0..1000 {
        tokio::task::yield_now().await;
        assert!(futures::poll!(&mut prompt).is_pending());
    }
    let seen = stage.model.requests.lock().unwrap().len();
    assert_eq!(seen, 1);
    assert!(script(&stage.store.kept()).len() < 20_000, "the turn went on although nobody reads");

    stage.screen.stuck.store(false, Ordering::SeqCst);
    stage.screen.go_on.notify_waiters();
    assert_eq!(prompt.await, Ok(StopReason::EndTurn));
    let said: usize = stage
        .screen
        .shown()
        .iter()
        .map(|event| match event {
            SessionEvent::AgentText { text, .. } => text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(said, 20_000);
}
