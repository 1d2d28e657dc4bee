//! The board's checks, in the order of the contract.

use serde_json::json;

use super::*;

struct Counter {
    info: PanelInfo,
    count: Mutex<u32>,
}

impl PanelSource for Counter {
    fn info(&self) -> &PanelInfo {
        &self.info
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<PanelView, String>> {
        let count = *self.count.lock().unwrap();
        let node = |id: &str, kind: &str, children| PanelNode {
            id: id.to_owned(),
            label: format!("count {count}"),
            kind: kind.to_owned(),
            expanded: true,
            style: String::new(),
            data: Map::from_iter([("count".to_owned(), json!(count))]),
            children,
        };
        let root = node("root", "root", vec![node("leaf", "leaf", Vec::new())]);
        let view =
            if count == 13 { Err("thirteen".to_owned()) } else { Ok(PanelView { root, status: count.to_string() }) };
        Box::pin(async { view })
    }

    fn act(&self, acting: PanelActing) -> BoxFuture<'_, Result<Option<String>, String>> {
        let reply = match acting.action.as_str() {
            "add" => {
                *self.count.lock().unwrap() += 1;
                Ok(Some(format!("was {}", acting.node.data["count"])))
            }
            "fail" => Err("no such luck".to_owned()),
            _ => Ok(None),
        };
        Box::pin(async { reply })
    }
}

fn board(count: u32) -> (StalePanels, PanelBoard) {
    let action = |id: &str, kinds: &[&str], mutates| PanelAction {
        id: id.to_owned(),
        label: id.to_owned(),
        key: String::new(),
        kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(),
        destructive: false,
        confirm: String::new(),
        inputs: Vec::new(),
        mutates,
    };
    let stale = StalePanels::default();
    let mut board = PanelBoard::new(stale.clone(), Switches::default());
    for name in ["zero", "counter"] {
        let actions =
            vec![action("add", &["leaf"], true), action("fail", &["leaf"], false), action("look", &["root"], false)];
        let info = PanelInfo { name: PanelName::new(name).unwrap(), title: name.to_owned(), actions };
        board.add(Arc::new(Counter { info, count: Mutex::new(count) })).unwrap();
    }
    (stale, board)
}

#[tokio::test]
async fn checks_come_in_the_order_of_the_contract() {
    let (_, board) = board(0);
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    for (panel, action, node, busy, expected) in [
        (
            "nope",
            "nope",
            "nope",
            true,
            PanelError::UnknownPanel { panel: "nope".into(), available: names(&["counter", "zero"]) },
        ),
        (
            "../x",
            "add",
            "leaf",
            true,
            PanelError::UnknownPanel { panel: "../x".into(), available: names(&["counter", "zero"]) },
        ),
        (
            "counter",
            "nope",
            "nope",
            true,
            PanelError::UnknownAction { action: "nope".into(), available: names(&["add", "fail", "look"]) },
        ),
        ("counter", "add", "nope", true, PanelError::UnknownNode("nope".into())),
        ("counter", "add", "root", true, PanelError::WrongKind { action: "add".into(), kind: "root".into() }),
        ("counter", "add", "leaf", true, PanelError::Busy),
    ] {
        let refused = board.act(panel, action, node, Map::new(), || busy).await.unwrap_err();
        assert_eq!(refused, expected);
    }
    assert!(board.act("counter", "look", "root", Map::new(), || true).await.is_ok(), "it changes nothing");
}

#[tokio::test]
async fn an_action_gets_the_hosts_node_and_answers_a_fresh_view() {
    let (_, board) = board(4);
    let reply = board.act("counter", "add", "leaf", Map::new(), || false).await.unwrap();
    assert_eq!(reply.message.as_deref(), Some("was 4"));
    assert_eq!(reply.view.status, "5");
    let failed = board.act("counter", "fail", "leaf", Map::new(), || false).await.unwrap();
    assert_eq!(failed.message.as_deref(), Some("✗ fail: no such luck"));
}

#[tokio::test]
async fn a_panel_that_cannot_be_drawn_has_an_empty_status_and_a_failing_snapshot() {
    let (_, board) = board(13);
    let statuses: Vec<String> = board.list().await.into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, ["", ""]);
    let error = board.snapshot("counter").await.unwrap_err();
    assert_eq!(error.to_string(), "panel `counter` failed: thirteen");
}

#[tokio::test]
async fn a_snapshot_lowers_the_stale_flag_and_a_list_does_not() {
    let (stale, board) = board(0);
    stale.raise(PanelName::new("counter").unwrap());
    board.list().await;
    assert_eq!(board.stale(), [PanelName::new("counter").unwrap()]);
    board.snapshot("counter").await.unwrap();
    assert!(board.stale().is_empty());
}

#[tokio::test]
async fn a_taken_name_is_refused() {
    let (_, mut board) = board(0);
    let info = PanelInfo { name: PanelName::new("zero").unwrap(), title: String::new(), actions: Vec::new() };
    let taken = board.add(Arc::new(Counter { info, count: Mutex::new(0) })).unwrap_err();
    assert_eq!(taken.to_string(), "a panel named `zero` exists already");
}
