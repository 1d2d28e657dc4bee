//! `/status`, `/policy`, `/cost` and `/clear`: how the session stands, and a fresh start for its model.

use std::fmt::Write as _;

use super::Reply;
use crate::capability::{
    CommandLine, Effect, GrantSet, NetRequest, PathGlob, PathScope, RootId, ServerName, ToolName, WorkspacePath,
};
use crate::command::CommandReply;
use crate::event::{EventSink as _, SessionEvent};
use crate::noun::counted;
use crate::options::{Withheld, WithheldPlugin};
use crate::policy::Decision;
use crate::session::Shared;

pub(super) async fn status(session: &Shared) -> Reply {
    let Shared { id, turns, .. } = session;
    turns.tools.settle_to_show().await;
    let (model, effort) = turns.options.seat().get();
    let effort = effort.map_or(String::new(), |effort| format!(" (reasoning effort: {})", effort.title()));
    let (on, all) = turns.options.plugins().fold((0, 0), |(on, all), (_, is_on)| (on + usize::from(is_on), all + 1));
    let mut text = format!(
        "- session: `{id}`\n- mode: {}\n- model: `{}`{effort}\n- messages to the model: {}\n- tools: {}\n- plugins: \
         {on} of {all} on\n",
        turns.options.mode().title(),
        model.id(),
        turns.outbox.messages().len(),
        turns.tools.now().iter().count(),
    );
    for WithheldPlugin { plugin, why } in turns.options.withheld() {
        if let Withheld::Misconfigured { .. } = why {
            let _ = writeln!(text, "- plugin `{}`: {why}; {}, and begin anew", plugin.id, why.remedy());
        }
    }
    for server in turns.tools.servers() {
        let _ = writeln!(text, "- MCP server `{}`: {server}", server.name);
    }
    for root in turns.project.roots.iter() {
        let _ = writeln!(text, "- folder: `{}`", root.path.display());
    }
    for file in turns.project.files(&turns.outbox.places()).await {
        let shown = if file.is_cut() { format!("{} of ", file.text.len()) } else { String::new() };
        let kind = if file.trusted { "steering" } else { "project" };
        let size = counted(file.size, "byte");
        let _ = writeln!(text, "- {kind} file: `{}` ({shown}{size} shown to the model)", file.path);
    }
    Ok(CommandReply::Text(text))
}

/// What the gate would decide on one effect of each kind that a mode decides on.
pub(super) fn policy(session: &Shared) -> String {
    let (policy, leeway) = (session.turns.gate.policy(), session.turns.options.leeway().get());
    let scope = || PathScope { root: RootId(0), glob: PathGlob::exact("file") };
    let mut kinds = vec![
        ("read a file", Effect::Read(scope())),
        ("write a file", Effect::Write(scope())),
        ("delete a file", Effect::Delete(scope())),
        ("run a program", Effect::Run(CommandLine { program: "program".to_owned(), arguments: Vec::new() })),
        (
            "fetch from the network",
            Effect::Fetch(NetRequest {
                scheme: "https".to_owned(),
                host: "host".to_owned(),
                port: 443,
                path: "/".to_owned(),
            }),
        ),
    ];
    if let (Ok(server), Ok(tool)) = (ServerName::new("server"), ToolName::new("tool")) {
        let call = |read_only| Effect::CallServer { server: server.clone(), tool: tool.clone(), read_only };
        kinds.push(("call an MCP server's tool that says it only reads", call(true)));
        kinds.push(("call any other tool of an MCP server", call(false)));
    }
    if let (Ok(from), Ok(to)) = (WorkspacePath::new(RootId(0), "file"), WorkspacePath::new(RootId(0), "other")) {
        kinds.insert(2, ("move a file", Effect::Move { from, to }));
    }
    let mut text =
        format!("Mode: {}. What the agent's own tools may do in the session's folders:\n\n", leeway.mode().title());
    let beforehand = session.turns.gate.beforehand();
    for (what, effect) in kinds {
        let verdict = match (policy.decide(&effect, &GrantSet::native(), leeway), beforehand) {
            (Decision::Allow, _) => "yes".to_owned(),
            (Decision::Ask, None) => "is asked for, unless `/permissions` has an answer".to_owned(),
            (Decision::Ask, Some(allowed)) if allowed.iter().any(|pattern| pattern.covers(&effect)) => {
                "yes: it was allowed beforehand".to_owned()
            }
            (Decision::Ask, Some(_)) => "no, unless `/permissions` has an answer: there is nobody to ask".to_owned(),
            (Decision::Deny(rule), _) => format!("no: {rule}"),
        };
        let _ = writeln!(text, "- {what}: {verdict}");
    }
    if let Some(allowed) = beforehand.filter(|allowed| !allowed.is_empty()) {
        text.push_str("\nWhat would be asked for was allowed beforehand where it is one of these:\n\n");
        for pattern in allowed {
            let _ = writeln!(text, "- `{pattern}`");
        }
    }
    text.push_str(
        "\nA plugin needs a granted right as well, and calls no MCP servers. Denied to everyone, in every mode:\n\n",
    );
    for denied in policy.denied() {
        let _ = writeln!(text, "- `{denied}`");
    }
    text
}

pub(super) fn cost(session: &Shared) -> String {
    let spending = session.turns.outbox.spending();
    if spending.all().is_empty() {
        return "No cost is known: no model was asked, or its price is not configured.".to_owned();
    }
    let mut text = String::from("This session has cost:\n\n");
    for cost in spending.all() {
        let _ = writeln!(text, "- {} {}", cost.amount, cost.currency);
    }
    text
}

pub(super) fn clear(session: &Shared) -> String {
    session.turns.outbox.emit(SessionEvent::ContextCleared);
    "The model begins anew: it is shown nothing of what was said until now. The session keeps it all the same."
        .to_owned()
}
