//! `/mode`, `/model` and `/plugins`: the session's options, typed.

use std::fmt::Write as _;

use super::{Reply, invalid, meant, word};
use crate::command::CommandReply;
use crate::options::{OptionError, OptionValue, id};
use crate::policy::Mode;
use crate::session::Shared;
use crate::tool::ToolError;

pub(super) fn mode(session: &Shared, arguments: &str) -> Reply {
    let (name, _) = word(arguments);
    if !name.is_empty() {
        let mode = Mode::from_id(name).ok_or_else(|| {
            let known = Mode::ALL.map(Mode::id);
            let meant = meant(name, known.into_iter());
            invalid(format!("there is no mode `{name}`{meant} (there are: {})", known.join(", ")))
        })?;
        session.change(|options| options.set_mode(mode));
    }
    let options = &session.turns.options;
    let (leeway, current) = (options.leeway().get(), options.mode());
    let mut text = String::new();
    for mode in Mode::ALL {
        let _ = writeln!(text, "{} `{}` – {}", mark(mode == current), mode.id(), mode.description());
    }
    if leeway != current.into() {
        let _ = writeln!(
            text,
            "\nSingle flags were set beside the mode: `{}` is {}, `{}` is {}.",
            id::AUTO_APPROVE_WRITES,
            on(leeway.writes()),
            id::AUTO_APPROVE_EXECUTE,
            on(leeway.runs())
        );
    }
    Ok(CommandReply::Text(text))
}

pub(super) fn model(session: &Shared, arguments: &str) -> Reply {
    let (name, _) = word(arguments);
    if !name.is_empty() {
        session.change(|options| options.set_model(name)).map_err(|error| refused(&error))?;
    }
    let options = &session.turns.options;
    let (current, effort) = options.seat().get();
    let mut text = String::new();
    for model in options.models() {
        let _ = writeln!(text, "{} `{}` – {}", mark(model.id == current.id()), model.id, model.name);
    }
    if let Some(effort) = effort {
        let _ = writeln!(text, "\nReasoning effort: {}.", effort.title());
    }
    Ok(CommandReply::Text(text))
}

pub(super) fn plugins(session: &Shared, arguments: &str) -> Reply {
    let (switch, plugin) = word(arguments);
    match (switch, plugin) {
        ("", _) => {}
        ("on" | "off", plugin) if !plugin.is_empty() => {
            let option = format!("{}{plugin}", id::PLUGIN);
            let switched = session.change(|options| options.set(&option, OptionValue::Flag(switch == "on")));
            switched.map_err(|_| {
                let options = &session.turns.options;
                let known = options.plugins().map(|(known, _)| known.id.as_str());
                ToolError::to_model("not-found", format!("there is no plugin `{plugin}`{}", meant(plugin, known)))
            })?;
        }
        _ => return Err(invalid("type `/plugins`, `/plugins on PLUGIN` or `/plugins off PLUGIN`")),
    }
    let mut text = String::new();
    for (plugin, is_on) in session.turns.options.plugins() {
        let _ = writeln!(text, "- `{}` ({}) – {}: {}", plugin.id, on(is_on), plugin.title, plugin.description);
    }
    if text.is_empty() {
        text.push_str("There are no plugins.");
    }
    Ok(CommandReply::Text(text))
}

fn refused(error: &OptionError) -> ToolError {
    invalid(error.to_string())
}

fn mark(current: bool) -> &'static str {
    if current { "- **now**" } else { "-" }
}

fn on(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}
