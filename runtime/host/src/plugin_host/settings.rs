//! A plugin's settings in a session: what is configured, and what the person is asked for where that is not enough.

use std::sync::Arc;

use acp_runtime_agent::elicit::{Elicitor, Field, Form, Reply};
use acp_runtime_agent::transcript::ToolCallId;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use super::Plugin;
use crate::instance::CallError;

/// The settings of one plugin in one session, as JSON that is valid by its manifest's schema.
pub(super) struct Settings {
    plugin: Arc<Plugin>,
    /// What is configured.
    given: Map<String, Value>,
    /// The names of required settings that are not configured.
    missing: Vec<String>,
    /// All of them, once nothing is missing.
    whole: OnceCell<Arc<str>>,
}

impl Settings {
    /// Takes what is configured. The error says why the plugin cannot be used with it, whatever else is said.
    pub(super) fn new(plugin: &Arc<Plugin>, configured: Option<&Value>) -> Result<Self, String> {
        let Some(schema) = &plugin.manifest().settings else {
            return match configured {
                None => Ok(Self::whole(plugin, Map::new())),
                Some(_) => Err("it has no settings, but the configuration has some for it: remove them".to_owned()),
            };
        };
        let given = match configured {
            None => Map::new(),
            Some(Value::Object(given)) => given.clone(),
            Some(_) => return Err("its settings in the configuration are not a table".to_owned()),
        };
        let required = schema.as_value().get("required").and_then(Value::as_array).into_iter().flatten();
        let missing = required.filter_map(Value::as_str).filter(|name| !given.contains_key(*name));
        let missing: Vec<String> = missing.map(str::to_owned).collect();
        if !missing.is_empty() {
            return Ok(Self { plugin: plugin.clone(), given, missing, whole: OnceCell::new() });
        }
        let valid = schema.validate(&Value::Object(given.clone()));
        valid.map_err(|problems| format!("its settings in the configuration are not valid: {problems}"))?;
        Ok(Self::whole(plugin, given))
    }

    fn whole(plugin: &Arc<Plugin>, given: Map<String, Value>) -> Self {
        let whole = OnceCell::new_with(Some(Value::Object(given.clone()).to_string().into()));
        Self { plugin: plugin.clone(), given, missing: Vec::new(), whole }
    }

    /// All settings. With `elicitor`, the person is asked for those that are missing; what they say holds for the
    /// session.
    pub(super) async fn get(
        &self,
        elicitor: Option<&dyn Elicitor>,
        call: Option<&ToolCallId>,
    ) -> Result<Arc<str>, CallError> {
        let ask = || async {
            match elicitor {
                Some(elicitor) => self.ask(elicitor, call).await.map_err(|why| self.unusable(&why)),
                None => Err(self.unusable("the user was not asked yet")),
            }
        };
        self.whole.get_or_try_init(ask).await.cloned()
    }

    async fn ask(&self, elicitor: &dyn Elicitor, call: Option<&ToolCallId>) -> Result<Arc<str>, String> {
        let Some(schema) = &self.plugin.manifest().settings else { return Err("it has none".to_owned()) };
        let names = self.missing.iter().map(String::as_str);
        let fields = Field::of_schema(schema.as_value(), names)
            .map_err(|name| format!("`{name}` is nothing that can be asked for"))?;
        let (id, title) = (self.plugin.id(), &self.plugin.manifest().about.title);
        let message = format!(
            "The plugin `{title}` ({id}) needs settings. They hold for this session; to keep them, put them below \
             `[plugins.settings.\"{id}\"]` in the configuration."
        );
        let answers = match elicitor.fill_in(Form { call: call.cloned(), message, fields }).await {
            Reply::Accepted(answers) => answers,
            Reply::Declined => return Err("the user does not want to give them".to_owned()),
            Reply::Dismissed => return Err("the user closed the question".to_owned()),
            Reply::Late(patience) => {
                return Err(format!("the user did not answer within {} s", patience.as_secs_f64()));
            }
            Reply::Unusable(problem) => return Err(problem),
            Reply::NoChannel => return Err("the user's client cannot show a question".to_owned()),
        };
        let mut whole = self.given.clone();
        whole.extend(answers);
        let whole = Value::Object(whole);
        schema.validate(&whole).map_err(|problems| format!("what was given is not valid: {problems}"))?;
        Ok(whole.to_string().into())
    }

    fn unusable(&self, why: &str) -> CallError {
        let id = self.plugin.id();
        CallError::Unusable(format!(
            "the plugin needs the settings `{}`, and {why}; the user can set them below `[plugins.settings.\"{id}\"]` in \
             the configuration",
            self.missing.join("`, `")
        ))
    }
}
