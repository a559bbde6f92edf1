// `openai` from npm: it reconnects by itself and builds its URL anew for each attempt. It speaks TLS only.

import { Place, obey, require, tell, tellEvent } from "./strings.mjs";

const { OpenAI } = require("openai");
const { OpenAIRealtimeWS } = require("openai/realtime/ws");

const [origin, turns] = process.argv.slice(2);
const byHand = { type: "realtime", audio: { input: { turn_detection: null } } };
const place = new Place();
const realtime = new OpenAIRealtimeWS(
  {
    model: "echo",
    reconnect: true,
    maxReconnectAttempts: 100,
    reconnectInitialDelay: 50,
    reconnectMaxDelay: 200,
    maxQueueBytes: 1 << 20,
    buildRealtimeURL: () => place.put(new URL(`${origin}/v1/realtime?model=echo`)),
  },
  new OpenAI({ apiKey: "no-key" }),
);

realtime.on("event", (event) => {
  place.note(event);
  tellEvent(event);
  if (event.type === "session.created" && turns === "manual" && !event.resumed) {
    realtime.send({ type: "session.update", session: byHand });
  }
});
realtime.on("error", (error) => tell("puppet.error", { text: error.message, code: error.error?.code ?? null }));
realtime.on("reconnecting", ({ attempt, closeCode }) => tell("puppet.reconnecting", { attempt, code: closeCode }));
realtime.on("reconnected", () => {
  tell("puppet.reconnected");
  realtime.flushPending();
});
realtime.on("close", (code, reason, unsent) => {
  tell("puppet.ended", { code, reason, unsent: unsent?.length ?? 0 });
  process.stdin.destroy();
});
realtime.socket.once("open", () => {
  tell("puppet.open");
  obey({
    append: ({ audio }) => realtime.send({ type: "input_audio_buffer.append", audio }),
    commit: () => realtime.send({ type: "input_audio_buffer.commit" }),
    create: () => realtime.send({ type: "response.create" }),
    cancel: () => realtime.send({ type: "response.cancel" }),
    close: () => realtime.close(),
  });
});
