//! What was said in the session. Needs the right `session.read`.

use super::imports;
use crate::Result;

/// A piece of the conversation, as the model has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Whose words.
    pub role: Role,
    /// The words; long ones are cut.
    pub text: String,
}

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The person's.
    User,
    /// The model's.
    Assistant,
    /// A tool that the model called, with its arguments.
    Call,
    /// What a tool gave.
    Result,
    /// Somebody's whom this version does not know.
    Other,
}

/// The last `limit` pieces, oldest first; fewer where the host gives no more at once (500, and 256 KiB).
pub fn read(limit: u32) -> Result<Vec<Entry>> {
    let entries = imports::session::read(limit)?.into_iter();
    let role = |word: &str| match word {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "call" => Role::Call,
        "result" => Role::Result,
        _ => Role::Other,
    };
    Ok(entries.map(|entry| Entry { role: role(&entry.role), text: entry.text }).collect())
}
