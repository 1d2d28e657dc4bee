//! From the flat list in which a panel crosses to the tree that it is, within bounds.

use std::collections::HashSet;

use acp_runtime_agent::panel::PanelNode;
use acp_runtime_agent::plain;
use serde_json::{Map, Value};

use super::GuestError;
use crate::limits::PanelLimits;

/// A node of the flat list: in pre-order, the parent by its index.
pub(super) struct FlatNode {
    pub(super) parent: Option<u32>,
    pub(super) id: String,
    pub(super) label: String,
    pub(super) kind: String,
    pub(super) style: String,
    pub(super) expanded: bool,
    pub(super) data: String,
}

/// Builds the tree. A parent stands before its children, so there can be no cycle.
pub(super) fn build(flat: Vec<FlatNode>, panel: &PanelLimits) -> Result<PanelNode, GuestError> {
    let (count, most) = (flat.len(), panel.nodes);
    if count > most {
        return Err(GuestError::TooMuch(format!("the panel has {count} nodes; at most {most}")));
    }
    check_shape(&flat, panel.depth)?;
    // From the last to the first: a node's children are complete when it is reached.
    let most_data = panel.total_data;
    let mut data_left = most_data;
    let mut waiting: Vec<Vec<PanelNode>> = flat.iter().map(|_| Vec::new()).collect();
    let mut root = None;
    for node in flat.into_iter().rev() {
        let mut children = waiting.pop().unwrap_or_default();
        children.reverse();
        let parent = node.parent;
        data_left = data_left
            .checked_sub(node.data.len())
            .ok_or_else(|| GuestError::TooMuch(format!("the panel's data has more than {most_data} bytes")))?;
        let node = complete(node, children, panel)?;
        match parent.and_then(|parent| waiting.get_mut(parent as usize)) {
            Some(siblings) => siblings.push(node),
            None => root = Some(node),
        }
    }
    root.ok_or_else(|| GuestError::Refused("the panel has no nodes".to_owned()))
}

fn check_shape(flat: &[FlatNode], deepest: usize) -> Result<(), GuestError> {
    let mut depths: Vec<usize> = Vec::with_capacity(flat.len());
    let mut ids = HashSet::with_capacity(flat.len());
    for (index, node) in flat.iter().enumerate() {
        if node.id.trim().is_empty() {
            let label = plain::line(&node.label, 80);
            return Err(GuestError::Refused(format!("node {index} of the panel (`{label}`) has no id")));
        }
        if !ids.insert(node.id.as_str()) {
            return Err(refused(node, "its id is there twice"));
        }
        let depth = match node.parent {
            None if index == 0 => 1,
            None => return Err(refused(node, "only the first node can be without a parent")),
            Some(parent) => match depths.get(parent as usize) {
                Some(above) => above + 1,
                None => return Err(refused(node, "its parent does not stand before it")),
            },
        };
        if depth > deepest {
            return Err(GuestError::TooMuch(format!("the panel has more than {deepest} levels")));
        }
        depths.push(depth);
    }
    Ok(())
}

fn complete(node: FlatNode, children: Vec<PanelNode>, panel: &PanelLimits) -> Result<PanelNode, GuestError> {
    let longest = panel.label;
    for (what, text) in [("id", &node.id), ("label", &node.label), ("kind", &node.kind)] {
        let size = text.len();
        if size > longest {
            return Err(GuestError::TooMuch(format!("a node's {what} has {size} bytes; at most {longest}")));
        }
    }
    let (size, most) = (node.data.len(), panel.data);
    if size > most {
        return Err(GuestError::TooMuch(format!("a node's data has {size} bytes; at most {most}")));
    }
    let data = match node.data.as_str() {
        "" => Map::new(),
        text => match serde_json::from_str(text) {
            Ok(Value::Object(data)) => data,
            Ok(_) | Err(_) => return Err(refused(&node, "its data is not a JSON object")),
        },
    };
    let known_style = ["active", "dim", "warn"].contains(&node.style.as_str());
    let style = if known_style { node.style.clone() } else { String::new() };
    Ok(PanelNode {
        label: plain::line(&node.label, longest),
        kind: node.kind,
        id: node.id,
        expanded: node.expanded,
        style,
        data,
        children,
    })
}

fn refused(node: &FlatNode, problem: &str) -> GuestError {
    GuestError::Refused(format!("node `{}` of the panel: {problem}", plain::line(&node.id, 80)))
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::fuzz::Fuzz;

    use super::*;

    fn node(id: &str, parent: Option<u32>) -> FlatNode {
        FlatNode {
            parent,
            id: id.to_owned(),
            label: format!("label\u{202e} {id}"),
            kind: "info".to_owned(),
            style: "blink".to_owned(),
            expanded: true,
            data: String::new(),
        }
    }

    fn shown(node: &PanelNode) -> String {
        let children: Vec<String> = node.children.iter().map(shown).collect();
        format!("{}({})", node.id, children.join(" "))
    }

    fn problem(flat: Vec<FlatNode>) -> String {
        match build(flat, &PanelLimits::default()).unwrap_err() {
            GuestError::Refused(text) | GuestError::TooMuch(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_flat_list_becomes_its_tree() {
        let flat = vec![
            node("a", None),
            node("b", Some(0)),
            node("c", Some(1)),
            node("d", Some(1)),
            node("e", Some(0)),
            node("f", Some(4)),
        ];
        let root = build(flat, &PanelLimits::default()).unwrap();
        assert_eq!(shown(&root), "a(b(c() d()) e(f()))");
        assert_eq!((root.label.as_str(), root.style.as_str()), ("label a", ""));
    }

    #[test]
    fn a46_what_is_no_tree_is_refused() {
        assert_eq!(problem(vec![]), "the panel has no nodes");
        assert_eq!(problem(vec![node("a", Some(0))]), "node `a` of the panel: its parent does not stand before it");
        assert_eq!(
            problem(vec![node("a", None), node("b", Some(2)), node("c", Some(1))]),
            "node `b` of the panel: its parent does not stand before it"
        );
        assert_eq!(
            problem(vec![node("a", None), node("b", None)]),
            "node `b` of the panel: only the first node can be without a parent"
        );
        assert_eq!(problem(vec![node("a", None), node("a", Some(0))]), "node `a` of the panel: its id is there twice");
        for id in ["", " \t"] {
            let nameless = FlatNode { label: "Open".to_owned(), ..node(id, Some(0)) };
            assert_eq!(problem(vec![node("a", None), nameless]), "node 1 of the panel (`Open`) has no id");
        }
        let data = FlatNode { data: "[]".to_owned(), ..node("a", None) };
        assert_eq!(problem(vec![data]), "node `a` of the panel: its data is not a JSON object");
    }

    fn fuzz() -> Fuzz {
        let row: Vec<u8> = (0..40).flat_map(|at| [u8::from(at > 0), at, at, 0]).collect();
        let line: Vec<u8> = (0..40).flat_map(|at| [at, at, at, 1]).collect();
        Fuzz::of([row, line]).with_words([&[0, 0, 0, 0], &[255, 1, 1, 1], &[1, 1, 9, 2], &[2, 255, 0, 3]])
    }

    /// Four bytes to a node: its parent and one more, its id, its label and its data.
    fn check(input: &[u8]) {
        let data = ["", "{}", r#"{"a":[{"b":1}]}"#, "[", "{\"a\":1e999}", "null", "{\"\\ud800\":1}"];
        let flat: Vec<FlatNode> = input
            .chunks_exact(4)
            .map(|bytes| FlatNode {
                parent: bytes[0].checked_sub(1).map(|parent| if parent == 254 { u32::MAX } else { parent.into() }),
                id: "n".repeat(bytes[1].into()),
                label: "\u{202e}\n".repeat(bytes[2].into()),
                kind: "k".repeat(bytes[2].into()),
                style: "dim".to_owned(),
                expanded: true,
                data: data[usize::from(bytes[3]) % data.len()].to_owned(),
            })
            .collect();
        let count = flat.len();
        let Ok(root) = build(flat, &PanelLimits::default()) else { return };
        let (mut left, mut seen, mut ids) = (vec![(&root, 1)], 0, HashSet::new());
        while let Some((node, depth)) = left.pop() {
            seen += 1;
            assert!(depth <= PanelLimits::default().depth && ids.insert(node.id.clone()) && !node.label.contains('\n'));
            left.extend(node.children.iter().map(|child| (child, depth + 1)));
        }
        assert_eq!(seen, count, "each node is there once");
    }

    #[test]
    fn a46_whatever_a_panel_gives_is_a_tree_or_is_refused() {
        fuzz().quick(check);
    }

    #[test]
    fn slow_fuzz_a46_whatever_a_panel_gives_is_a_tree_or_is_refused() {
        fuzz().slow(check);
    }

    #[test]
    fn a46_what_is_too_much_is_refused() {
        let row = |index: u32| node(&index.to_string(), index.checked_sub(1).map(|_| 0));
        assert_eq!(problem((0..10_001).map(row).collect()), "the panel has 10001 nodes; at most 10000");
        assert!(build((0..10_000).map(row).collect(), &PanelLimits::default()).is_ok());
        let level = |index: u32| node(&index.to_string(), index.checked_sub(1));
        assert_eq!(problem((0..65).map(level).collect()), "the panel has more than 64 levels");
        let long = FlatNode { label: "x".repeat(5000), ..node("a", None) };
        assert_eq!(problem(vec![long]), "a node's label has 5000 bytes; at most 4096");
        let data =
            |index: u32, size: usize| FlatNode { data: format!("{{\"x\":\"{}\"}}", "y".repeat(size)), ..row(index) };
        assert_eq!(problem(vec![data(0, 70_000)]), "a node's data has 70008 bytes; at most 65536");
        let many = (0..50).map(|index| data(index, 60_000)).collect();
        assert_eq!(problem(many), "the panel's data has more than 2097152 bytes");
    }
}
