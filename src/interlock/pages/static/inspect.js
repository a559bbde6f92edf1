// /inspect: all sessions, and each one record by record, as the server commits them.

import { $, bytes, h } from "./dom.js";
import { FIELDS, SessionList, chip } from "./list.js";
import { Live } from "./live.js";
import { SessionView } from "./view.js";

const AGAIN_MS = 1000;

const tables = await (await fetch("/pages/machines.json")).json();
let live = null, skew = 0, view = null, token = "", drawing = false;
const clock = () => performance.now() / 1000 + skew;
const list = new SessionList($("sessions"), (id) => (location.hash = id), clock);

function rowOf(values) {
  return Object.fromEntries(FIELDS.map((name, place) => [name, values[place]]));
}

const TELLS = {
  sessions({ at, rows }) {
    skew = at - performance.now() / 1000;
    be("open", "Live");
    list.fill(rows.map(rowOf));
    if (view) view.restart();
    route();
  },
  changed({ at, rows, gone }) {
    skew = at - performance.now() / 1000;
    const told = rows.map(rowOf);
    list.change(told, gone);
    describe();
  },
  look(look) {
    if (view?.id !== look.session) return;
    view.look = look;
    describe();
  },
  trace({ session, text }) {
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/jsonl" })), download: `trace-${session}.jsonl` });
    link.click();
    URL.revokeObjectURL(link.href);
  },
  unknown: () => view?.say([["session", "has ended, and is no longer kept"]]),
};

function connect(given) {
  token = given;
  be("opening", "Connecting …");
  live = new Live("/inspect/live", { type: "hello", token }, {
    told: (message) => TELLS[message.type]?.(message),
    records: (records) => view?.take(records),
    lost: (code, reason) => lost(code, reason),
  });
}

function lost(code, reason) {
  if (code === 4401) {
    sessionStorage.removeItem("interlock.inspect");
    be("bad", "Not connected");
    return ask(`The server says: ${reason}.`);
  }
  be("lost", "The connection is lost; trying again …");
  setTimeout(() => connect(token), AGAIN_MS);
}

function be(is, words) {
  $("status").dataset.is = is;
  $("status").textContent = words;
  if (is !== "open") return;
  sessionStorage.setItem("interlock.inspect", token);
  $("gate").hidden = true;
}

function ask(why = "") {
  $("gate").hidden = false;
  $("sessions").hidden = $("one").hidden = true;
  $("why").textContent = why;
  $("token").focus();
}

// --- which session is shown stands behind the # of the address: it goes nowhere else

function route() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (view?.id === id) return live.say({ type: "follow", session: id });
  view = null;
  live?.say({ type: "follow", session: id });
  $("sessions").hidden = Boolean(id);
  $("one").hidden = !id;
  if (!id) return list.arrange();
  const back = h("button", { type: "button", onclick: () => history.back() }, "All sessions");
  const save = h("button", { type: "button", id: "download", onclick: () => live.say({ type: "download", session: id }) }, "Download trace");
  view = new SessionView(tables, id, back, save);
  view.id = id;
  $("one").replaceChildren(view.element);
  describe();
}

function describe() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (!view) return;
    view.row = list.all.get(view.id) || view.row;
    if (view.row) view.say(factsOf(view.row, view.look));
  });
}

function factsOf(row, look) {
  const owed = look?.owed.length ? look.owed.map((each) => `${each.kind} ${each.id} (${each.state}${each.stage ? `, ${each.stage}` : ""})`).join("; ") : "nothing";
  const journal = look ? `${look.journal.head} sequenced, ${look.journal.handed} handed, ${look.journal.trimmed} trimmed` : "–";
  return [
    ["state", chip(row.state)], ["attachment", chip(row.attachment)], ["lease", chip(row.lease)], ["generation", row.generation],
    ["epoch", row.epoch], ["requests", row.requests], ["owed", owed], ["journal", `${bytes(row.journal)}; ${journal}`],
    ["stale", look ? look.stale : "–"], ["last error", row.error || "none"],
  ];
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  connect($("token").value);
  $("token").value = "";
};
addEventListener("hashchange", route);
setInterval(() => $("sessions").hidden || list.tick(), 1000);

$("fields").disabled = false;
const known = sessionStorage.getItem("interlock.inspect");
if (known) connect(known);
else ask();
document.body.dataset.ready = "yes";
