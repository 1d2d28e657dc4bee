"""An MCP server on the official Python SDK: adds numbers, tells of its progress, and waits for ever."""

import asyncio
import os

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations

server = MCPServer("python-double")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def count(to: int, context: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(1, to + 1):
        await context.report_progress(step, to, f"at {step}")
        await asyncio.sleep(0.15)
    return f"counted to {to}"


@server.tool()
async def wait() -> str:
    """Says who it is, and never ends."""
    with open("waiting", "w") as file:
        file.write(str(os.getpid()))
    await asyncio.sleep(3600)
    return "never"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no luck")


if __name__ == "__main__":
    server.run()
