//! What the agent asked an editor for: forms, pages, terminals, and what was left unanswered.

use serde_json::Value;

use super::{EditorDouble, Heard, reply};

impl EditorDouble {
    /// The params of all forms and pages until now.
    pub fn elicitations(&self) -> Vec<Value> {
        self.shared.lock().desk.elicitations.clone()
    }

    /// Waits until the person was shown so many forms and pages in all.
    pub async fn until_elicited(&self, times: usize) -> Value {
        self.until("an elicitation", |heard| heard.desk.elicitations.get(times - 1).cloned()).await
    }

    /// Waits until so many held requests were withdrawn in all.
    pub async fn until_withdrawn(&self, times: usize) {
        self.until("a withdrawal", |heard| (heard.desk.withdrawn >= times).then_some(())).await;
    }

    /// Method and terminal of all terminal calls until now.
    pub fn terminal_calls(&self) -> Vec<(String, String)> {
        self.shared.lock().desk.terminals.calls.clone()
    }

    /// Waits until a terminal was released, and fails if one was not or more than once.
    pub async fn until_released(&self) {
        let released = |heard: &mut Heard| heard.desk.terminals.leaked().is_empty().then_some(());
        self.until("a terminal's release", released).await;
    }

    /// Waits until so many requests were ignored in all that were not served since.
    pub async fn until_ignored(&self, count: usize) {
        self.until("a request to be ignored", |heard| (heard.desk.ignored.len() >= count).then_some(())).await;
    }

    /// Does at last what was asked for and ignored.
    pub fn serve_ignored(&self) {
        let mut heard = self.shared.lock();
        for (id, method, params) in std::mem::take(&mut heard.desk.ignored) {
            let answer = heard.desk.serve(&self.shared.options, &id, &method, &params, &self.shared.late);
            heard.ledger.answered(&method, answer.as_ref());
            if let Some(answer) = answer {
                self.write_message(&reply(&id, answer));
            }
        }
    }
}
