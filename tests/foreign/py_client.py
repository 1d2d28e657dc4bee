"""Drives an agent with the official Python SDK and prints one JSON summary.

usage: py_client.py CWD PROMPT AGENT [ARGS…]
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import acp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)


class Client(acp.Client):
    def __init__(self):
        self.summary = {"text": "", "permissions": [], "tools": []}

    async def session_update(self, session_id, update, **_):
        if update.session_update == "agent_message_chunk":
            self.summary["text"] += update.content.text
        elif update.session_update == "tool_call":
            self.summary["tools"].append(update.title)

    async def request_permission(self, options, session_id, tool_call, **_):
        self.summary["permissions"].append(tool_call.title or "")
        option = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def read_text_file(self, path, session_id, **_):
        return ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, content, path, session_id, **_):
        Path(path).write_text(content)
        return WriteTextFileResponse()


async def main():
    cwd, text, command, *args = sys.argv[1:]
    client = Client()
    spawned = acp.spawn_agent_process(client, command, *args, cwd=cwd, env=dict(os.environ))
    async with spawned as (connection, _process):
        hello = await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
            ),
            client_info=Implementation(name="py-client", version="1"),
        )
        session = await connection.new_session(cwd=cwd, mcp_servers=[])
        answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
    client.summary["protocolVersion"] = hello.protocol_version
    client.summary["agent"] = hello.agent_info.name
    client.summary["stopReason"] = answer.stop_reason
    print(json.dumps(client.summary))


asyncio.run(main())
