//! How much of the model's window a conversation takes, and which outputs of tools go first when that is too much.
//!
//! Providers tell how large a request was once it was answered; what came since is estimated by its bytes. Pure; tested
//! with the history.

use crate::event::ContextSize;
use crate::plain::cut;
use crate::transcript::{Conversation, Message, MessageId, Part, Role, Spending, Usage};

/// Bytes of a token, where a conversation has grown: a low guess, since it must fit.
const GROWN: usize = 3;
/// Bytes of a token, where it has shrunk: a high guess, for the same reason.
const SHRUNK: usize = 4;
/// Bytes that stay of an output.
const KEPT: usize = 256;

/// How large a conversation was when a provider last told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measure {
    bytes: usize,
    tokens: u64,
    window: u64,
}

impl Measure {
    /// Of a conversation that has `bytes` bytes now.
    pub(super) fn new(bytes: usize, size: ContextSize) -> Self {
        Self { bytes, tokens: size.used, window: size.window }
    }

    /// What a request and its answer told; none where the model's window is not known.
    pub(super) fn of(bytes: usize, usage: &Usage) -> Option<Self> {
        let window = usage.window.filter(|window| *window > 0)?;
        Some(Self { bytes, tokens: usage.input.saturating_add(usage.output), window })
    }

    /// About how much a conversation with `bytes` bytes takes.
    pub(super) fn now(self, bytes: usize) -> ContextSize {
        let tokens = |bytes: usize, per: usize| u64::try_from(bytes / per).unwrap_or(u64::MAX);
        let used = if bytes >= self.bytes {
            self.tokens.saturating_add(tokens(bytes - self.bytes, GROWN))
        } else {
            self.tokens.saturating_sub(tokens(self.bytes - bytes, SHRUNK))
        };
        ContextSize { used, window: self.window }
    }
}

/// What the model requests of a turn took, those of its children included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnUse {
    /// Tokens of the requests and their answers.
    pub tokens: u64,
    /// What they cost.
    pub spending: Spending,
}

impl TurnUse {
    pub(crate) fn add(&mut self, usage: &Usage) {
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
        self.spending.add(usage);
    }
}

/// The first message whose outputs stay, so that the newer ones have at most `keep` bytes; none where too little would
/// be gained. What the model has not seen yet always stays.
pub(super) fn first_whole(messages: &Conversation, keep: usize) -> Option<MessageId> {
    let (mut newer, mut gain) = (0_usize, 0_usize);
    let mut first: Option<&MessageId> = None;
    let mut is_last = true;
    for message in messages.iter().rev() {
        let outputs = outputs(message);
        if is_last || newer.saturating_add(outputs) <= keep {
            newer = newer.saturating_add(outputs);
            first = Some(&message.id);
        } else {
            newer = usize::MAX;
            gain += outputs_over(message);
        }
        is_last &= message.role != Role::Tool;
    }
    first.filter(|_| gain > keep / 8).cloned()
}

/// Leaves the beginning of each output before the message `first`.
pub(super) fn drop_outputs(messages: &Conversation, first: &MessageId) -> Conversation {
    let mut is_older = messages.iter().any(|message| message.id == *first);
    let older = |message: &Message| {
        is_older &= message.id != *first;
        is_older
    };
    messages.map(older, |message| message.parts.iter_mut().for_each(shorten))
}

fn shorten(part: &mut Part) {
    if let Part::ToolResult { text, .. } = part
        && text.len() > 2 * KEPT
    {
        let size = text.len();
        *text = format!(
            "{}\n[left out to make room: {size} bytes; call the tool again where they matter]",
            cut(text, KEPT)
        );
    }
}

fn outputs(message: &Message) -> usize {
    message.parts.iter().map(output).sum()
}

fn outputs_over(message: &Message) -> usize {
    message.parts.iter().map(|part| output(part).saturating_sub(2 * KEPT)).sum()
}

fn output(part: &Part) -> usize {
    match part {
        Part::ToolResult { text, .. } => text.len(),
        Part::Text { .. }
        | Part::Thought { .. }
        | Part::Image { .. }
        | Part::Resource { .. }
        | Part::ResourceLink { .. }
        | Part::ToolCall(_) => 0,
    }
}
