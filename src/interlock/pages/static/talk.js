// /talk: speak with a session, interrupt it, lose it and come back. What the machines do is what the server committed.

import { Course } from "./course.js";
import { $ } from "./dom.js";
import { Duplex } from "./duplex.js";
import { Ear } from "./ear.js";
import { Live } from "./live.js";
import { Machines } from "./machines.js";
import { Steps } from "./steps.js";
import { Tabs } from "./tabs.js";
import { Transcript } from "./transcript.js";
import { Voice } from "./voice.js";

const SHOWN = ["attachment", "lease", "fence", "response"];
const HEARD_MS = 250;
const AUDIBLE = 0.02;

const tables = await (await fetch("/pages/machines.json")).json();
const machines = new Machines($("machines"), tables, SHOWN);
const steps = new Steps($("steps"));
const course = new Course(tables);
const said = new Transcript($("said"));
const tabs = new Tabs({
  changed: () => be(state, $("status").textContent),
  give: () => ({ credentials: duplex.credentials, texts: said.texts }),
  take: takeOver,
  unheard: () => said.remark("The other tab does not answer."),
});

let state = "rest", duplex = null, live = null, audio = null, voice = null, ear = null, adrift = "";
const acked = new Map(), stale = new Set(), answering = new Set();

// --- what the page is in, for eyes and for ears

const WORDS = {
  rest: "Nothing is open. Press Talk, and say something.",
  opening: "Opening a session …",
  open: "Connected. Speak; half a second of silence ends your turn.",
  lost: "The line is dead. The session waits for you, in grace: come back.",
  taken: "Another tab has taken this session over.",
  over: "The session is over. Talk begins another one.",
};

function be(next, words = WORDS[next]) {
  state = next;
  if ($("status").textContent !== words) $("status").textContent = words;
  $("status").dataset.is = next;
  $("plug").disabled = $("commit").disabled = next !== "open";
  $("end").disabled = next !== "open" && next !== "lost";
  $("back").disabled = next !== "lost";
  $("take").disabled = !tabs.offer || next === "open" || next === "opening";
  $("talk").disabled = next === "lost" || next === "opening";
  tabs.announce(next === "open");
  keepFocus();
}

// Whoever works by keyboard stands on a button that has just been switched off: go on at the one that comes next.
function keepFocus() {
  const on = document.activeElement;
  if (on instanceof HTMLButtonElement && on.disabled) adrift = on.id;
  else if (on !== document.body) adrift = "";
  if (!adrift || state === "opening") return;
  const next = { lost: "back", open: adrift === "talk" ? "talk" : "plug" }[state] || "talk";
  adrift = "";
  $(next).focus();
}

function isListening(yes) {
  $("talk").setAttribute("aria-pressed", String(yes));
  $("talk").querySelector("span").textContent = yes ? "Mute" : "Talk";
  if (!yes) measure("in", 0);
}

// --- the session

function connect(begin) {
  duplex?.close();
  duplex = new Duplex(hear, lost);
  duplex.key = $("key").value.trim();
  be("opening");
  begin(duplex);
}

function lost({ code, reason, final }) {
  if (!final && duplex.id) return be("lost");
  if (!final) return refused(reason);
  hangUp();
  be(code === 4001 ? "taken" : "over");
}

function hangUp() {
  flush();
  ear?.close();
  isListening(false);
}

// A browser is not told why a connection was refused; a missing key is the likely reason where nothing is said.
function refused(reason) {
  be("over", `No session came of it${reason ? `: ${reason}` : ""}. Press Talk to try again.`);
  $("key-box").hidden = Boolean(reason);
}

// An error before the session is there, or is there again, is the end of the attempt.
function complain({ code, message }) {
  said.remark(message.startsWith(code) ? message : `${code}: ${message}`);
  if (state !== "opening") return;
  duplex.close();
  be("over", "No session came of it; the transcript says why. Talk begins another one.");
}

const HEARS = {
  "session.created": begun,
  "session.resumed": begun,
  "session.replaced": () => be("taken"),
  "session.expired": ({ reason }) => said.remark(`The session has expired: ${reason}.`),
  "session.resync_required": () => said.remark("A part of what was said is lost; it goes on after that."),
  "input_audio_buffer.speech_started": () => {
    flush();
    said.bubble("you", "you").classList.add("listening");
  },
  "conversation.item.input_audio_transcription.completed": ({ transcript: text }) => said.end("you", "you", { text: text || "(nothing)" }),
  "response.created": ({ response_id: id }) => answering.add(id) && said.bubble(id, "reply"),
  "response.output_audio_transcript.delta": ({ response_id: id, delta }) => said.append(id, "reply", delta),
  "response.output_audio.delta": ({ response_id: id, delta }) => stale.has(id) || voice?.play(id, delta),
  "response.done": ({ response }) => ended(response),
  "error": ({ error }) => complain(error),
};

function hear(event) {
  HEARS[event.type]?.(event);
}

function begun(event) {
  be("open");
  if (live?.id !== event.session_id) watch(event.session_id, event.resume_token);
  if (ear?.isOpen) isListening(true);
}

function ended({ id, status }) {
  answering.delete(id);
  said.end(id, "reply", { note: { completed: "", cancelled: "interrupted" }[status] ?? status });
  if (status === "completed") return;
  if (voice?.speaking) flush();
  stale.add(id);
}

// --- what is played

// Throw away what was not heard yet, after telling what was. What is on its way of the same responses is stale.
function flush() {
  tellHeard();
  voice?.pieces.forEach(({ response }) => stale.add(response));
  voice?.flush();
}

function tellHeard() {
  for (const [response, ms] of voice?.heard || []) {
    if (Math.floor(ms) === acked.get(response)) continue;
    acked.set(response, Math.floor(ms));
    duplex?.say({ type: "playback.ack", response_id: response, played_ms: Math.floor(ms) });
  }
}

function measure(which, level) {
  const meter = $(`level-${which}`), is = level > AUDIBLE ? "sounding" : "silent";
  meter.value = Math.min(level, 1);
  if (meter.dataset.is !== is) meter.dataset.is = is;
}

// There is something to interrupt while a response is made, and while it is heard.
function meters() {
  $("interrupt").disabled = state !== "open" || !(answering.size || voice?.speaking);
  measure("out", voice?.speaking ? voice.level * 3 : 0);
  requestAnimationFrame(meters);
}

// --- what the server committed

function watch(id, token) {
  live?.close();
  course.clear();
  live = new Live("/talk/live", { type: "watch", session_id: id, resume_token: token }, { records: follow, lost: () => (live = null) });
  live.id = id;
}

function follow(records) {
  records.forEach((record) => course.take(record));
  machines.light(course);
  steps.show(course);
  const [epoch] = course.now(tables.find(({ name }) => name === "fence")).get("OPEN") || [];
  $("facts").textContent = `attachment ${duplex.generation}${epoch ? `, epoch ${epoch}` : ""}`;
}

// --- the buttons

// A browser lets a page sound from a press on. Where there is nothing to sound with, it may never say so: no waiting.
function wake() {
  audio ||= new AudioContext({ latencyHint: "interactive" });
  audio.resume();
  voice ||= new Voice(audio);
  ear ||= new Ear(audio, (base64, level) => {
    measure("in", level * 4);
    if (state === "open") duplex.say({ type: "input_audio_buffer.append", audio: base64 });
  });
}

$("talk").onclick = async () => {
  wake();
  if (ear.isOpen && state === "open") {
    ear.close();
    return isListening(false);
  }
  try {
    if (!ear.isOpen) await ear.open();
  } catch (error) {
    return said.remark(`The microphone is not to be had: ${error.message}.`);
  }
  if (state === "open") isListening(true);
  else connect((session) => session.open({}));
};

// What is heard may have been made long ago: it is named, so that what was said is capped at what was heard.
$("interrupt").onclick = () => {
  const response = voice?.speaking ?? [...answering][0];
  flush();
  duplex.say({ type: "output_audio_buffer.clear", response_id: response });
};

$("commit").onclick = () => duplex.say({ type: "input_audio_buffer.commit" });

$("end").onclick = () => {
  tellHeard();
  if (duplex.say({ type: "session.close" })) return;
  hangUp();
  be("over", "You have let go. The session ends by itself when its grace is over.");
};

// A page can only close politely; the server resets the connection, and asks for this session's own token first.
$("plug").onclick = () => live?.say({ type: "pull_plug", resume_token: duplex.token, attachment_generation: duplex.generation });

$("back").onclick = () => {
  wake();
  be("opening", "Coming back …");
  duplex.resume();
};

$("take").onclick = () => {
  wake();
  tabs.ask();
};

function takeOver({ credentials, texts }) {
  said.texts = texts;
  connect((session) => session.resume(credentials));
}

setInterval(() => state === "open" && tellHeard(), HEARD_MS);
requestAnimationFrame(meters);
machines.light(course);
be("rest");
document.body.dataset.ready = "yes";
