//! A panel as text that can be kept and compared: all that a client is shown, a line for each row.

use std::fmt::Write as _;

use acp_runtime_agent::panel::{PanelInfo, PanelNode, PanelView};

/// All of a panel at one moment.
pub fn drawn(info: Option<&PanelInfo>, view: &PanelView) -> String {
    let mut text = String::new();
    if let Some(info) = info {
        let _ = writeln!(text, "{}: {}", info.name, info.title);
    }
    if !view.status.is_empty() {
        let _ = writeln!(text, "status: {}", view.status);
    }
    text.push('\n');
    row(&mut text, &view.root, 0);
    let actions = info.map_or(&[][..], |info| &info.actions);
    if !actions.is_empty() {
        text.push('\n');
    }
    for action in actions {
        let _ = write!(text, "{} ({}) on {}: {}", action.id, action.key, action.kinds.join(", "), action.label);
        for (holds, word) in [(action.mutates, "changes"), (action.destructive, "destroys")] {
            if holds {
                let _ = write!(text, ", {word}");
            }
        }
        if !action.confirm.is_empty() {
            let _ = write!(text, ", asks \"{}\"", action.confirm);
        }
        if !action.inputs.is_empty() {
            let _ = write!(text, ", wants {}", action.inputs.join(", "));
        }
        text.push('\n');
    }
    text
}

fn row(text: &mut String, node: &PanelNode, depth: usize) {
    let PanelNode { id, label, kind, expanded, style, data, children } = node;
    let _ = write!(text, "{}- {label}  [{id}] {kind}", "  ".repeat(depth));
    if !style.is_empty() {
        let _ = write!(text, " {style}");
    }
    if !expanded && !children.is_empty() {
        text.push_str(" folded");
    }
    if !data.is_empty() {
        let _ = write!(text, " {}", serde_json::Value::Object(data.clone()));
    }
    text.push('\n');
    children.iter().for_each(|child| row(text, child, depth + 1));
}

/// How two texts differ, line by line as `diff -u` shows it; none where they do not.
pub fn difference(kept: &str, now: &str) -> Option<String> {
    if kept == now {
        return None;
    }
    let diff = similar::TextDiff::from_lines(kept, now);
    Some(diff.unified_diff().context_radius(2).header("kept", "now").to_string())
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::capability::PanelName;
    use acp_runtime_agent::panel::PanelAction;
    use expect_test::expect;
    use serde_json::Map;

    use super::*;

    #[test]
    fn all_that_is_shown_is_in_the_drawing() {
        let node = |id: &str, kind: &str, children: Vec<PanelNode>| PanelNode {
            id: id.to_owned(),
            label: format!("The {id}"),
            kind: kind.to_owned(),
            expanded: false,
            style: if kind == "task" { "dim".to_owned() } else { String::new() },
            data: if kind == "task" { Map::from_iter([("n".to_owned(), 1.into())]) } else { Map::new() },
            children,
        };
        let action = PanelAction {
            id: "done".to_owned(),
            label: "Done".to_owned(),
            key: "x".to_owned(),
            kinds: vec!["task".to_owned()],
            destructive: true,
            confirm: "Sure?".to_owned(),
            inputs: vec!["why".to_owned()],
            mutates: true,
        };
        let info =
            PanelInfo { name: PanelName::new("tasks").unwrap(), title: "Tasks".to_owned(), actions: vec![action] };
        let view =
            PanelView { root: node("root", "list", vec![node("t", "task", Vec::new())]), status: "1".to_owned() };
        expect![[r#"
            tasks: Tasks
            status: 1

            - The root  [root] list folded
              - The t  [t] task dim {"n":1}

            done (x) on task: Done, changes, destroys, asks "Sure?", wants why
        "#]]
        .assert_eq(&drawn(Some(&info), &view));
    }

    #[test]
    fn a_difference_shows_both_sides() {
        assert_eq!(difference("a\n", "a\n"), None);
        let shown = difference("a\nb\n", "a\nc\n").unwrap();
        assert!(shown.contains("-b\n+c\n"), "{shown}");
    }
}
