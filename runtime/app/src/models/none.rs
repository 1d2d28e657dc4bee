//! The model that is there before one is configured: it says how to configure one.

use acp_runtime_agent::model::{Model, ModelError, ModelEvent, ModelRequest};
use acp_runtime_agent::transcript::StopReason;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

/// Answers every prompt with the way to a model.
pub(super) struct NoModel;

const ANSWER: &str = include_str!("none.md");

impl Model for NoModel {
    fn id(&self) -> &str {
        super::NONE
    }

    fn understands(&self) -> bool {
        false
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        stream::iter([Ok(ModelEvent::Text(ANSWER.to_owned())), Ok(ModelEvent::Stop(StopReason::EndTurn))]).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde::Deserialize;

    use super::*;
    use crate::models::{Models, ProviderSettings};
    use crate::redaction::Redaction;

    #[test]
    fn what_it_tells_people_to_write_works() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Settings {
            model: String,
            providers: BTreeMap<String, ProviderSettings>,
        }
        let snippets: Vec<&str> =
            ANSWER.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert_eq!(snippets.len(), 2);
        for snippet in snippets {
            let settings: Settings = toml::from_str(snippet).unwrap();
            let models =
                Models::new(Some(&settings.model), settings.providers, Arc::new(|_: &str| None), &Redaction::default())
                    .unwrap();
            assert_eq!(models.open(&settings.model).unwrap().id(), settings.model);
        }
    }
}
