"""Takes an agent through the life of a session with the official Python SDK, and prints one JSON summary.

usage: py_client.py CWD AGENT [ARGS…]
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
        self.permissions = []
        self.on_speech = None
        self.listen()

    def listen(self):
        """What is told from now on."""
        self.told = {"user": "", "text": "", "tools": []}

    async def session_update(self, session_id, update, **_):
        if update.session_update == "user_message_chunk":
            self.told["user"] += update.content.text
        elif update.session_update == "tool_call":
            self.told["tools"].append(update.title)
        elif update.session_update == "agent_message_chunk":
            self.told["text"] += update.content.text
            if self.on_speech:
                await self.on_speech(session_id=session_id)

    async def request_permission(self, options, session_id, tool_call, **_):
        self.permissions.append(tool_call.title or "")
        option = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def read_text_file(self, path, session_id, **_):
        return ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, content, path, session_id, **_):
        Path(path).write_text(content)
        return WriteTextFileResponse()


async def live(client, connection, cwd):
    """The life of a session; the SDK cannot delete one yet."""

    async def prompt(session, text):
        return await connection.prompt(session_id=session, prompt=[acp.text_block(text)])

    hello = await connection.initialize(
        protocol_version=acp.PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)),
        client_info=Implementation(name="py-client", version="1"),
    )
    session = (await connection.new_session(cwd=cwd, mcp_servers=[])).session_id
    worked = await prompt(session, "Write a report")
    work = client.told

    client.listen()
    client.on_speech = connection.cancel
    cancelled = await prompt(session, "Go on for ever")
    client.on_speech = None

    changed = await connection.set_config_option(config_id="mode", session_id=session, value="plan")
    fork = (await connection.fork_session(session_id=session, cwd=cwd)).session_id
    client.listen()
    forked = await prompt(fork, "/help")
    helped = client.told

    await connection.close_session(session_id=session)
    client.listen()
    await connection.load_session(cwd=cwd, session_id=session, mcp_servers=[])
    replay = client.told

    listed = [info.session_id for info in (await connection.list_sessions(cwd=cwd)).sessions]
    mode = next(option for option in changed.config_options if option.id == "mode")
    return {
        "protocolVersion": hello.protocol_version,
        "agent": hello.agent_info.name,
        "stops": [answer.stop_reason for answer in (worked, cancelled, forked)],
        "text": work["text"],
        "tools": work["tools"],
        "permissions": client.permissions,
        "mode": mode.current_value,
        "help": helped["text"],
        "replay": replay,
        "listed": [id in listed for id in (session, fork)],
        "deleted": None,
    }


async def main():
    cwd, command, *args = sys.argv[1:]
    client = Client()
    spawned = acp.spawn_agent_process(client, command, *args, cwd=cwd, env=dict(os.environ))
    async with spawned as (connection, _process):
        print(json.dumps(await live(client, connection, cwd)))


asyncio.run(main())
