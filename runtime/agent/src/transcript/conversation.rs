//! The messages of a session as a list that is cheap to hand out: every model request has its own, however long the
//! conversation is.

use std::sync::Arc;

use super::{Message, MessageId};

/// Messages that are shared together.
const BLOCK: usize = 256;

/// Messages, oldest first. A clone shares them all; what is added to one later is not in the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// Each of them full, apart from the last.
    blocks: Vec<Arc<Vec<Arc<Message>>>>,
}

impl Conversation {
    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        let message = Arc::new(message);
        match self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
            Some(block) => Arc::make_mut(block).push(message),
            None => self.blocks.push(Arc::new(vec![message])),
        }
    }

    /// The last message.
    pub fn last(&self) -> Option<&Message> {
        self.blocks.last().and_then(|block| block.last()).map(AsRef::as_ref)
    }

    /// The last message, to be changed here alone.
    pub fn last_mut(&mut self) -> Option<&mut Message> {
        self.blocks.last_mut().and_then(|block| Arc::make_mut(block).last_mut()).map(Arc::make_mut)
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.blocks.iter().flat_map(|block| block.iter()).map(AsRef::as_ref)
    }

    /// The message of that id and all after it; none where it is not there.
    pub fn since<'a>(&'a self, id: &'a MessageId) -> impl Iterator<Item = &'a Message> {
        self.iter().skip_while(move |message| message.id != *id)
    }

    /// The same messages, those changed that are `wanted`. What is not changed is shared.
    #[must_use]
    pub fn map(&self, mut wanted: impl FnMut(&Message) -> bool, change: impl Fn(&mut Message)) -> Self {
        let block = |block: &Arc<Vec<Arc<Message>>>| {
            let messages = block.iter().map(|message| {
                let mut message = message.clone();
                if wanted(&message) {
                    change(Arc::make_mut(&mut message));
                }
                message
            });
            Arc::new(messages.collect())
        };
        Self { blocks: self.blocks.iter().map(block).collect() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

impl FromIterator<Message> for Conversation {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut conversation = Self::default();
        messages.into_iter().for_each(|message| conversation.push(message));
        conversation
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Role};
    use super::*;

    fn message(number: usize) -> Message {
        Message { id: MessageId::new(number.to_string()), role: Role::User, parts: Vec::new() }
    }

    fn ids(conversation: &Conversation) -> Vec<usize> {
        conversation.iter().map(|message| message.id.as_str().parse().unwrap()).collect()
    }

    #[test]
    fn it_is_the_list_of_what_was_added() {
        for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let conversation: Conversation = (0..count).map(message).collect();
            assert_eq!(ids(&conversation), (0..count).collect::<Vec<_>>());
            assert_eq!((conversation.len(), conversation.is_empty()), (count, count == 0));
            assert_eq!(
                conversation.last().map(|last| last.id.as_str().to_owned()),
                count.checked_sub(1).map(|n| n.to_string())
            );
            assert!(conversation.iter().rev().eq(conversation.iter().collect::<Vec<_>>().into_iter().rev()));
        }
    }

    #[test]
    fn a_clone_keeps_what_it_has_and_shares_it() {
        let mut conversation: Conversation = (0..BLOCK + 5).map(message).collect();
        let before = conversation.clone();
        conversation.last_mut().unwrap().parts.push(Part::Text { text: "more".to_owned() });
        conversation.push(message(BLOCK + 5));
        assert_eq!(ids(&before), (0..BLOCK + 5).collect::<Vec<_>>());
        assert!(before.last().unwrap().parts.is_empty());
        assert_eq!((conversation.len(), before.len()), (BLOCK + 6, BLOCK + 5));
        assert!(Arc::ptr_eq(&conversation.blocks[0], &before.blocks[0]), "what is full is never copied");
    }
}
