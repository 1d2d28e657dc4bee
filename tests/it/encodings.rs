//! Files that are not in UTF-8: the model reads and changes their text, and they stay in their own encoding.
#![expect(clippy::disallowed_methods, reason = "lays out and looks at bytes")]

use std::fs;

use acp_runtime_tests::Runtime;
use serde_json::json;

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[tokio::test]
async fn a_file_stays_in_its_encoding() {
    for (before, after, whole) in [
        (utf16("eins\r\nzwölf 😀\r\n"), utf16("eins\r\ndreizehn € 😀\r\n"), utf16("ganz neu →\r\n")),
        (b"eins\r\nzw\xF6lf \xDF\r\n".to_vec(), b"eins\r\ndreizehn \x80 \xDF\r\n".to_vec(), b"ganz neu\r\n".to_vec()),
    ] {
        let runtime = Runtime::new().config("mode = \"auto\"\n");
        let file = runtime.project().join("a.txt");
        fs::write(&file, &before).unwrap();
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let read = editor.prompt(&session, "/call read_file {\"path\": \"a.txt\"}").await.text();
        assert!(read.contains("eins") && read.contains("zwölf"), "{read}");
        let edit = json!({ "path": "a.txt", "old_string": "zwölf", "new_string": "dreizehn €" });
        let turn = editor.prompt(&session, &format!("/call edit_file {edit}")).await;
        assert_eq!(turn.call().status(), "completed", "{}", turn.text());
        assert_eq!(fs::read(&file).unwrap(), after);
        let found = editor.prompt(&session, "/call grep {\"pattern\": \"dreizehn\"}").await.text();
        assert!(found.contains("a.txt"), "{found}");
        // What the encoding does not have is refused, and the file is left as it was.
        let arrow = json!({ "path": "a.txt", "content": "ganz neu →\n" }).to_string();
        let turn = editor.prompt(&session, &format!("/call write_file {arrow}")).await;
        if turn.call().status() == "failed" {
            assert!(turn.text().contains("which has no `→`: do without it, or convert the file"), "{}", turn.text());
            assert_eq!(fs::read(&file).unwrap(), after);
            let plain = json!({ "path": "a.txt", "content": "ganz neu\n" });
            editor.prompt(&session, &format!("/call write_file {plain}")).await;
        }
        assert_eq!(fs::read(&file).unwrap(), whole);
        editor.close().await;
    }
}
