//! The commands that a session answers itself.
//!
//! They need no model, and they are how options, panels and tools are reached in a client that shows none of them. One
//! table says what there is; the rooms below answer. Plugins' commands are in the catalogue beside these. Tested in
//! `tests/it`.

mod options;
mod panels;
mod schema;
mod state;
mod tools;

use std::fmt::Write as _;

use futures::future::{BoxFuture, FutureExt as _};

use super::Shared;
use crate::command::{CommandCatalog, CommandReply, takes_nothing};
use crate::event::CommandInfo;
use crate::options::Switches;
use crate::tool::ToolError;

type Reply = Result<CommandReply, ToolError>;

/// A command of the table.
struct Own {
    name: &'static str,
    /// What to type after the name.
    hint: Option<&'static str>,
    description: &'static str,
    run: for<'a> fn(&'a Shared, &'a str) -> BoxFuture<'a, Reply>,
}

/// What `/init` asks of the model.
const INIT: &str = "Look at this project: its README, its build files, its folders and some of its code. Then write \
                    `AGENTS.md` in its first folder, for coding agents that have never seen it: what it is and how it \
                    is laid out, the commands that build, test and check it, the conventions that its code keeps to, \
                    and what is easy to get wrong. Write only what you have seen, in at most 80 lines. If there is an \
                    `AGENTS.md` already, improve it and keep what people have written.";

const OWN: &[Own] = &[
    Own {
        name: "help",
        hint: Some("[COMMAND]"),
        description: "Lists the commands, or says what one does",
        run: |session, arguments| now(help(session, arguments)),
    },
    Own {
        name: "tools",
        hint: Some("[TOOL]"),
        description: "Lists the tools, or shows what one does and takes",
        run: |session, arguments| tools::answer(session, arguments).boxed(),
    },
    Own {
        name: "call",
        hint: Some("TOOL {json}"),
        description: "Calls a tool",
        run: |session, arguments| tools::call(session, arguments).boxed(),
    },
    Own {
        name: "panel",
        hint: Some("[NAME [ACTION NODE [{json}]]]"),
        description: "Shows a panel, or does one of its actions",
        run: |session, arguments| panels::answer(session, arguments).boxed(),
    },
    Own {
        name: "mode",
        hint: Some("[MODE]"),
        description: "Shows the mode, or changes it",
        run: |session, arguments| now(options::mode(session, arguments)),
    },
    Own {
        name: "model",
        hint: Some("[MODEL]"),
        description: "Shows the models, or chooses one for the next prompts",
        run: |session, arguments| now(options::model(session, arguments)),
    },
    Own {
        name: "status",
        hint: None,
        description: "Shows how the session stands",
        run: |session, _| state::status(session).boxed(),
    },
    Own {
        name: "policy",
        hint: None,
        description: "Shows what may happen, what is asked for and what is denied",
        run: |session, _| said(state::policy(session)),
    },
    Own {
        name: "cost",
        hint: None,
        description: "Shows what the session has cost",
        run: |session, _| said(state::cost(session)),
    },
    Own {
        name: "clear",
        hint: None,
        description: "Lets the model begin anew; the session keeps what was said",
        run: |session, _| said(state::clear(session)),
    },
    Own {
        name: "compact",
        hint: Some("[WHAT TO KEEP]"),
        description: "Has the model sum up what was said, to make room; the session keeps it",
        run: |_, arguments| now(Ok(CommandReply::Compact { keep: arguments.to_owned() })),
    },
    Own {
        name: "init",
        hint: None,
        description: "Has the model look at the project and write an AGENTS.md",
        run: |_, _| now(Ok(CommandReply::Prompt { text: String::new(), prompt: INIT.to_owned() })),
    },
    Own {
        name: "plugins",
        hint: Some("[on|off PLUGIN]"),
        description: "Lists the plugins, or switches one on or off",
        run: |session, arguments| now(options::plugins(session, arguments)),
    },
];

/// A catalogue with the session's own commands, for a session with these switches. Others are added to it.
pub fn command_catalog(switches: Switches) -> CommandCatalog {
    let info = |own: &Own| CommandInfo {
        name: own.name.to_owned(),
        description: own.description.to_owned(),
        hint: own.hint.map(str::to_owned),
    };
    CommandCatalog::new(OWN.iter().map(info).collect(), switches)
}

/// Answers one of the session's own commands.
pub(super) async fn run(session: &Shared, name: &str, arguments: &str) -> Reply {
    match OWN.iter().find(|own| own.name == name) {
        Some(own) => {
            if own.hint.is_none() {
                takes_nothing(name, arguments)?;
            }
            (own.run)(session, arguments).await
        }
        None => Err(ToolError::Fatal(format!("`/{name}` is announced and not there"))),
    }
}

fn now(reply: Reply) -> BoxFuture<'static, Reply> {
    futures::future::ready(reply).boxed()
}

fn said(text: String) -> BoxFuture<'static, Reply> {
    now(Ok(CommandReply::Text(text)))
}

fn help(session: &Shared, arguments: &str) -> Reply {
    let name = only("help", arguments)?;
    let bare = name.strip_prefix('/').unwrap_or(name);
    let infos = session.commands.infos();
    let mut text = String::new();
    for command in infos.iter().filter(|command| bare.is_empty() || command.name == bare) {
        let hint = command.hint.as_ref().map_or(String::new(), |hint| format!(" {hint}"));
        let _ = writeln!(text, "- `/{}{hint}` – {}", command.name, command.description);
    }
    if text.is_empty() {
        let near = crate::near::near(bare, infos.iter().map(|command| command.name.as_str()));
        return Err(ToolError::not_found(format!("there is no command `/{bare}`"), &near));
    }
    Ok(CommandReply::Text(text))
}

/// The one word that a command takes; empty where nothing was typed.
fn only<'a>(command: &str, arguments: &'a str) -> Result<&'a str, ToolError> {
    match word(arguments) {
        (word, "") => Ok(word),
        (first, rest) => {
            let rest = crate::plain::line(rest, 80);
            Err(ToolError::invalid(format!("`/{command}` takes one word, and `{rest}` follows `{first}`"))
                .hint(format!("type `/help {command}` for what it takes")))
        }
    }
}

/// The first word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}
