// `@openai/agents-realtime` from npm: a session on its WebSocket transport, over plain ws. It does not reconnect.

import { obey, require, tell, tellEvent } from "./strings.mjs";

const { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } = require("@openai/agents-realtime");

const [origin, turns, query = ""] = process.argv.slice(2);
const url = `${origin}/v1/realtime?model=echo${query}`;
const transport = new OpenAIRealtimeWebSocket({ url, useInsecureApiKey: true });
const agent = new RealtimeAgent({ name: "echo", instructions: "Say it again." });
const config = turns === "manual" ? { audio: { input: { turnDetection: null } } } : {};
const session = new RealtimeSession(agent, { transport, config });

transport.on("*", tellEvent);
transport.on("connection_change", (status) => {
  tell("puppet.connection", { status });
  if (status === "connecting") transport.connectionState.websocket.addEventListener("close", ended);
});
session.on("error", ({ error }) => tell("puppet.error", { text: error?.error?.error?.message ?? String(error) }));
session.on("audio_interrupted", () => tell("agents.audio_interrupted"));
session.on("history_updated", (history) => tell("agents.history", { items: history.map((item) => item.role) }));

function ended({ code }) {
  tell("puppet.ended", { code });
  process.stdin.destroy();
}

await session.connect({ apiKey: "no-key" });
tell("puppet.open");
obey({
  append: ({ audio }) => session.sendAudio(Uint8Array.from(Buffer.from(audio, "base64")).buffer),
  message: ({ text }) => session.sendMessage(text),
  commit: () => transport.sendEvent({ type: "input_audio_buffer.commit" }),
  create: () => transport.sendEvent({ type: "response.create" }),
  cancel: () => transport.sendEvent({ type: "response.cancel" }),
  interrupt: () => session.interrupt(),
  close: () => session.close(),
});
