//! What a server offers, as tools of the session: each one checked and bounded, and what cannot be had named.

use std::collections::HashSet;
use std::sync::Arc;

use acp_runtime_agent::capability::{ServerName, ToolName};
use acp_runtime_agent::model::{InputSchema, ToolKind, ToolSpec};
use acp_runtime_agent::plain;
use serde_json::{Map, Value};

use super::names;

/// Tools of one server. Every tool costs the model some of its context.
pub(super) const TOOLS: usize = 256;
/// Bytes of a tool's schema, as JSON.
const SCHEMA: usize = 64 * 1024;
/// How deep a schema may be nested.
const DEPTH: usize = 32;
/// Characters of a description.
const DESCRIPTION: usize = 4096;
/// Characters of a title.
const TITLE: usize = 120;

/// A tool that can be called.
#[derive(Debug)]
pub(super) struct Offered {
    /// As the model and the client are told of it.
    pub(super) spec: Arc<ToolSpec>,
    /// As the server knows it.
    pub(super) called: String,
    /// As settings and questions name it, unique in its server.
    pub(super) name: ToolName,
    /// Whether the server says that it only reads.
    pub(super) read_only: bool,
}

/// The tools of `server` that can be used, and one sentence for each of the others.
pub(super) fn offered(server: &ServerName, mut tools: Vec<rmcp::model::Tool>) -> (Vec<Offered>, Vec<String>) {
    let mut problems = Vec::new();
    if tools.len() > TOOLS {
        problems.push(format!("it offers {} tools; those after the first {TOOLS} are left out", tools.len()));
        tools.truncate(TOOLS);
    }
    let mut seen = HashSet::new();
    tools.retain(|tool| {
        let first = seen.insert(tool.name.clone());
        if !first {
            problems.push(format!("it offers the tool `{}` twice", plain::line(&tool.name, TITLE)));
        }
        first
    });
    let called: Vec<String> = tools.iter().map(|tool| tool.name.clone().into_owned()).collect();
    let called: Vec<&str> = called.iter().map(String::as_str).collect();
    let mut offered = Vec::new();
    for ((called, name, full), tool) in names::tools(server, &called).into_iter().zip(&tools) {
        match schema(&tool.input_schema) {
            Ok(input) => offered.push(one(server, tool, called, name, full, input)),
            Err(problem) => problems.push(format!("its tool `{}` is left out: {problem}", plain::line(called, TITLE))),
        }
    }
    (offered, problems)
}

fn one(
    server: &ServerName,
    tool: &rmcp::model::Tool,
    called: &str,
    name: ToolName,
    full: ToolName,
    input: InputSchema,
) -> Offered {
    let annotations = tool.annotations.as_ref();
    let read_only = annotations.and_then(|annotations| annotations.read_only_hint) == Some(true);
    let titles = [tool.title.as_deref(), annotations.and_then(|annotations| annotations.title.as_deref())];
    let title = titles.into_iter().flatten().map(|title| plain::line(title, TITLE)).find(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| plain::line(called, TITLE));
    let spec = ToolSpec {
        name: full,
        title: format!("{title} ({server})"),
        description: plain::block(tool.description.as_deref().unwrap_or_default(), DESCRIPTION),
        input,
        kind: if read_only { ToolKind::Read } else { ToolKind::Other },
    };
    Offered { spec: Arc::new(spec), called: called.to_owned(), name, read_only }
}

/// A schema that models and the validator take: of an object, bounded, without references that leave it.
fn schema(written: &Map<String, Value>) -> Result<InputSchema, String> {
    let mut schema = written.clone();
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {}
        // Left out by some servers whose tools have no arguments.
        None if !schema.contains_key("type") => {
            schema.insert("type".to_owned(), "object".into());
        }
        _ => return Err("its arguments are no object".to_owned()),
    }
    let schema = Value::Object(schema);
    if depth(&schema) > DEPTH {
        return Err(format!("its schema is nested deeper than {DEPTH} levels"));
    }
    let size = schema.to_string().len();
    if size > SCHEMA {
        return Err(format!("its schema has {size} bytes, more than {SCHEMA}"));
    }
    let schema = InputSchema::new(schema);
    schema.check().map_err(|problem| plain::line(&problem, 200))?;
    Ok(schema)
}

fn depth(value: &Value) -> usize {
    let inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + inner.map(depth).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn read(tools: Value) -> (Vec<Offered>, Vec<String>) {
        offered(&ServerName::new("files").unwrap(), serde_json::from_value(tools).unwrap())
    }

    #[test]
    fn tools_are_told_of_as_the_server_tells_of_them() {
        let (tools, problems) = read(json!([
            {
                "name": "read.file",
                "title": "Read a file\n",
                "description": "Reads.\u{202e}\nAll of it.",
                "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } },
                "annotations": { "readOnlyHint": true, "title": "Other" },
            },
            { "name": "wipe", "inputSchema": {}, "annotations": { "readOnlyHint": false, "title": "Wipe it" } },
            { "name": "plain", "inputSchema": { "type": "object" } },
        ]));
        let table: Vec<String> = tools
            .iter()
            .map(|Offered { spec, called, name, read_only }| {
                let ToolSpec { name: full, title, description, input, kind } = &**spec;
                let reads = if *read_only { "reads" } else { "acts" };
                format!("{called} {name} {full} {kind:?} {reads}\n  {title}: {description:?}\n  {}", input.as_value())
            })
            .collect();
        expect![[r#"
            read.file read_file mcp__files__read_file Read reads
              Read a file (files): "Reads.\nAll of it."
              {"type":"object","properties":{"path":{"type":"string"}}}
            wipe wipe mcp__files__wipe Other acts
              Wipe it (files): ""
              {"type":"object"}
            plain plain mcp__files__plain Other acts
              plain (files): ""
              {"type":"object"}"#]]
        .assert_eq(&table.join("\n"));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_had_is_left_out_and_named() {
        let mut deep = json!({ "type": "string" });
        (0..DEPTH).for_each(|_| deep = json!({ "not": deep }));
        let property = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
        let (tools, problems) = read(json!([
            { "name": "good", "inputSchema": property(json!({ "type": "integer" })) },
            { "name": "array", "inputSchema": { "type": "array" } },
            { "name": "broken", "inputSchema": property(json!({ "type": 5 })) },
            { "name": "elsewhere", "inputSchema": property(json!({ "$ref": "https://example.com/s.json" })) },
            { "name": "deep", "inputSchema": property(deep) },
            { "name": "good", "inputSchema": {} },
            { "name": "large", "inputSchema": property(json!({ "description": "x".repeat(SCHEMA) })) },
        ]));
        assert_eq!(tools.iter().map(|tool| tool.spec.name.as_str()).collect::<Vec<_>>(), ["mcp__files__good"]);
        expect![[r#"
            it offers the tool `good` twice
            its tool `array` is left out: its arguments are no object
            its tool `broken` is left out: the tool's input schema is broken: 5 is not valid under any of the schemas listed in the 'anyOf' keyword
            its tool `elsewhere` is left out: the tool's input schema is broken: Resource 'https://example.com/s.json' is not present in a registry and retrieving it failed: `resolve-http` feature or a custom resolver is required to resolve exter
            its tool `deep` is left out: its schema is nested deeper than 32 levels
            its tool `large` is left out: its schema has 65591 bytes, more than 65536"#]].assert_eq(&problems.join("\n"));
    }

    #[test]
    fn there_are_only_so_many() {
        let tools: Vec<Value> =
            (0..TOOLS + 4).map(|number| json!({ "name": format!("t{number}"), "inputSchema": {} })).collect();
        let (tools, problems) = read(Value::Array(tools));
        assert_eq!(tools.len(), TOOLS);
        assert_eq!(problems, ["it offers 260 tools; those after the first 256 are left out"]);
    }
}
