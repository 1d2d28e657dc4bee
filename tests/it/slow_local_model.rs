//! A real model answers through the real program, in every format that its server speaks.
//!
//! It is small, and what it says is its own: looked at is that it streams, that its tokens are counted, that a conversation
//! goes on, and that what it cannot take is told. `cargo xtask test --slow` sets it up, see `tests/local_model`.
#![expect(clippy::disallowed_methods, reason = "the model's server is a process of its own")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::build_folder;
use serde_json::json;

/// Ends with its input.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let folder = build_folder().parent().expect("a build folder lies in the target folder").join("local-model");
        assert!(folder.is_dir(), "{} is not there: `cargo xtask test --slow` sets it up", folder.display());
        let mut command = Command::new(folder.join("venv/bin/python"));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("local_model/serve.py"));
        command.arg(folder.join("weights.gguf")).arg("1");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { process, address: address.trim_end().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_streams_in_every_format() {
    let server = Server::start();
    for wire in ["openai-chat", "openai-responses", "anthropic"] {
        let runtime = Runtime::new().config(&format!(
            "[limits]\ncontext_percent = 0\n[providers.local]\nwire = \"{wire}\"\nmodel = \"smollm2\"\nbase_url = \"{}/v1\"\napi_key = \"none\"\n\
             max_output_tokens = 48\ntemperature = 0\ncontext_window = 8192\n",
            server.address
        ));
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        for prompt in ["Say hello to the world.", "What is the capital of France?"] {
            let turn = editor.prompt(&session, prompt).await;
            let pieces = turn.of("agent_message_chunk").count();
            println!("{wire}: {pieces} pieces, {}: {}", turn.stop, turn.text());
            assert!(["end_turn", "max_tokens"].contains(&turn.stop.as_str()), "{wire}: {}", turn.stop);
            assert!(pieces > 1 && !turn.text().trim().is_empty(), "{wire}: {:#?}", turn.updates);
            let used = turn.of("usage_update").next().expect("its tokens are counted");
            assert!(used["used"].as_u64().is_some_and(|used| used > 20 && used < 8192), "{wire}: {used}");
        }
        // What the server itself says of a request that is too long is understood.
        let long = "All work and no play makes Jack a dull boy. ".repeat(1500);
        let error = editor.turn(editor.begin_prompt(&session, &long)).await.unwrap_err();
        assert_eq!(error.data["reason"], json!("context_overflow"), "{wire}: {error:?}");
        assert_eq!(editor.prompt(&session, "/status").await.stop, "end_turn", "{wire}");
        editor.close().await;
    }
}
