// Say a recording to an Interlock server and print what it answers, with `@openai/agents-realtime` from npm.
//
//   npm ci
//   node agents_node.mjs ws://127.0.0.1:8765 recording.wav       # 24 kHz, mono, PCM16
//
// The SDK does not reconnect. A new session of the SDK, at a URL that says where the old one was, takes up the same
// session of the server, and misses nothing.

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } from "@openai/agents-realtime";

const [origin, recording] = process.argv.slice(2);
const place = {};

function note(event) {
  if (event.resume_token) {
    // session.created and session.updated have them
    place.session_id = event.session_id;
    place.resume_token = event.resume_token;
  }
  if (event.server_event_seq) place.last_received_server_event_seq = event.server_event_seq;
}

// One connection: resolves to whether the answer has come to its end.
function converse(begin) {
  const url = `${origin}/v1/realtime?${new URLSearchParams({ model: "echo", ...place })}`;
  const transport = new OpenAIRealtimeWebSocket({ url, useInsecureApiKey: true });
  const session = new RealtimeSession(new RealtimeAgent({ name: "echo" }), { transport });
  return new Promise((resolve) => {
    transport.on("*", (event) => {
      note(event);
      if (event.type === "response.output_audio_transcript.done") console.log(event.transcript);
      if (event.type === "response.done") resolve(true), session.close();
    });
    transport.on("connection_change", (status) => status === "disconnected" && resolve(false));
    session.on("error", ({ error }) => console.error(error));
    session.connect({ apiKey: "a key of the server, if it wants one" }).then(() => begin(session));
  });
}

// Sends 100 ms each 100 ms, and a second of silence, in which the server hears that the turn is over.
async function speak(session) {
  const pcm = Buffer.concat([readFileSync(recording).subarray(44), Buffer.alloc(48_000)]);
  for (let start = 0; start < pcm.length; start += 4800) {
    session.sendAudio(Uint8Array.from(pcm.subarray(start, start + 4800)).buffer);
    await pause(100);
  }
}

let answered = await converse(speak);
while (!answered) {
  console.log("(lost the line)");
  answered = await converse(() => {});
}
