// Say a recording to an Interlock server and print what it answers, with `openai` from npm.
//
//   npm ci
//   node openai_node.mjs wss://127.0.0.1:8765 recording.wav       # 24 kHz, mono, PCM16
//
// The SDK speaks TLS only, so the server runs with --tls-cert and --tls-key. It reconnects by itself, and asks for its
// URL at each attempt. All that a resume needs is to remember three fields and to put them there.

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { OpenAI } from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";

const [origin, recording] = process.argv.slice(2);
const place = {};

function note(event) {
  if (event.resume_token) {
    // session.created and session.updated have them
    if (event.session_id !== place.session_id) place.last_received_server_event_seq = 0;
    place.session_id = event.session_id;
    place.resume_token = event.resume_token;
  }
  if (event.server_event_seq) place.last_received_server_event_seq = event.server_event_seq;
}

const realtime = new OpenAIRealtimeWS(
  {
    model: "echo",
    reconnect: true,
    buildRealtimeURL: () => new URL(`${origin}/v1/realtime?${new URLSearchParams({ model: "echo", ...place })}`),
  },
  new OpenAI({ apiKey: "a key of the server, if it wants one" }),
);

realtime.on("error", (error) => console.error(error.message));
realtime.on("event", (event) => {
  note(event);
  if (event.type === "response.output_audio_transcript.done") console.log(event.transcript);
  if (event.type === "response.done") realtime.close();
});
realtime.socket.once("open", speak);

// Sends 100 ms each 100 ms, and a second of silence, in which the server hears that the turn is over.
async function speak() {
  const pcm = Buffer.concat([readFileSync(recording).subarray(44), Buffer.alloc(48_000)]);
  for (let start = 0; start < pcm.length; start += 4800) {
    const audio = pcm.subarray(start, start + 4800).toString("base64");
    realtime.send({ type: "input_audio_buffer.append", audio });
    await pause(100);
  }
}
