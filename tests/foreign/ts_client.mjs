// Drives an agent with the official TypeScript SDK and prints one JSON summary.
// usage: ACP_SDK=<path of the SDK's entry file> node ts_client.mjs CWD PROMPT AGENT [ARGS…]
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const acp = await import(pathToFileURL(process.env.ACP_SDK));
const [cwd, text, command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const summary = { text: "", permissions: [], tools: [] };
const { client, agent: server } = acp.methods;

await acp
  .client({ name: "ts-client" })
  .onRequest(client.session.requestPermission, ({ params }) => {
    summary.permissions.push(params.toolCall.title ?? "");
    const option = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(client.fs.readTextFile, async ({ params }) => ({ content: await readFile(params.path, "utf8") }))
  .onRequest(client.fs.writeTextFile, async ({ params }) => {
    await writeFile(params.path, params.content);
    return {};
  })
  .onNotification(client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk") summary.text += update.content.text;
    if (update.sessionUpdate === "tool_call") summary.tools.push(update.title);
  })
  .connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (context) => {
    const hello = await context.request(server.initialize, {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
      clientInfo: { name: "ts-client", version: "1" },
    });
    summary.protocolVersion = hello.protocolVersion;
    summary.agent = hello.agentInfo.name;
    const { sessionId } = await context.request(server.session.new, { cwd, mcpServers: [] });
    const answer = await context.request(server.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    summary.stopReason = answer.stopReason;
  });
agent.stdin.end();
await new Promise((resolve) => (agent.exitCode === null ? agent.once("exit", resolve) : resolve()));
console.log(JSON.stringify(summary));
