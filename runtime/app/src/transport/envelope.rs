//! JSON-RPC envelopes: the text of a message to a frame of the connection, and back.
//!
//! A request that cannot be taken is refused here, under its own id where it has one, and nothing of it is repeated: also
//! one whose text is JSON, but with values that nothing here can hold (half a surrogate pair, nesting without end). Ids
//! are echoed as they were written: a number that the connection's own type cannot hold (a fraction, one of more than 64
//! bits) travels through the process under a stand-in. Answers are read leniently, since whoever waits for one that is
//! dropped waits for ever. Knows nothing about framing, methods or their parameters. Tested by tables.

use std::borrow::Cow;
use std::collections::HashMap;

use acp_runtime_agent::plain;
use agent_client_protocol::{
    Error, RawJsonRpcError, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcNotification, RawJsonRpcParams,
    RawJsonRpcRequest, RawJsonRpcResponse, TransportFrame,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Begins an id that stands for another one, whose JSON text follows.
const STAND_IN: &str = "\u{0}id:";

/// Characters of a reason in the message of an error.
const REASON: usize = 400;

/// What a text is.
pub(super) enum Read {
    /// A message for the connection.
    Message(RawJsonRpcMessage),
    /// Not to be taken; the text of the answer.
    Refused(String),
    /// Neither to be taken nor to be answered.
    Nothing,
}

/// Reads one message.
pub(super) fn read(text: &str) -> Read {
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(Value::Array(_)) => return invalid("batches are not supported: send one message at a time", None),
        Ok(_) => return invalid("a message is a JSON object", None),
        Err(error) => return unreadable(text, &error),
    };
    let answers = object.contains_key("result") || object.contains_key("error");
    match object.get("method") {
        None if answers => answer(object, text),
        None => invalid("`method` is missing", id_text(&object, text)),
        Some(_) if answers => {
            invalid("a message with a `method` has no `result` and no `error`", id_text(&object, text))
        }
        Some(_) => call(object, text),
    }
}

/// The text of a frame.
pub(super) fn write(frame: &TransportFrame) -> Result<String, Error> {
    if let TransportFrame::Single(RawJsonRpcMessage::Response(response)) = frame
        && let RawJsonRpcId::Str(id) = response.id()
        && let Some(text) = id.strip_prefix(STAND_IN)
    {
        let id: &RawValue = serde_json::from_str(text).map_err(Error::into_internal_error)?;
        return serde_json::to_string(&Answer::of(id, response)).map_err(Error::into_internal_error);
    }
    frame.to_json()
}

/// An error of JSON-RPC's own with the reason in its message, in one line: many clients show nothing else of it.
pub fn because(mut error: Error, reason: &str) -> Error {
    error.message = format!("{}: {}", error.message, plain::line(reason, REASON));
    error
}

/// The text of an error that answers something that is no message.
pub(super) fn refusal(error: Error, reason: &str, id: Option<&RawValue>) -> String {
    let error = RawJsonRpcError::from(because(error, reason).data(json!({ "reason": reason })));
    let answer = Answer { jsonrpc: "2.0", id: id.unwrap_or(RawValue::NULL), result: None, error: Some(&error) };
    serde_json::to_string(&answer).unwrap_or_default()
}

/// A response whose id has its own text.
#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RawJsonRpcError>,
}

impl<'a> Answer<'a> {
    fn of(id: &'a RawValue, response: &'a RawJsonRpcResponse) -> Self {
        let (result, error) = match response {
            RawJsonRpcResponse::Result { result, .. } => (Some(result), None),
            RawJsonRpcResponse::Error { error, .. } => (None, Some(&**error)),
        };
        Self { jsonrpc: "2.0", id, result, error }
    }
}

/// What could not be read whole. As far as it is JSON, its id says who waits.
fn unreadable(text: &str, error: &serde_json::Error) -> Read {
    // Members are found by their form alone, whatever they hold.
    let Ok(message) = serde_json::from_str::<HashMap<String, &RawValue>>(text) else {
        let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
        return if is_json { invalid("a message is a JSON object, and its names are texts", None) } else { not_json() };
    };
    let error = error.to_string();
    let reason = if error.contains("number") {
        "a number in it is too large"
    } else if error.contains("recursion") {
        "it is nested too deeply"
    } else {
        "a text in it has half a surrogate pair, which is no character"
    };
    let id = message.get("id").copied();
    let answers = message.contains_key("result") || message.contains_key("error");
    if answers && !message.contains_key("method") {
        let known = id.and_then(|id| own(&serde_json::from_str(id.get()).ok()?, || Some(id)));
        return answered(known, Err(broken(&format!("the answer cannot be read: {reason}"))));
    }
    invalid(reason, id.filter(|id| is_echoed(id)))
}

/// Whether an id can be written as it was: whoever reads the answer must be able to.
fn is_echoed(id: &RawValue) -> bool {
    let text = id.get();
    text == "null"
        || text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        || serde_json::from_str::<String>(text).is_ok()
}

fn not_json() -> Read {
    Read::Refused(refusal(Error::parse_error(), "the message is not JSON", None))
}

fn invalid(reason: &str, id: Option<&RawValue>) -> Read {
    Read::Refused(refusal(Error::invalid_request(), reason, id))
}

/// A request or a notification.
fn call(mut object: Map<String, Value>, text: &str) -> Read {
    let refused = |reason: &str, object: &Map<String, Value>| invalid(reason, id_text(object, text));
    if object.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return refused("`jsonrpc` must be \"2.0\"", &object);
    }
    let Some(Value::String(method)) = object.get("method") else {
        return refused("`method` must be a string", &object);
    };
    let method: std::sync::Arc<str> = method.as_str().into();
    let mut params = match object.remove("params") {
        None | Some(Value::Null) => None,
        Some(Value::Object(params)) => Some(RawJsonRpcParams::Object(params)),
        Some(Value::Array(params)) => Some(RawJsonRpcParams::Array(params)),
        Some(_) => return refused("`params` must be an object", &object),
    };
    let Some(id) = object.get("id") else {
        if &*method == "$/cancel_request"
            && let Some(RawJsonRpcParams::Object(params)) = &mut params
        {
            name_as_the_connection_does(params, text);
        }
        return Read::Message(RawJsonRpcNotification { method, params }.into());
    };
    match own(id, || id_text(&object, text)) {
        Some(id) => Read::Message(RawJsonRpcRequest { id, method, params }.into()),
        None => invalid("`id` must be a string, a number or null", None),
    }
}

/// The id that the connection knows a request by; none where it is of no kind that ids can have. `text` is asked for
/// the id's own text where that is needed.
fn own<'a>(id: &Value, text: impl FnOnce() -> Option<&'a RawValue>) -> Option<RawJsonRpcId> {
    let stand_in = || Some(RawJsonRpcId::Str(format!("{STAND_IN}{}", text()?.get())));
    match id {
        Value::Null => Some(RawJsonRpcId::Null),
        Value::Number(number) => number.as_i64().map(RawJsonRpcId::Number).or_else(stand_in),
        Value::String(id) if id.starts_with(STAND_IN) => stand_in(),
        Value::String(id) => Some(RawJsonRpcId::Str(id.clone())),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text of a message's id, where it is one that an answer can have.
fn id_text<'a>(object: &Map<String, Value>, text: &'a str) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    matches!(object.get("id"), Some(Value::String(_) | Value::Number(_) | Value::Null))
        .then(|| serde_json::from_str::<Message<'a>>(text).ok())
        .flatten()
        .map(|message| message.id)
}

/// A request that is cancelled is named by its id, which may have a stand-in.
fn name_as_the_connection_does(params: &mut Map<String, Value>, text: &str) {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        params: Params<'a>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: &'a RawValue,
    }
    let written = || Some(serde_json::from_str::<Message<'_>>(text).ok()?.params.request_id);
    if let Some(named) = params.get_mut("requestId")
        && let Some(RawJsonRpcId::Str(id)) = own(named, written)
    {
        *named = id.into();
    }
}

/// The answer to a request of ours. An empty result is `null` from some clients, and an empty `error` stands beside a
/// result from others.
fn answer(mut object: Map<String, Value>, text: &str) -> Read {
    let id = object.get("id").and_then(|id| own(id, || id_text(&object, text)));
    let result = object.remove("result");
    let outcome = match (result, object.remove("error").filter(|error| !error.is_null())) {
        (Some(Value::Null), None) => Ok(json!({})),
        (Some(result), None) => Ok(result),
        (None | Some(Value::Null), Some(error)) => Err(theirs(error)),
        (Some(_), Some(_)) => Err(broken("the answer has both a result and an error")),
        (None, None) => Err(broken("the answer has neither a result nor an error")),
    };
    answered(id, outcome)
}

fn answered(id: Option<RawJsonRpcId>, outcome: Result<Value, RawJsonRpcError>) -> Read {
    let Some(id) = id else {
        tracing::warn!("an answer without a usable id is dropped");
        return Read::Nothing;
    };
    Read::Message(RawJsonRpcMessage::Response(RawJsonRpcResponse::new(id, outcome.map_err(Box::new))))
}

/// The client's error, as far as it has the form of one.
fn theirs(error: Value) -> RawJsonRpcError {
    let message = match error.get("message").unwrap_or(&error) {
        Value::String(message) => Cow::Owned(message.clone()),
        _ => Cow::Borrowed("the answer has an error of an unknown form"),
    };
    serde_json::from_value(error).unwrap_or_else(|_| broken(&message))
}

fn broken(message: &str) -> RawJsonRpcError {
    RawJsonRpcError::new(Error::internal_error().code.into(), message)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn shown(text: &str) -> String {
        match read(text) {
            Read::Message(message) => write(&TransportFrame::Single(message)).unwrap(),
            Read::Refused(answer) => format!("refused {answer}"),
            Read::Nothing => "nothing".to_owned(),
        }
    }

    fn table(texts: &[&str]) -> String {
        texts.iter().map(|text| shown(text) + "\n").collect()
    }

    #[test]
    fn what_is_no_message_is_refused_under_its_id() {
        expect![[r#"
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: batches are not supported: send one message at a time","data":{"reason":"batches are not supported: send one message at a time"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: batches are not supported: send one message at a time","data":{"reason":"batches are not supported: send one message at a time"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message is a JSON object","data":{"reason":"a message is a JSON object"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message is a JSON object","data":{"reason":"a message is a JSON object"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: `method` is missing","data":{"reason":"`method` is missing"}}}
            refused {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: `method` is missing","data":{"reason":"`method` is missing"}}}
            refused {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: `jsonrpc` must be \"2.0\"","data":{"reason":"`jsonrpc` must be \"2.0\""}}}
            refused {"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid request: `jsonrpc` must be \"2.0\"","data":{"reason":"`jsonrpc` must be \"2.0\""}}}
            refused {"jsonrpc":"2.0","id":1.50,"error":{"code":-32600,"message":"Invalid request: `method` must be a string","data":{"reason":"`method` must be a string"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: `params` must be an object","data":{"reason":"`params` must be an object"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: `params` must be an object","data":{"reason":"`params` must be an object"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: `id` must be a string, a number or null","data":{"reason":"`id` must be a string, a number or null"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: `id` must be a string, a number or null","data":{"reason":"`id` must be a string, a number or null"}}}
            refused {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: a message with a `method` has no `result` and no `error`","data":{"reason":"a message with a `method` has no `result` and no `error`"}}}
        "#]].assert_eq(&table(&[
            "{",
            "",
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"s3cret"}]"#,
            "17",
            "null",
            "{}",
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"id":1,"method":"s3cret"}"#,
            r#"{"jsonrpc":"1.0","id":"a","method":"s3cret"}"#,
            r#"{"jsonrpc":"2.0","id":1.50,"method":["s3cret"]}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m","params":"s3cret"}"#,
            r#"{"jsonrpc":"2.0","method":"m","params":1}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":{"s3cret":1},"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":"s3cret"}"#,
        ]));
    }

    #[test]
    fn what_is_json_and_cannot_be_held_is_refused_under_its_id() {
        let deep = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let params =
            |id: &str, value: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{value}}}{id}}}"#);
        let texts = [
            params(r#","id":7"#, r#""\ud800 s3cret""#),
            params(r#","id":"a""#, r#""\udc00""#),
            params(r#","id":1.50"#, &deep(200)),
            params(r#","id":8"#, &deep(100_000)),
            params(r#","id":9"#, "-1e400"),
            params(r#","id":1e400"#, "1"),
            params(r#","id":null"#, "1e400"),
            params("", "1e400"),
            params(r#","id":"\ud800""#, "1"),
            params(r#","id":{"s3cret":1}"#, "1e400"),
            params(r#","id":1,"id":2"#, "1e400"),
            params(r#","id":7"#, r#""\ud80""#),
            params(r#","id":7"#, &"[".repeat(200)),
            params(r#","id":7"#, "1e400") + "}",
            deep(200),
            r#"{"jsonrpc":"2.0","id":5,"result":{"content":"\ud800"}}"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","id":"x","error":{{"code":1,"message":"m","data":{}}}}}"#, deep(200)),
            r#"{"jsonrpc":"2.0","id":"\ud800","result":{}}"#.to_owned(),
        ];
        let shown = table(&texts.each_ref().map(String::as_str));
        assert!(!shown.contains("s3cret"), "{shown}");
        expect![[r#"
            refused {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Invalid request: a text in it has half a surrogate pair, which is no character","data":{"reason":"a text in it has half a surrogate pair, which is no character"}}}
            refused {"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid request: a text in it has half a surrogate pair, which is no character","data":{"reason":"a text in it has half a surrogate pair, which is no character"}}}
            refused {"jsonrpc":"2.0","id":1.50,"error":{"code":-32600,"message":"Invalid request: it is nested too deeply","data":{"reason":"it is nested too deeply"}}}
            refused {"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"Invalid request: it is nested too deeply","data":{"reason":"it is nested too deeply"}}}
            refused {"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"Invalid request: a number in it is too large","data":{"reason":"a number in it is too large"}}}
            refused {"jsonrpc":"2.0","id":1e400,"error":{"code":-32600,"message":"Invalid request: a number in it is too large","data":{"reason":"a number in it is too large"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a number in it is too large","data":{"reason":"a number in it is too large"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a number in it is too large","data":{"reason":"a number in it is too large"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a text in it has half a surrogate pair, which is no character","data":{"reason":"a text in it has half a surrogate pair, which is no character"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a number in it is too large","data":{"reason":"a number in it is too large"}}}
            refused {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid request: a number in it is too large","data":{"reason":"a number in it is too large"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
            refused {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message is a JSON object, and its names are texts","data":{"reason":"a message is a JSON object, and its names are texts"}}}
            {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"the answer cannot be read: a text in it has half a surrogate pair, which is no character"}}
            {"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"the answer cannot be read: it is nested too deeply"}}
            nothing
        "#]].assert_eq(&shown);
    }

    #[test]
    fn messages_are_taken() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":"1","method":"m","params":{"a":[1]}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"m"}"#,
        ] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(
            shown(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null,"x":1}"#),
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#
        );
    }

    #[test]
    fn answers_are_read_leniently() {
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"a":1}}
            {"jsonrpc":"2.0","id":1,"result":{}}
            {"jsonrpc":"2.0","id":1,"result":{}}
            {"jsonrpc":"2.0","id":1,"result":{}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":{"a":1}}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","more":1}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer has both a result and an error"}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer has neither a result nor an error"}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"far"}}
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer has an error of an unknown form"}}
            nothing
            nothing
        "#]]
        .assert_eq(&table(&[
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"no","data":{"a":1}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","more":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":99999999999,"message":"far"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#,
        ]));
    }

    #[test]
    fn ids_are_echoed_as_they_were_written() {
        for id in [
            "0",
            "-1",
            "-0",
            "1.5",
            "1.50",
            "1e3",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616",
            "123456789012345678901234567890",
            "null",
            r#""""#,
            r#""ünï \" \u00e9""#,
            r#""\u0000id:7""#,
            r#""\u0000id:""#,
        ] {
            let Read::Message(RawJsonRpcMessage::Request(request)) =
                read(&format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"m"}}"#))
            else {
                panic!("{id} is refused")
            };
            let answers = [
                (Ok(json!(7)), r#""result":7"#),
                (Err(Box::new(broken("no"))), r#""error":{"code":-32603,"message":"no"}"#),
            ];
            for (outcome, written) in answers {
                let response = RawJsonRpcResponse::new(request.id.clone(), outcome);
                let text = write(&TransportFrame::Single(RawJsonRpcMessage::Response(response))).unwrap();
                let text = text.replace('é', r"\u00e9");
                assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{id},{written}}}"#));
            }
        }
    }

    #[test]
    fn a_cancelled_request_is_found_by_any_id() {
        for id in ["7", r#""a""#, "1.5", "18446744073709551616", r#""\u0000id:7""#] {
            let Read::Message(RawJsonRpcMessage::Request(request)) =
                read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
            else {
                panic!("{id} is refused")
            };
            let cancel = format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#);
            let Read::Message(RawJsonRpcMessage::Notification(cancel)) = read(&cancel) else { panic!("{id}") };
            let Some(RawJsonRpcParams::Object(params)) = cancel.params else { panic!("{id}") };
            assert_eq!(
                serde_json::from_value::<RawJsonRpcId>(params["requestId"].clone()).unwrap(),
                request.id,
                "{id}"
            );
        }
    }
}
