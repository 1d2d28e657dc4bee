// {{title}}: an acp-runtime plugin with one tool.
//
// What the host offers can be imported by its name in `wit/deps`: `import { info } from "aar:host/log@0.1.0"`.

// The model sees this schema, and every call is checked against it before the plugin is asked.
const greet = {
  name: "greet",
  title: "Greet",
  description: "Greets somebody by name.",
  inputSchema: JSON.stringify({
    type: "object",
    properties: { name: { type: "string", description: "Whom to greet." } },
    required: ["name"],
    additionalProperties: false,
  }),
  sideEffects: ["none"],
  extra: [],
};

// The interface `aar:tool/tool`.
export const tool = {
  listTools() {
    return [greet];
  },

  call(name, args, context) {
    if (name !== greet.name) {
      // An error is an object that is thrown, with these fields.
      throw { kind: "std:not-found", message: `there is no tool \`${name}\``, retry: false, extra: [] };
    }
    const text = `Hello, ${JSON.parse(args).name}!`;
    return { content: [{ mime: "text/plain", text, extra: [] }], locations: [], extra: [] };
  },
};
