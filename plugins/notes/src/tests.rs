//! The commands and tools over the double.

use acp_plugin::ErrorKind;
use acp_plugin::testing::{Host, call, run};
use serde_json::json;

use crate::moment::Moment;
use crate::notebook::{self, MOST_HITS};
use crate::{Add, List, NoteCommand, NotesCommand, Read, Search};

fn morning() -> Moment {
    Moment { date: "2026-11-30".to_owned(), time: "09:05".to_owned() }
}

#[test]
fn the_notes_of_a_day() {
    let host = Host::fresh();
    notebook::jot("first", &morning()).unwrap();
    notebook::jot("second\nwith a line", &morning()).unwrap();
    notebook::jot("third", &morning()).unwrap();
    let expected = "# 2026-11-30\n\n- 09:05 first\n- 09:05 second\n  with a line\n- 09:05 third\n";
    assert_eq!(host.file("notes/2026-11-30.md").unwrap(), expected);
}

#[test]
fn what_is_there_stays_as_it_is() {
    let host = Host::fresh();
    host.put_file("notes/2026-11-30.md", "Written by hand, without a last line break");
    notebook::jot("noted", &morning()).unwrap();
    let expected = "Written by hand, without a last line break\n\n- 09:05 noted\n";
    assert_eq!(host.file("notes/2026-11-30.md").unwrap(), expected);
}

#[test]
fn commands() {
    Host::fresh();
    assert!(run::<NotesCommand>("").unwrap().text.starts_with("There are no notes yet"));
    assert!(run::<NoteCommand>(" ask about the licence ").unwrap().text.starts_with("Noted in `notes/"));
    let notes = run::<NotesCommand>("").unwrap().text;
    assert!(notes.starts_with("- `notes/20"), "{notes}");
    assert_eq!(run::<NoteCommand>("  ").unwrap_err().kind(), &ErrorKind::InvalidArgs);
}

#[test]
fn from_added_to_found() {
    let host = Host::fresh();
    let added = call::<Add>(&json!({ "title": "Release plan", "text": "Freeze on Friday." })).unwrap();
    assert_eq!(added.to_text(), "Added to `notes/release-plan.md`.");
    call::<Add>(&json!({ "title": "release-plan", "text": "Tag on Monday." })).unwrap();
    let read = call::<Read>(&json!({ "note": "release-plan.md" })).unwrap().to_text();
    assert_eq!(read, "# release-plan\n\nFreeze on Friday.\n\nTag on Monday.\n");
    host.put_file("notes/deep/other.md", "friday");
    host.put_file("src/friday.md", "friday");
    assert_eq!(call::<List>(&json!({})).unwrap().to_text(), "release-plan");
    let found = call::<Search>(&json!({ "query": "FRIDAY" })).unwrap();
    assert_eq!(found.to_text(), "notes/release-plan.md:3: Freeze on Friday.");
    assert_eq!(found.locations().first().and_then(|place| place.line), Some(3));
    assert_eq!(call::<Search>(&json!({ "query": "Sunday" })).unwrap().to_text(), "No note contains `Sunday`.");
}

#[test]
fn a_search_is_bounded() {
    let host = Host::fresh();
    host.put_file("notes/many.md", &"same\n".repeat(MOST_HITS + 1));
    let found = call::<Search>(&json!({ "query": "same" })).unwrap();
    assert_eq!(found.to_structured().unwrap().as_array().unwrap().len(), MOST_HITS);
    assert!(found.to_text().contains("more than 50 lines"));
}

#[test]
fn refusals() {
    let host = Host::fresh();
    let missing = call::<Read>(&json!({ "note": "nothing" })).unwrap_err();
    assert_eq!(missing.message(), "there is no note `nothing`: `list` shows what there is");
    assert_eq!(call::<Read>(&json!({ "note": "../.." })).unwrap_err().kind(), &ErrorKind::InvalidArgs);
    host.cancel();
    host.put_file("notes/a.md", "a");
    assert_eq!(call::<Search>(&json!({ "query": "a" })).unwrap_err().kind(), &ErrorKind::Cancelled);
    host.deny_files();
    for refused in [call::<List>(&json!({})), call::<Add>(&json!({ "text": "a" }))] {
        assert_eq!(refused.unwrap_err().kind(), &ErrorKind::Denied);
    }
}
