"""{{title}}: an acp-runtime plugin with one tool.

The modules that are imported here are made from `wit/` when the plugin is built. What the host offers is in
`wit_world.imports`; `open` sees the project's folders below `/workspace`, as far as `plugin.toml` asks for them.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tool import CallContext, Outcome, ToolDef
from wit_world.imports.types import Content, Error

# The model sees this schema, and every call is checked against it before the plugin is asked.
GREET = ToolDef(
    name="greet",
    title="Greet",
    description="Greets somebody by name.",
    input_schema=json.dumps(
        {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Whom to greet."}},
            "required": ["name"],
            "additionalProperties": False,
        }
    ),
    side_effects=["none"],
    extra=[],
)


class Tool(exports.Tool):
    def list_tools(self) -> list[ToolDef]:
        return [GREET]

    def call(self, name: str, arguments: str, context: CallContext) -> Outcome:
        if name != GREET.name:
            raise Err(Error(kind="std:not-found", message=f"there is no tool `{name}`", retry=False, extra=[]))
        text = f"Hello, {json.loads(arguments)['name']}!"
        content = Content(mime="text/plain", text=text, data=None, extra=[])
        return Outcome(content=[content], structured=None, locations=[], extra=[])
