// Takes an agent through the life of a session with the official TypeScript SDK, and prints one JSON summary.
// usage: ACP_SDK=<path of the SDK's entry file> node ts_client.mjs CWD AGENT [ARGS…]
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const acp = await import(pathToFileURL(process.env.ACP_SDK));
const [cwd, command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const { client, agent: server } = acp.methods;
const permissions = [];

// What is told from now on, and what to do when the agent begins to speak.
let told, onSpeech;
const listen = () => (told = { user: "", text: "", tools: [] });
listen();

await acp
  .client({ name: "ts-client" })
  .onRequest(client.session.requestPermission, ({ params }) => {
    permissions.push(params.toolCall.title ?? "");
    const option = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(client.fs.readTextFile, async ({ params }) => ({ content: await readFile(params.path, "utf8") }))
  .onRequest(client.fs.writeTextFile, async ({ params }) => {
    await writeFile(params.path, params.content);
    return {};
  })
  .onNotification(client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "user_message_chunk") told.user += update.content.text;
    if (update.sessionUpdate === "tool_call") told.tools.push(update.title);
    if (update.sessionUpdate === "agent_message_chunk") {
      told.text += update.content.text;
      onSpeech?.();
    }
  })
  .connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (context) => {
    const prompt = (sessionId, text) =>
      context.request(server.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    const listed = async () =>
      (await context.request(server.session.list, { cwd })).sessions.map((session) => session.sessionId);

    const hello = await context.request(server.initialize, {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
      clientInfo: { name: "ts-client", version: "1" },
    });
    const { sessionId } = await context.request(server.session.new, { cwd, mcpServers: [] });
    const worked = await prompt(sessionId, "Write a report");
    const work = told;

    listen();
    onSpeech = () => context.notify(server.session.cancel, { sessionId });
    const cancelled = await prompt(sessionId, "Go on for ever");
    onSpeech = undefined;

    const { configOptions } = await context.request(server.session.setConfigOption, {
      sessionId,
      configId: "mode",
      value: "plan",
    });
    // Not in the stable SDK yet.
    const fork = await context.request("session/fork", { sessionId, cwd });
    listen();
    const forked = await prompt(fork.sessionId, "/help");
    const help = told;

    await context.request(server.session.close, { sessionId });
    listen();
    await context.request(server.session.load, { sessionId, cwd, mcpServers: [] });
    const replay = told;

    const before = await listed();
    await context.request(server.session.delete, { sessionId });
    const after = await listed();
    console.log(
      JSON.stringify({
        protocolVersion: hello.protocolVersion,
        agent: hello.agentInfo.name,
        stops: [worked, cancelled, forked].map((answer) => answer.stopReason),
        text: work.text,
        tools: work.tools,
        permissions,
        mode: configOptions.find((option) => option.id === "mode").currentValue,
        help: help.text,
        replay,
        listed: [sessionId, fork.sessionId].map((id) => before.includes(id)),
        deleted: !after.includes(sessionId) && after.includes(fork.sessionId),
      }),
    );
  });
agent.stdin.end();
await new Promise((resolve) => (agent.exitCode === null ? agent.once("exit", resolve) : resolve()));
