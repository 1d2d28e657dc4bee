//! Where a session is forked. `session/fork` is not in the stable schema yet, so this is read and written by hand.

use acp_runtime_agent::session::{ForkPoint, ForkSide};
use acp_runtime_agent::transcript::MessageId;
use serde_json::{Value, json};

use crate::acp::error::RequestError;

const SIDES: [(&str, ForkSide); 2] = [("after", ForkSide::After), ("before", ForkSide::Before)];

/// What `initialize` offers at `sessionCapabilities.fork`.
pub(in crate::acp) fn fork_capability() -> Value {
    json!({ "_meta": { "aar": { "messageId": true, "position": SIDES.map(|(name, _)| name) } } })
}

/// The message of `_meta.aar.messageId`, and after or before it by `_meta.aar.position`; none for the whole session. A
/// cursor is refused and not passed over: with none given out, the client would get another fork than it asked for.
pub(in crate::acp) fn fork_point(params: &Value) -> Result<Option<ForkPoint>, RequestError> {
    if params.get("cursorId").is_some_and(|cursor| !cursor.is_null()) {
        let reason = "no cursors are given out: name a message in `_meta.aar.messageId`";
        return Err(RequestError::field("cursorId", reason));
    }
    let said = |field: &str| params.pointer(&format!("/_meta/aar/{field}")).filter(|value| !value.is_null());
    let side = match said("position") {
        None => ForkSide::default(),
        Some(position) => SIDES.iter().find(|(name, _)| position == name).map(|(_, side)| *side).ok_or_else(|| {
            RequestError::Field {
                field: "_meta.aar.position",
                reason: "unknown position".to_owned(),
                available: Some(SIDES.map(|(name, _)| name.to_owned()).to_vec()),
            }
        })?,
    };
    match said("messageId") {
        None => Ok(None),
        Some(Value::String(id)) => Ok(Some(ForkPoint { message: MessageId::new(id), side })),
        Some(_) => Err(RequestError::field("_meta.aar.messageId", "must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn where_a_session_is_forked() {
        let at = |aar: Value| json!({ "sessionId": "s", "_meta": { "aar": aar } });
        let table: Vec<String> = [
            json!({ "sessionId": "s" }),
            json!({ "sessionId": "s", "cursorId": null, "_meta": null }),
            json!({ "sessionId": "s", "_meta": 5 }),
            at(json!({ "messageId": "msg-2" })),
            at(json!({ "messageId": "msg-2", "position": "after" })),
            at(json!({ "messageId": "msg-2", "position": "before" })),
            at(json!({ "messageId": "msg-2", "position": "beside" })),
            at(json!({ "messageId": 2 })),
            json!({ "sessionId": "s", "cursorId": "c1" }),
        ]
        .iter()
        .map(|params| match fork_point(params) {
            Ok(point) => format!("{point:?}"),
            Err(error) => serde_json::to_string(&agent_client_protocol::Error::from(error).data).unwrap(),
        })
        .collect();
        expect![[r#"
            None
            None
            None
            Some(ForkPoint { message: MessageId("msg-2"), side: After })
            Some(ForkPoint { message: MessageId("msg-2"), side: After })
            Some(ForkPoint { message: MessageId("msg-2"), side: Before })
            {"_meta.aar.position":"unknown position","available":["after","before"]}
            {"_meta.aar.messageId":"must be a string"}
            {"cursorId":"no cursors are given out: name a message in `_meta.aar.messageId`"}"#]]
        .assert_eq(&table.join("\n"));
    }
}
