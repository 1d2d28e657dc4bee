//! Tools that change files: several edits at once, moves, removals, and what stays as it was.

use super::*;

#[tokio::test]
async fn several_edits_are_made_together_or_not_at_all() {
    let edit = |old: &str, new: &str| json!({ "old_string": old, "new_string": new });
    for (before, edits, after, said) in [
        ("a\nb\nc\n", vec![edit("a", "1"), edit("c", "3")], "1\nb\n3\n", "Edited `f` at lines 1, 3"),
        // Each is made in what the one before has left.
        ("a\n", vec![edit("a", "b\nb2"), edit("b2", "c")], "b\nc\n", "Edited `f` at lines 1, 2"),
        ("a\r\nb\r\n", vec![edit("a\nb", "x\ny"), edit("y", "z")], "x\r\nz\r\n", "Edited `f` at lines 1, 2"),
        (
            "a\nb\n",
            vec![edit("a", "x"), edit("gone", "y")],
            "a\nb\n",
            "Error [not-found]: edit 2 of 2 (nothing was changed): `old_string` is not in `f`: nothing in the file is \
             like it; read the file again",
        ),
        (
            "a\nb\n",
            vec![edit("a", "b"), edit("b", "c")],
            "a\nb\n",
            "Error [invalid-args]: edit 2 of 2 (nothing was changed): `old_string` is in `f` 2 times, at lines 1, 2: give \
             lines around it until it is unique, or set `replace_all`",
        ),
    ] {
        let desk = desk(&[("f", before)]);
        let arguments = json!({ "path": "f", "edits": edits });
        let preview = desk.preview("edit_file", arguments.clone()).await;
        assert_eq!((preview.is_ok(), desk.text("f").as_str()), (before != after, before));
        assert_eq!(desk.call("edit_file", arguments).await, said);
        assert_eq!(desk.text("f"), after);
    }
    let desk = desk(&[("f", "a")]);
    for (arguments, problem) in [
        (json!({}), "give `old_string` and `new_string`, or several of them in `edits`"),
        (
            json!({ "old_string": "a", "edits": [edit("a", "b")] }),
            "give `old_string` and `new_string`, or `edits`, but not both",
        ),
        (json!({ "edits": vec![edit("a", "b"); 101] }), "101 edits are too many for one call: at most 100"),
    ] {
        let mut call = arguments;
        call["path"] = json!("f");
        assert_eq!(desk.call("edit_file", call).await, format!("Error [invalid-args]: {problem}"));
    }
}

#[tokio::test]
async fn the_ends_of_lines_stay_as_they_are() {
    for (before, content, after) in [
        (Some("a\r\nb\r\n"), "x\ny\n", "x\r\ny\r\n"),
        (Some("a\r\nb\r\n"), "x\r\ny\n", "x\r\ny\r\n"),
        (Some("a\r\nb\n"), "x\ny\n", "x\ny\n"),
        (Some("a\n"), "x\r\n", "x\r\n"),
        (None, "x\r\n", "x\r\n"),
    ] {
        let files: Vec<(&str, &str)> = before.map(|text| ("f", text)).into_iter().collect();
        let desk = desk(&files);
        let arguments = json!({ "path": "f", "content": content });
        let preview = desk.preview("write_file", arguments.clone()).await.unwrap();
        let ToolContent::Diff { new, .. } = &preview[0] else { panic!("{preview:?}") };
        assert_eq!(new, after, "what is shown is what is written");
        desk.call("write_file", arguments).await;
        assert_eq!(desk.text("f"), after, "{before:?} {content:?}");
    }
}

#[tokio::test]
async fn paths_are_moved_and_removed() {
    let desk = desk(&[("a", "text of a"), ("d/b", ""), ("d/c/e", ""), ("taken", "")]);
    for (tool, arguments, said) in [
        ("move_path", json!({ "from": "a", "to": "new/place/a.txt" }), "Moved `a` to `new/place/a.txt`"),
        ("move_path", json!({ "from": "d", "to": "moved" }), "Moved `d` to `moved`"),
        ("move_path", json!({ "from": "moved", "to": "taken" }), "Error [invalid-args]: `taken` exists already"),
        ("move_path", json!({ "from": "gone", "to": "x" }), "Error [not-found]: `gone` does not exist"),
        (
            "move_path",
            json!({ "from": "moved", "to": "moved/in" }),
            "Error [invalid-args]: `moved/in`: a folder cannot be moved into itself",
        ),
        ("move_path", json!({ "from": "../a", "to": "x" }), "Error [denied]: `../a` leaves the workspace"),
        (
            "move_path",
            json!({ "from": "taken", "to": "/etc/taken" }),
            "Error [denied]: `/etc/taken` is not under any of the session's folders",
        ),
        (
            "delete_path",
            json!({ "path": "moved" }),
            "Error [invalid-args]: `moved` is a folder: set `recursive` to remove it with all in it",
        ),
        ("delete_path", json!({ "path": "moved/b" }), "Deleted `moved/b`"),
        ("delete_path", json!({ "path": "moved", "recursive": true }), "Deleted `moved`"),
        ("delete_path", json!({ "path": "taken", "recursive": true }), "Deleted `taken`"),
        ("delete_path", json!({ "path": "gone" }), "Error [not-found]: `gone` does not exist"),
        (
            "delete_path",
            json!({ "path": ".", "recursive": true }),
            "Error [invalid-args]: `.`: it is the workspace itself",
        ),
    ] {
        assert_eq!(desk.call(tool, arguments.clone()).await, said, "{tool} {arguments}");
    }
    assert_eq!(desk.text("new/place/a.txt"), "text of a");
    assert_eq!(fs::read_dir(desk.folder.path()).unwrap().count(), 1);
}

#[test]
fn a_move_and_a_removal_say_what_they_would_do() {
    let desk = desk(&[]);
    let at = |path: &str| Location { path: desk.path(path).display().to_string(), line: None };
    for (tool, arguments, title, locations) in [
        ("move_path", json!({ "from": "a", "to": "b/c" }), "Move `a` to `b/c`", vec![at("a"), at("b/c")]),
        ("delete_path", json!({ "path": "a" }), "Delete `a`", vec![at("a")]),
        ("delete_path", json!({ "path": "a", "recursive": true }), "Delete `a` and all in it", vec![at("a")]),
        ("think", json!({ "thought": " Which of\nthem? " }), "Which of them?", vec![]),
    ] {
        assert_eq!(desk.title(tool, arguments), (title.to_owned(), locations));
    }
    let effects = |tool: &str, arguments: Value| {
        let tool = desk.tool(tool);
        let effects = tool.effects(&ToolArguments::validate(tool.spec(), arguments).unwrap()).unwrap();
        effects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for (tool, arguments, expected) in [
        ("move_path", json!({ "from": "a", "to": "b" }), "move `a -> b`"),
        ("delete_path", json!({ "path": "a" }), "delete `a`"),
        ("delete_path", json!({ "path": "a", "recursive": true }), "delete `a/**`"),
        ("think", json!({ "thought": "hm" }), ""),
    ] {
        assert_eq!(effects(tool, arguments), expected, "{tool}");
    }
}

#[tokio::test]
async fn a_thought_changes_nothing() {
    let desk = desk(&[]);
    assert_eq!(desk.call("think", json!({ "thought": "First this, then that." })).await, "Noted.");
    assert_eq!(desk.call("think", json!({ "thought": " " })).await, "Error [invalid-args]: `thought` says nothing");
}

#[tokio::test]
async fn of_a_huge_file_any_lines_can_be_read() {
    let desk = desk(&[]);
    let lines = (1..=2_000_000).map(|n| format!("line {n:07}\n")).collect::<Vec<_>>().concat();
    fs::write(desk.path("huge.log"), &lines).unwrap();
    assert!(lines.len() > 16 << 20);
    let beginning = desk.call("read_file", json!({ "path": "huge.log" })).await;
    assert!(beginning.starts_with("     1\tline 0000001\n"), "{}", &beginning[..40]);
    assert!(beginning.contains("[lines 1-2000: go on with start_line=2001"), "{}", &beginning[beginning.len() - 90..]);
    for (arguments, expected) in [
        (
            json!({ "start_line": 1_500_000, "limit": 1 }),
            "1500000\tline 1500000\n\n[lines 1500000-1500000: go on with start_line=1500001, or look for words with grep]",
        ),
        (json!({ "start_line": 1_999_999 }), "1999999\tline 1999999\n2000000\tline 2000000"),
        (
            json!({ "start_line": 2_000_001 }),
            "Error [invalid-args]: `start_line` is 2000001, but `huge.log` has 2000000 lines",
        ),
    ] {
        let mut call = arguments;
        call["path"] = json!("huge.log");
        assert_eq!(desk.call("read_file", call).await, expected);
    }
}
