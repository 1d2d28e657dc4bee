//! The session's options, in both directions.

use acp_runtime_agent::options::{Category, ConfigOption, OptionChoice, OptionGroup, OptionKind, OptionValue};
use acp_runtime_agent::plain;
use agent_client_protocol::v1::schema::{
    self, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectGroup, SessionConfigSelectOption,
    SessionConfigSelectOptions,
};
use serde::Deserialize;
use serde_json::Value;

use super::size::{TEXT, line};
use super::tool::TITLE;
use crate::acp::error::RequestError;
use crate::acp::offers::{Offer, Offers};

/// `session/set_config_option`. A flag may come as a flag or as one of two texts, whatever `type` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::acp) struct SetOptionRequest {
    pub(in crate::acp) session_id: schema::SessionId,
    pub(in crate::acp) config_id: String,
    value: Value,
}

impl SetOptionRequest {
    pub(in crate::acp) fn value(&self) -> Result<OptionValue<'_>, RequestError> {
        match &self.value {
            Value::String(id) => Ok(OptionValue::Id(id)),
            Value::Bool(flag) => Ok(OptionValue::Flag(*flag)),
            other => {
                let other = plain::line(&other.to_string(), 80);
                Err(RequestError::field("value", format!("must be a string or a boolean, not `{other}`")))
            }
        }
    }
}

/// `session/set_model`, which older clients call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::acp) struct SetModelRequest {
    pub(in crate::acp) session_id: schema::SessionId,
    pub(in crate::acp) model_id: String,
}

/// All options as the client is told of them. One that does not take flags gets selects with two values. Of a list that
/// would not fit into a line the end is left out, apart from what holds.
pub(in crate::acp) fn options(options: Vec<ConfigOption>, offers: Offers) -> Vec<SessionConfigOption> {
    let (flags, mut room) = (offers.has(Offer::Flags), Room(TEXT));
    options.into_iter().map(|option| one(option, flags, &mut room)).collect()
}

fn one(option: ConfigOption, flags: bool, room: &mut Room) -> SessionConfigOption {
    let ConfigOption { id, name, description, category, kind } = option;
    let (name, description) = (line(&name, TITLE), line(&description, TITLE));
    room.take(id.len() + name.len() + description.len());
    let option = match kind {
        OptionKind::Flag { on } if flags => SessionConfigOption::boolean(id, name, on),
        OptionKind::Flag { on } => {
            let values = [(true, "On"), (false, "Off")]
                .map(|(value, name)| SessionConfigSelectOption::new(value.to_string(), name));
            SessionConfigOption::select(id, name, on.to_string(), values.to_vec())
        }
        OptionKind::Select { current, groups } => {
            let choices = choices(groups, &current, room);
            SessionConfigOption::select(id, name, current, choices)
        }
    };
    option.description(description).category(shown(category))
}

fn shown(category: Category) -> SessionConfigOptionCategory {
    match category {
        Category::Mode => SessionConfigOptionCategory::Mode,
        Category::Model => SessionConfigOptionCategory::Model,
        Category::ThoughtLevel => SessionConfigOptionCategory::ThoughtLevel,
        // The protocol leaves names with an underscore to agents.
        Category::Permissions => SessionConfigOptionCategory::Other("_permissions".to_owned()),
        Category::Plugins => SessionConfigOptionCategory::Other("_plugins".to_owned()),
    }
}

fn choices(groups: Vec<OptionGroup>, current: &str, room: &mut Room) -> SessionConfigSelectOptions {
    let mut fitting = |choices: Vec<OptionChoice>| -> Vec<SessionConfigSelectOption> {
        let fits = |choice: &OptionChoice| {
            let text = choice.value.len() + choice.name.len() + choice.description.as_deref().map_or(0, str::len);
            room.take(text) || choice.value == current
        };
        let choices = choices.into_iter().filter(fits);
        choices
            .map(|choice| {
                let description = choice.description.map(|description| line(&description, TITLE));
                SessionConfigSelectOption::new(choice.value, line(&choice.name, TITLE)).description(description)
            })
            .collect()
    };
    if groups.iter().all(|group| group.title.is_none()) {
        return groups.into_iter().flat_map(|group| fitting(group.choices)).collect::<Vec<_>>().into();
    }
    let groups = groups.into_iter().map(|group| {
        let title = line(&group.title.unwrap_or_default(), TITLE);
        SessionConfigSelectGroup::new(title.clone(), title, fitting(group.choices))
    });
    groups.filter(|group| !group.options.is_empty()).collect::<Vec<_>>().into()
}

/// Bytes that are left in a line.
struct Room(usize);

impl Room {
    /// Whether a text fits, with what stands around it in JSON.
    fn take(&mut self, text: usize) -> bool {
        const AROUND: usize = 60;
        let left = self.0.checked_sub(text + AROUND);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn choice(value: &str) -> OptionChoice {
        OptionChoice { value: value.to_owned(), name: value.to_uppercase(), description: None }
    }

    fn select(category: Category, groups: Vec<OptionGroup>) -> ConfigOption {
        let kind = OptionKind::Select { current: "b".to_owned(), groups };
        ConfigOption { kind, ..flag(category) }
    }

    fn flag(category: Category) -> ConfigOption {
        ConfigOption {
            id: "o".to_owned(),
            name: "O".to_owned(),
            description: "What it does".to_owned(),
            category,
            kind: OptionKind::Flag { on: true },
        }
    }

    #[test]
    fn every_kind_has_its_form() {
        let flat = vec![OptionGroup { title: None, choices: vec![choice("a"), choice("b")] }];
        let group = |title: &str, value| OptionGroup { title: Some(title.to_owned()), choices: vec![choice(value)] };
        let flags = Offers::default().with(Offer::Flags);
        let all = [
            (select(Category::Mode, flat), flags),
            (select(Category::Model, vec![group("X", "a"), group("Y", "b")]), flags),
            (flag(Category::ThoughtLevel), flags),
            (flag(Category::Permissions), Offers::default()),
            (flag(Category::Plugins), flags),
        ];
        let lines = all.map(|(option, offers)| serde_json::to_string(&options(vec![option], offers)[0]).unwrap());
        expect![[r#"
            {"id":"o","name":"O","description":"What it does","category":"mode","type":"select","currentValue":"b","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}
            {"id":"o","name":"O","description":"What it does","category":"model","type":"select","currentValue":"b","options":[{"group":"X","name":"X","options":[{"value":"a","name":"A"}]},{"group":"Y","name":"Y","options":[{"value":"b","name":"B"}]}]}
            {"id":"o","name":"O","description":"What it does","category":"thought_level","type":"boolean","currentValue":true}
            {"id":"o","name":"O","description":"What it does","category":"_permissions","type":"select","currentValue":"true","options":[{"value":"true","name":"On"},{"value":"false","name":"Off"}]}
            {"id":"o","name":"O","description":"What it does","category":"_plugins","type":"boolean","currentValue":true}"#]].assert_eq(&lines.join("\n"));
    }

    #[test]
    fn a_long_list_fits_into_a_line_and_has_what_holds() {
        let many = (0..10_000).map(|number| choice(&format!("provider/model-{number}"))).chain([choice("b")]);
        for title in [None, Some("All".to_owned())] {
            let groups = vec![OptionGroup { title, choices: many.clone().collect() }];
            let told = serde_json::to_value(options(vec![select(Category::Model, groups)], Offers::default())).unwrap();
            assert!(told.to_string().len() < 44 * 1024, "{}", told.to_string().len());
            assert!(told.to_string().contains(r#""value":"b""#));
        }
    }

    #[test]
    fn values_are_read_in_every_spelling() {
        let read = |value: Value| {
            let request: SetOptionRequest =
                serde_json::from_value(json!({ "sessionId": "s", "configId": "c", "value": value, "type": "x" }))
                    .unwrap();
            request.value().map(|value| format!("{value:?}")).map_err(|error| error.to_string())
        };
        assert_eq!(read(json!("auto")), Ok("Id(\"auto\")".to_owned()));
        assert_eq!(read(json!(true)), Ok("Flag(true)".to_owned()));
        for wrong in [json!(1), json!(null), json!(["auto"])] {
            let shown = wrong.to_string();
            assert_eq!(read(wrong), Err(format!("`value`: must be a string or a boolean, not `{shown}`")));
        }
    }
}
