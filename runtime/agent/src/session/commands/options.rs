//! `/mode`, `/model` and `/plugins`: the session's options, typed.

use std::fmt::Write as _;

use super::{Reply, only, word};
use crate::capability::PluginId;
use crate::command::CommandReply;
use crate::near::near;
use crate::options::{OptionError, OptionValue, Options, Withheld, WithheldPlugin, id};
use crate::policy::Mode;
use crate::session::Shared;
use crate::tool::ToolError;

pub(super) fn mode(session: &Shared, arguments: &str) -> Reply {
    let name = only("mode", arguments)?;
    if !name.is_empty() {
        let mode = Mode::from_id(name).ok_or_else(|| {
            let known = Mode::ALL.map(Mode::id);
            let error = ToolError::not_found(format!("there is no mode `{name}`"), &near(name, known.into_iter()));
            error.or_hint(|| format!("there are `{}`", known.join("`, `")))
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
    let name = only("model", arguments)?;
    if !name.is_empty() {
        session.change(|options| options.set_model(name)).map_err(|error| refused(&error))?;
    }
    let options = &session.turns.options;
    let (current, effort) = options.seat().get();
    let mut text = String::new();
    for model in options.models() {
        let _ = writeln!(text, "{} `{}` – {}", mark(model.id == current.id()), model.id, model.name);
    }
    let others = options.other_models();
    if !others.is_empty() {
        let _ = writeln!(text, "\n{others}");
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
            let option = format!("{}{}", id::PLUGIN, meant_plugin(&session.turns.options, plugin)?);
            let switched = session.change(|options| options.set(&option, OptionValue::Flag(switch == "on")));
            switched.map_err(|error| refused(&error))?;
        }
        _ => {
            let usage = "type `/plugins`, `/plugins on PLUGIN` or `/plugins off PLUGIN`";
            return Err(ToolError::invalid("`/plugins` takes `on` or `off` and a plugin's name").hint(usage));
        }
    }
    let options = &session.turns.options;
    let mut text = String::new();
    for (plugin, is_on) in options.plugins() {
        let _ = writeln!(text, "- `{}` ({}) – {}: {}", plugin.id, on(is_on), plugin.title, plugin.description);
    }
    for WithheldPlugin { plugin, why } in options.withheld() {
        let remedy = match why {
            Withheld::Disabled(_) | Withheld::NotEnabled(_) => String::new(),
            Withheld::Misconfigured { .. } => format!("; {}, and begin anew", why.remedy()),
        };
        let _ = writeln!(text, "- `{}` ({why}{remedy}) – {}: {}", plugin.id, plugin.title, plugin.description);
    }
    if text.is_empty() {
        text.push_str("There are no plugins.");
    }
    Ok(CommandReply::Text(text))
}

/// The plugin that was typed: its id, or its name where only one has that.
fn meant_plugin(options: &Options, typed: &str) -> Result<PluginId, ToolError> {
    let known = || options.plugins().map(|(known, _)| known).chain(options.withheld().iter().map(|held| &held.plugin));
    let ids = || known().map(|known| &known.id);
    match PluginId::meant_by(typed, ids()).as_slice() {
        [id] => Ok((*id).clone()),
        [] => {
            let unknown = format!("there is no plugin `{typed}`");
            Err(ToolError::not_found(unknown, &near(typed, ids().map(PluginId::as_str)))
                .or_hint(|| "type `/plugins` for those that there are".to_owned()))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|id| id.as_str()).collect();
            Err(ToolError::invalid(format!("several plugins have the name `{typed}`"))
                .hint(format!("type `{}`", ids.join("` or `"))))
        }
    }
}

fn refused(error: &OptionError) -> ToolError {
    ToolError::invalid(error.to_string())
}

fn mark(current: bool) -> &'static str {
    if current { "- **now**" } else { "-" }
}

fn on(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}
