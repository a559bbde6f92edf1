// /talk: speak with a session, interrupt it, lose it and come back. What the machines do is what the server committed.

import { Course } from "./course.js";
import { $, h } from "./dom.js";
import { Duplex } from "./duplex.js";
import { Ear } from "./ear.js";
import { Live } from "./live.js";
import { Machines } from "./machines.js";
import { Steps } from "./steps.js";
import { Voice } from "./voice.js";

const SHOWN = ["attachment", "lease", "fence", "response"];
const HEARD_MS = 250;
const HELLO_MS = 2000;

const tables = await (await fetch("/pages/machines.json")).json();
const machines = new Machines($("machines"), tables, SHOWN);
const steps = new Steps($("steps"));
const course = new Course(tables);
const tabs = new BroadcastChannel("interlock.talk");
const me = String(crypto.getRandomValues(new Uint32Array(2))); // randomUUID is for https only

let duplex = null, live = null, audio = null, voice = null, ear = null, offer = null, offered = 0, state = "rest", adrift = "";
const bubbles = new Map(), acked = new Map(), stale = new Set(), answering = new Set();

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
  $("status").dataset.is = next;
  $("status").textContent = words;
  const isOpen = next === "open";
  $("plug").disabled = $("commit").disabled = $("end").disabled = !isOpen;
  $("back").disabled = next !== "lost";
  $("take").disabled = !offer || isOpen || next === "opening";
  $("talk").disabled = next === "lost" || next === "opening";
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
}

// --- the session

function connect(begin) {
  if (duplex) duplex.lost = () => {};
  duplex = new Duplex(hear, lost);
  duplex.key = $("key").value.trim();
  be("opening");
  begin(duplex);
}

function lost({ code, reason, final }) {
  if (!final && duplex.id) return be("lost");
  if (!final) return refused(reason);
  flush();
  ear?.close();
  isListening(false);
  be(code === 4001 ? "taken" : "over");
}

// An error before the session is there, or is there again, is the end of the attempt.
function complain(text) {
  remark(text);
  if (state !== "opening") return;
  duplex.close();
  be("over", "No session came of it; the transcript says why. Talk begins another one.");
}

// A browser is not told why a connection was refused; a missing key is the likely reason where nothing is said.
function refused(reason) {
  be("over", `No session came of it${reason ? `: ${reason}` : ""}. Press Talk to try again.`);
  $("key-box").hidden = Boolean(reason);
}

const HEARS = {
  "session.created": begun,
  "session.resumed": begun,
  "session.replaced": () => be("taken"),
  "session.expired": ({ reason }) => be("over", `The session has expired: ${reason}.`),
  "input_audio_buffer.speech_started": () => {
    flush();
    bubble("you", "you").classList.add("listening");
  },
  "conversation.item.input_audio_transcription.completed": ({ transcript }) => say("you", transcript || "(nothing)"),
  "response.created": ({ response_id: id }) => answering.add(id) && bubble(id, "reply"),
  "response.output_audio_transcript.delta": ({ response_id: id, delta }) => bubble(id, "reply").firstChild.append(delta),
  "response.output_audio.delta": ({ response_id: id, delta }) => stale.has(id) || voice?.play(id, delta),
  "response.done": ended,
  "error": ({ error }) => complain(error.message.startsWith(error.code) ? error.message : `${error.code}: ${error.message}`),
  "session.resync_required": () => remark("A part of what was said is lost; coming back goes on after it."),
};

function hear(event) {
  HEARS[event.type]?.(event);
}

function begun(event) {
  be("open");
  if (!live || live.id !== event.session_id) watch(event.session_id, event.resume_token);
  if (ear?.isOpen) isListening(true);
  tabs.postMessage({ here: me });
}

function ended({ response }) {
  const cut = response.status !== "completed", element = bubble(response.id, "reply");
  element.removeAttribute("aria-busy");
  answering.delete(response.id);
  if (!cut) return;
  if (voice?.isSpeaking) flush();
  stale.add(response.id);
  element.classList.add("cut");
  element.append(h("small", {}, response.status === "cancelled" ? "interrupted" : response.status));
}

// --- what is said, as text

function bubble(id, who) {
  let element = bubbles.get(id);
  if (!element) {
    $("said").querySelector(".hint")?.remove();
    element = h("div", { class: `bubble ${who}`, "data-who": who, "aria-busy": "true" }, h("p"));
    bubbles.set(id, element);
    $("said").append(element);
  }
  $("said").scrollTop = $("said").scrollHeight;
  return element;
}

function say(who, text) {
  const element = bubble(who, who);
  element.firstChild.textContent = text;
  element.classList.remove("listening");
  element.removeAttribute("aria-busy");
  bubbles.delete(who);
}

function remark(text) {
  $("said").querySelector(".hint")?.remove();
  $("said").append(h("p", { class: "remark" }, text));
  $("said").scrollTop = $("said").scrollHeight;
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

setInterval(() => {
  if (state === "open") tellHeard();
}, HEARD_MS);

function measure(which, level) {
  const meter = $(`level-${which}`);
  meter.value = Math.min(level, 1);
  const is = level > 0.02 ? "sounding" : "silent";
  if (meter.dataset.is !== is) meter.dataset.is = is;
}

// There is something to interrupt while a response is made, and while it is heard.
function meters() {
  $("interrupt").disabled = state !== "open" || !(answering.size || voice?.isSpeaking);
  measure("out", voice?.isSpeaking ? voice.level * 3 : 0);
  requestAnimationFrame(meters);
}
requestAnimationFrame(meters);

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
  const claim = course.transitions.length ? `attachment ${duplex.generation}` : "";
  const epoch = [...course.now(tables.find(({ name }) => name === "fence")).get("OPEN") || []][0];
  $("facts").textContent = [claim, epoch && `epoch ${epoch}`].filter(Boolean).join(", ");
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
    measure("in", 0);
    return isListening(false);
  }
  try {
    if (!ear.isOpen) await ear.open();
  } catch (error) {
    return remark(`The microphone is not to be had: ${error.message}.`);
  }
  if (state === "open") isListening(true);
  else connect((session) => session.open({}));
};

$("interrupt").onclick = () => {
  flush();
  duplex.say({ type: "output_audio_buffer.clear" });
};

$("commit").onclick = () => duplex.say({ type: "input_audio_buffer.commit" });

$("end").onclick = () => {
  tellHeard();
  duplex.say({ type: "session.close" });
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
  tabs.postMessage({ hand: offer, to: me });
};

// --- other tabs: what one needs to take over goes from tab to tab, and is stored nowhere

tabs.onmessage = ({ data }) => {
  if (data.who) return void (state === "open" && tabs.postMessage({ here: me }));
  if (data.here) {
    [offer, offered] = [data.here, Date.now()];
    return be(state, $("status").textContent);
  }
  if (data.gone === offer && data.gone) {
    offer = null;
    return be(state, $("status").textContent);
  }
  if (data.hand === me) {
    const text = [...$("said").querySelectorAll(".bubble")].map((each) => [each.dataset.who, each.firstChild.textContent]);
    return tabs.postMessage({ handed: duplex.credentials, to: data.to, text });
  }
  if (data.handed && data.to === me) take(data);
};

function take({ handed, text }) {
  offer = null;
  $("said").replaceChildren();
  bubbles.clear();
  text.forEach(([who, words], number) => {
    const element = bubble(`before ${number}`, who);
    element.firstChild.textContent = words;
    element.removeAttribute("aria-busy");
  });
  connect((session) => session.resume(handed));
}

setInterval(() => {
  if (state === "open") tabs.postMessage({ here: me });
  else if (offer && Date.now() - offered > 3 * HELLO_MS) tabs.onmessage({ data: { gone: offer } });
}, HELLO_MS);
addEventListener("pagehide", () => tabs.postMessage({ gone: me }));

tabs.postMessage({ who: me });
machines.light(course);
be("rest");
document.body.dataset.ready = "yes";
