//! What an editor answers when the agent asks: permissions by the test's choice, files from open buffers or the disk.
#![expect(clippy::disallowed_methods, reason = "an editor reads and writes the files of its project")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::terminals::{Late, Terminals};

/// A permission request as a person sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Permission {
    /// Its session.
    pub session: String,
    /// The tool call that it is about.
    pub call: Value,
    /// The options, in order.
    pub options: Vec<Value>,
}

impl Permission {
    /// The line that a person reads.
    pub fn title(&self) -> &str {
        self.call["title"].as_str().unwrap_or_default()
    }

    /// The diff that is shown with it; null where there is none.
    pub fn diff(&self) -> Value {
        let content = self.call["content"].as_array().into_iter().flatten();
        content.into_iter().find(|block| block["type"] == "diff").cloned().unwrap_or(Value::Null)
    }
}

/// What the person does with a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Picks the option of that kind, such as `allow_once`.
    Pick(&'static str),
    /// Names an option by its id, whether it was offered or not.
    Id(&'static str),
    /// Lets it go.
    Cancel,
    /// The client answers with an error.
    Fail,
    /// Looks at it and does nothing, until the turn is cancelled.
    Hold,
}

/// What the editor does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    /// What it should.
    Serve,
    /// Says no, with that code and message.
    Refuse(i64, &'static str),
    /// Answers with that JSON as the result.
    Give(&'static str),
    /// Nothing, until [`EditorDouble::serve_ignored`](super::EditorDouble::serve_ignored).
    Ignore,
}

/// What the person does with a form or a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// Fills it in, or opens it.
    With(Value),
    /// Does not want to.
    Decline,
    /// Closes it.
    Cancel,
    /// Looks at it and does nothing, until it is withdrawn.
    Hold,
}

/// How an editor behaves.
#[derive(Clone)]
pub struct EditorOptions {
    /// What it offers in `initialize`.
    pub capabilities: Value,
    /// How its person answers.
    pub answer: Arc<dyn Fn(&Permission) -> Answer + Send + Sync>,
    /// How its person fills in forms and opens pages: gets the whole params.
    pub fill: Arc<dyn Fn(&Value) -> Filled + Send + Sync>,
    /// What it does with requests of a method.
    pub manner: Arc<dyn Fn(&str) -> Manner + Send + Sync>,
    /// Unsaved text, by absolute path.
    pub buffers: HashMap<String, String>,
    /// Whether messages have `Content-Length` headers, instead of being lines.
    pub headers: bool,
    /// Whether its own prompts may be sent back to it.
    pub echo: bool,
}

impl Default for EditorOptions {
    fn default() -> Self {
        Self {
            capabilities: json!({}),
            answer: Arc::new(|_| Answer::Pick("allow_once")),
            fill: Arc::new(|_| Filled::Cancel),
            manner: Arc::new(|_| Manner::Serve),
            buffers: HashMap::new(),
            headers: false,
            echo: false,
        }
    }
}

impl EditorOptions {
    /// Offers to read and write files.
    #[must_use]
    pub fn with_files(mut self) -> Self {
        self.capabilities["fs"] = json!({ "readTextFile": true, "writeTextFile": true });
        self
    }

    /// Offers to show forms and to open pages, which its person treats by `fill`.
    #[must_use]
    pub fn filling(mut self, fill: impl Fn(&Value) -> Filled + Send + Sync + 'static) -> Self {
        self.capabilities["elicitation"] = json!({ "form": {}, "url": {} });
        self.fill = Arc::new(fill);
        self
    }

    /// Offers terminals.
    #[must_use]
    pub fn with_terminals(mut self) -> Self {
        self.capabilities["terminal"] = json!(true);
        self
    }

    /// Draws terminals for output that it is told.
    #[must_use]
    pub fn drawing_output(mut self) -> Self {
        self.capabilities["_meta"]["terminal_output"] = json!(true);
        self
    }

    /// Treats requests as `manner` says of their method.
    #[must_use]
    pub fn behaving(mut self, manner: impl Fn(&str) -> Manner + Send + Sync + 'static) -> Self {
        self.manner = Arc::new(manner);
        self
    }

    /// Has a file open with unsaved text.
    #[must_use]
    pub fn with_buffer(mut self, path: &Path, text: &str) -> Self {
        self.buffers.insert(path.display().to_string(), text.to_owned());
        self
    }

    /// Frames messages by `Content-Length` headers.
    #[must_use]
    pub fn with_headers(mut self) -> Self {
        self.headers = true;
        self
    }

    /// Offers what stands at `pointer` in the capabilities, such as `/session/notices`.
    #[must_use]
    pub fn offering(mut self, pointer: &str, offer: Value) -> Self {
        let mut place = &mut self.capabilities;
        for name in pointer.split('/').skip(1) {
            place = &mut place[name];
        }
        *place = offer;
        self
    }

    /// Has its own prompts sent back to it.
    #[must_use]
    pub fn with_echo(mut self) -> Self {
        self.echo = true;
        self
    }

    /// Answers every permission request by `answer`.
    #[must_use]
    pub fn answering(mut self, answer: impl Fn(&Permission) -> Answer + Send + Sync + 'static) -> Self {
        self.answer = Arc::new(answer);
        self
    }
}

/// What the editor's person and files did on the agent's behalf.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) buffers: HashMap<String, String>,
    pub(super) permissions: Vec<Permission>,
    /// The params of every form and page.
    pub(super) elicitations: Vec<Value>,
    /// Method and path of every file call.
    pub(super) file_calls: Vec<(String, String)>,
    pub(super) terminals: Terminals,
    /// Requests that were ignored: id, method and params.
    pub(super) ignored: Vec<(Value, String, Value)>,
    /// Requests that nobody has answered yet, and how each is given up.
    pub(super) held: Vec<(Value, Value)>,
    /// How many of them were withdrawn.
    pub(super) withdrawn: usize,
}

impl Desk {
    /// The answer to one request: a whole `result` or `error` member; none if it is held.
    pub(super) fn answer(
        &mut self,
        options: &EditorOptions,
        id: &Value,
        method: &str,
        params: &Value,
        late: &Late,
    ) -> Option<Value> {
        match (options.manner)(method) {
            Manner::Serve => self.serve(options, id, method, params, late),
            Manner::Refuse(code, message) => Some(json!({ "error": { "code": code, "message": message } })),
            Manner::Give(result) => {
                let result: Value = serde_json::from_str(result).expect("a result is JSON");
                Some(json!({ "result": result }))
            }
            Manner::Ignore => {
                self.ignored.push((id.clone(), method.to_owned(), params.clone()));
                None
            }
        }
    }

    /// The answer of an editor that does what it should.
    pub(super) fn serve(
        &mut self,
        options: &EditorOptions,
        id: &Value,
        method: &str,
        params: &Value,
        late: &Late,
    ) -> Option<Value> {
        match method {
            "session/request_permission" => self.permit(options, id, params),
            "elicitation/create" => self.elicit(options, id, params),
            method if method.starts_with("terminal/") => self.terminals.answer(id, method, params, late),
            "fs/read_text_file" => Some(self.read(params)),
            "fs/write_text_file" => Some(self.write(params)),
            _ => Some(json!({ "error": { "code": -32601, "message": "Method not found" } })),
        }
    }

    /// Gives up all held requests: their ids and answers.
    pub(super) fn release(&mut self) -> Vec<(Value, Value)> {
        std::mem::take(&mut self.held)
    }

    /// Gives up a held request that was withdrawn: its answer.
    pub(super) fn withdraw(&mut self, id: &Value) -> Option<Value> {
        let at = self.held.iter().position(|(held, _)| held == id)?;
        self.withdrawn += 1;
        Some(self.held.remove(at).1)
    }

    fn permit(&mut self, options: &EditorOptions, id: &Value, params: &Value) -> Option<Value> {
        let permission = Permission {
            session: params["sessionId"].as_str().unwrap_or_default().to_owned(),
            call: params["toolCall"].clone(),
            options: params["options"].as_array().cloned().unwrap_or_default(),
        };
        let answer = (options.answer)(&permission);
        let option = |kind| permission.options.iter().find(|option| option["kind"] == kind).cloned();
        let picked = |id: &Value| Some(json!({ "result": { "outcome": { "outcome": "selected", "optionId": id } } }));
        let reply = match answer {
            Answer::Pick(kind) => match option(kind) {
                Some(option) => picked(&option["optionId"]),
                None => panic!("no `{kind}` in {permission:#?}"),
            },
            Answer::Id(id) => picked(&json!(id)),
            Answer::Cancel => Some(cancelled()),
            Answer::Fail => Some(json!({ "error": { "code": -32603, "message": "Internal error" } })),
            Answer::Hold => {
                self.held.push((id.clone(), cancelled()));
                None
            }
        };
        self.permissions.push(permission);
        reply
    }

    fn elicit(&mut self, options: &EditorOptions, id: &Value, params: &Value) -> Option<Value> {
        self.elicitations.push(params.clone());
        let result = match (options.fill)(params) {
            Filled::With(content) if params["mode"] == "url" && content.is_null() => json!({ "action": "accept" }),
            Filled::With(content) => json!({ "action": "accept", "content": content }),
            Filled::Decline => json!({ "action": "decline" }),
            Filled::Cancel => json!({ "action": "cancel" }),
            Filled::Hold => {
                let withdrawn = json!({ "error": { "code": -32800, "message": "Request cancelled" } });
                self.held.push((id.clone(), withdrawn));
                return None;
            }
        };
        Some(json!({ "result": result }))
    }

    fn read(&mut self, params: &Value) -> Value {
        let path = self.note("fs/read_text_file", params);
        let text = self.buffers.get(&path).cloned().map_or_else(|| fs::read_to_string(&path), Ok);
        match text {
            Ok(text) => {
                let skip = params["line"].as_u64().map_or(0, |line| line.saturating_sub(1));
                let limit = params["limit"].as_u64().unwrap_or(u64::MAX);
                let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
                let lines = text.split_inclusive('\n').skip(count(skip)).take(count(limit));
                json!({ "result": { "content": lines.collect::<String>() } })
            }
            Err(error) => {
                json!({ "error": { "code": -32002, "message": format!("Resource not found: {error}"), "data": { "uri": path } } })
            }
        }
    }

    fn write(&mut self, params: &Value) -> Value {
        let path = self.note("fs/write_text_file", params);
        let text = params["content"].as_str().unwrap_or_default();
        self.buffers.insert(path.clone(), text.to_owned());
        let above = Path::new(&path).parent().map_or(Ok(()), fs::create_dir_all);
        match above.and_then(|()| fs::write(&path, text)) {
            Ok(()) => json!({ "result": {} }),
            Err(error) => json!({ "error": { "code": -32603, "message": format!("cannot write: {error}") } }),
        }
    }

    fn note(&mut self, method: &str, params: &Value) -> String {
        let path = params["path"].as_str().unwrap_or_default().to_owned();
        self.file_calls.push((method.to_owned(), path.clone()));
        path
    }
}

/// The answer to a permission request whose turn went away.
fn cancelled() -> Value {
    json!({ "result": { "outcome": { "outcome": "cancelled" } } })
}
