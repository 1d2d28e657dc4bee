//! `aar:host/session`: what was said in the session, in bounds.

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::plain;
use acp_runtime_agent::transcript::{Conversation, Part, Role};

use crate::limits::SessionLimits;
use crate::state::{Call, HostError};

/// The last pieces, oldest first: who has said it, and the text.
pub(crate) async fn read(call: &mut Call, limit: u32) -> Result<Vec<(&'static str, String)>, HostError> {
    call.authorize(vec![Effect::ReadSession]).await?;
    let session = call.limits.session.clone();
    let scope = call.session()?.scope.clone();
    let most = usize::try_from(limit).unwrap_or(usize::MAX).min(session.entries);
    Ok(last(&scope.transcript.messages(), most, &session, |text| scope.transcript.clean(text)))
}

fn last(
    said: &Conversation,
    most: usize,
    session: &SessionLimits,
    clean: impl Fn(&str) -> String,
) -> Vec<(&'static str, String)> {
    let parts = said.iter().rev().flat_map(|message| message.parts.iter().rev().map(|part| (message.role, part)));
    let (mut pieces, mut room) = (Vec::new(), session.bytes);
    for (role, text) in parts.filter_map(|(role, part)| Some((word(role, part), text(part)?))).take(most) {
        let cut = plain::cut(&text, session.entry);
        let shown = if cut.len() < text.len() { format!("{cut}\n[cut: {} bytes]", text.len()) } else { text };
        let shown = clean(&shown);
        let Some(left) = room.checked_sub(shown.len()) else { break };
        room = left;
        pieces.push((role, shown));
    }
    pieces.reverse();
    pieces
}

fn word(role: Role, part: &Part) -> &'static str {
    match (part, role) {
        (Part::ToolCall(_), _) => "call",
        (Part::ToolResult { .. }, _) => "result",
        (_, Role::User) => "user",
        (_, Role::Assistant) => "assistant",
        (_, Role::Tool) => "result",
    }
}

/// None for what the model has thought.
fn text(part: &Part) -> Option<String> {
    Some(match part {
        Part::Text { text } => text.clone(),
        Part::Thought { .. } => return None,
        Part::Image { mime, .. } => format!("[image: {mime}]"),
        Part::Resource { uri, text } => format!("[{uri}]\n{text}"),
        Part::ResourceLink { name, uri, text } => match text {
            Some(text) => format!("[{name}: {uri}]\n{text}"),
            None => format!("[{name}: {uri}]"),
        },
        Part::ToolCall(call) => format!("{} {}", call.name, call.arguments),
        Part::ToolResult { text, failed: false, .. } => text.clone(),
        Part::ToolResult { text, failed: true, .. } => format!("failed: {text}"),
    })
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::transcript::{Message, MessageId};

    use super::*;

    #[test]
    fn the_last_pieces_are_told_in_bounds() {
        let message = |role, parts| Message { id: MessageId::new("m"), role, parts };
        let text = |text: &str| Part::Text { text: text.to_owned() };
        let thought = Part::Thought { text: "hm".to_owned(), signature: None };
        let said: Conversation = [
            message(Role::User, vec![text("one"), text("two")]),
            message(Role::Assistant, vec![thought, text(&"x".repeat(20))]),
            message(Role::User, vec![text("secret")]),
        ]
        .into_iter()
        .collect();
        let told = |most, bytes| {
            let limits = SessionLimits { entries: 10, entry: 8, bytes };
            last(&said, most, &limits, |text| text.replace("secret", "****"))
                .into_iter()
                .map(|(role, text)| format!("{role}: {text}"))
                .collect::<Vec<_>>()
        };
        let cut = "assistant: xxxxxxxx\n[cut: 20 bytes]";
        assert_eq!(told(10, 1000), ["user: one", "user: two", cut, "user: ****"]);
        assert_eq!(told(2, 1000), [cut, "user: ****"]);
        assert_eq!(told(10, 4), ["user: ****"]);
        assert!(told(10, 3).is_empty() && told(0, 1000).is_empty());
    }
}
