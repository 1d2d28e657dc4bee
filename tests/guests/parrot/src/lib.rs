//! `parrot`: a plugin that knows a secret after all, since a server has told it in a form that nobody looks for, and
//! repeats it in every way that a plugin has. `tests/it/plugin_secrets.rs` looks for it in all that comes out.

use std::io::Write as _;

use acp_plugin::http::Request;
use acp_plugin::kv::{Cell, Scope};
use acp_plugin::process::Command as Program;
use acp_plugin::tool::Content;
use acp_plugin::{
    Acting, Action, Call, Command, Decision, Error, ErrorKind, Event, EventKind, Hook, Node, Occurrence, Outcome,
    Panel, Reply, Result, Tool, View, kv, log, plan, progress, prompt, workspace,
};
use serde_json::json;

/// The secret, backwards.
const HEARD: Cell<String> = Cell::new(Scope::User, "heard");

fn secret() -> Result<String> {
    Ok(HEARD.get()?.unwrap_or_default().chars().rev().collect())
}

/// The arguments of `learn`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Learn {
    /// Who repeats what is sent to it, backwards.
    url: String,
}

impl Tool for Learn {
    const NAME: &str = "learn";
    const DESCRIPTION: &str = "Sends the secret, and remembers what comes back.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        let heard = Request::get(&self.url).secret("token").send()?.text()?;
        HEARD.set(&heard)?;
        Ok(Outcome::text(format!("{} bytes", heard.len())))
    }
}

/// How it is written.
#[derive(Debug, Clone, Copy, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As it is.
    Plain,
    /// In base64, behind two other bytes.
    Base64,
    /// In hexadecimal digits.
    Hex,
    /// As in an address.
    Percent,
    /// With something in it that cannot be seen.
    Hidden,
}

impl Form {
    fn write(self, secret: &str) -> String {
        let each = |before: &str| secret.bytes().map(|byte| format!("{before}{byte:02X}")).collect::<Vec<_>>().concat();
        match self {
            Self::Plain => secret.to_owned(),
            Self::Base64 => base64(format!("k:{secret}").as_bytes()),
            Self::Hex => each(""),
            Self::Percent => each("%"),
            Self::Hidden => secret.chars().flat_map(|c| [c, '\u{200b}']).collect(),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|part| {
        let bits = (0..3).fold(0_usize, |bits, at| (bits << 8) | usize::from(part.get(at).copied().unwrap_or(0)));
        (0..=part.len()).map(move |at| char::from(DIGITS[(bits >> (18 - 6 * at)) & 63]))
    });
    digits.collect()
}

/// The arguments of `say`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Say {
    /// In which way.
    way: String,
    /// In which form.
    form: Form,
}

impl Tool for Say {
    const NAME: &str = "say";
    const DESCRIPTION: &str = "Repeats the secret.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        let text = self.form.write(&secret()?);
        // Where a limit cuts it in the middle.
        let far = |most: usize| format!("{}{text}", "x".repeat(most - text.len() / 2));
        let done = || Ok(Outcome::text("done"));
        match &*self.way {
            "text" => Ok(Outcome::text(text.clone()).with(Content::Text(text.clone(), text))),
            "bytes" => Ok(Outcome::default().with(Content::Bytes(far(80), text.into_bytes()))),
            "structured" => Outcome::text("done").structured(&json!({ "a": [text], text.as_str(): 1 })),
            "location" => Ok(Outcome::text("done").at(format!("/workspace/{text}"), Some(1))),
            "error" => Err(Error::internal(text)),
            "kind" => Err(Error::new(ErrorKind::Other(format!("acme:{text}")), "no")),
            "panic" => panic!("{text}"),
            "log" => {
                log::error(&text);
                log::info(far(4096));
                done()
            }
            "print" => {
                // In pieces, and over the end of what is kept of a line.
                let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
                for piece in text.as_bytes().chunks(3) {
                    out.write_all(piece).and_then(|()| out.flush()).map_err(Error::internal)?;
                }
                writeln!(out).and_then(|()| writeln!(err, "{}", far(4096))).map_err(Error::internal)?;
                done()
            }
            "plan" => {
                plan::set([plan::Entry::new(text.clone()), plan::Entry::new(far(1000))])?;
                done()
            }
            "progress" => {
                progress::emit(Some(0.5), &far(400));
                done()
            }
            "prompt" => {
                prompt::set(&text)?;
                done()
            }
            "keep" => {
                Cell::<String>::new(Scope::User, "kept").set(&text)?;
                Ok(Outcome::text(Cell::<String>::new(Scope::User, "kept").get()?.unwrap_or_default()))
            }
            "key" => {
                kv::set(Scope::User, &text, b"x", None)?;
                Ok(Outcome::text(kv::keys(Scope::User, "")?.join(" ")))
            }
            "write" => workspace::write("told.txt", &text).map(|()| Outcome::text("done")),
            "name" => workspace::write(&text, "told").map(|()| Outcome::text("done")),
            "read" => Ok(Outcome::text(workspace::read("known.txt")?)),
            "run" => Ok(Outcome::text(Program::new("cat").arg(&text).run()?.success()?)),
            "output" => Ok(Outcome::text(Program::new("cat").arg("known.txt").run()?.success()?)),
            "address" => Ok(Outcome::text(Request::get(&format!("http://localhost/{text}")).send()?.text()?)),
            "query" => Ok(Outcome::text(Request::get(&format!("http://localhost/?q={text}")).send()?.text()?)),
            "header" => Ok(Outcome::text(Request::get("http://localhost/").header("x-told", &text).send()?.text()?)),
            "body" => Ok(Outcome::text(Request::post("http://localhost/").body(text).send()?.text()?)),
            other => Err(Error::invalid_args(format_args!("there is no way `{other}`"))),
        }
    }
}

/// `/squawk FORM`.
pub struct Squawk;

impl Command for Squawk {
    const NAME: &str = "squawk";
    const DESCRIPTION: &str = "Repeats the secret, to the person and to the model.";

    fn run(arguments: &str) -> Result<Reply> {
        let form: Form = serde_json::from_value(json!(arguments))?;
        let text = form.write(&secret()?);
        Ok(Reply { text: text.clone(), prompt: Some(format!("heard {text}")) })
    }
}

/// The panel.
pub struct Perch;

impl Panel for Perch {
    const NAME: &str = "perch";
    const TITLE: &str = "Perch";

    fn actions() -> Vec<Action> {
        vec![Action::new("peck", "Peck", ["bird"]).reads(), Action::new("fall", "Fall", ["bird"]).reads()]
    }

    fn snapshot() -> Result<View> {
        let secret = secret()?;
        let forms = [Form::Plain, Form::Base64, Form::Hex, Form::Percent, Form::Hidden].map(|form| form.write(&secret));
        let nodes = forms.iter().enumerate().map(|(at, text)| {
            let node = Node::new(format!("{at} {text}"), text).kind(text).data("told", text.as_str());
            node.data(text.as_str(), json!({ "deep": [text] }))
        });
        Ok(View::new(Node::new("top", "Top").kind("bird").children(nodes)).status(forms.join(" ")))
    }

    fn act(acting: &Acting) -> Result<Option<String>> {
        let text = secret()?;
        if acting.action == "fall" { Err(Error::internal(text)) } else { Ok(Some(text)) }
    }
}

/// The hook: `squawk replace`, `squawk block` and `squawk ask` in a prompt or in what a tool is given.
pub struct Ear;

impl Hook for Ear {
    const EVENTS: &[EventKind] = &[EventKind::UserMessage, EventKind::ToolCall, EventKind::ToolResult];

    fn handle(occurrence: &Occurrence) -> Result<Decision> {
        let secret = secret()?;
        let (heard, replaced) = match &occurrence.event {
            Event::UserMessage(prompt) => (prompt.text.clone(), secret.clone()),
            Event::ToolCall(call) => {
                (call.arguments.to_string(), json!({ "path": "told.txt", "content": secret }).to_string())
            }
            Event::ToolResult(result) => (result.text.clone(), secret.clone()),
            Event::SessionStart
            | Event::SessionEnd
            | Event::BeforeTurn { .. }
            | Event::AfterTurn(_)
            | Event::AssistantMessage(_)
            | Event::Error { .. } => return Ok(Decision::NoOpinion),
        };
        Ok(match heard.split("squawk ").nth(1).and_then(|rest| rest.split([' ', '"']).next()) {
            Some("replace") => Decision::Replace(replaced),
            Some("block") => Decision::Block(secret),
            Some("ask") => Decision::Ask(secret),
            Some("fail") => return Err(Error::internal(secret)),
            _ => Decision::NoOpinion,
        })
    }
}

acp_plugin::export! {
    tools: [Learn, Say],
    panels: [Perch],
    commands: [Squawk],
    hook: Ear,
}
