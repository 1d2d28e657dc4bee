//! Which models there are, and how much one should think.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Model;

/// A model to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// What [`ModelSource::open`] takes.
    pub id: String,
    /// What people see.
    pub name: String,
    /// Who has it, where there may be several.
    pub group: Option<String>,
}

/// Where models come from.
pub trait ModelSource: Send + Sync {
    /// Those to choose from.
    fn list(&self) -> Vec<ModelChoice>;

    /// How models are named that are not among those, in sentences for people; empty where there are no others.
    fn others(&self) -> String {
        String::new()
    }

    /// The model of that id, else the one that sessions begin with. The error is a sentence that says what there is.
    fn open(&self, id: Option<&str>) -> Result<Arc<dyn Model>, String>;
}

/// How much a reasoning model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// Hardly.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// As much as it can.
    Max,
}

impl ReasoningEffort {
    /// All of them, from the least.
    pub const ALL: [Self; 7] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The id on the wire and in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The name that people see.
    pub fn title(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Minimal => "Minimal",
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
            Self::Xhigh => "Very high",
            Self::Max => "Maximum",
        }
    }

    /// The effort with that id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.id() == id)
    }
}
