// A trace as one file: what a replay says of it, and the inspector's views of its sessions.

import { Course, reasonOf } from "./course.js";
import { $, h } from "./dom.js";
import { SessionList, chip } from "./list.js";
import { SessionView } from "./view.js";

const { machines: tables, sessions, verdict, report, note } = JSON.parse($("data").textContent);
const last = Math.max(0, ...sessions.map(({ records }) => records.at(-1)?.at ?? 0));
const list = new SessionList($("sessions"), (id) => (location.hash = id), () => last);
const OWING = new Set(["ABORTING", "OWED"]);
const WRONG = /Failed|Refused|Overdue|Owed|Lost$/;

const VERDICTS = {
  conforms: "Every record is what the tables say.",
  parts: "The trace parts from the tables.",
  incomplete: "The trace cannot be judged to its end.",
};

function rowOf({ id, records }) {
  const course = new Course(tables), states = (name) => [...course.now(tables.find((table) => table.name === name)).keys()];
  let generation = 0, epoch = 0, error = "";
  for (const record of records) {
    course.take(record);
    generation = Math.max(generation, record.event?.generation || 0, cellOf(record.value, "attachment")?.generation || 0);
    epoch = Math.max(epoch, record.value?.epoch || 0, ...(record.rows || []).map((row) => (row.machine === "fence" ? row.key : 0)));
    const wrong = record.refused ? `refused ${record.event?.type}: ${record.refused}` : (record.rows || []).filter((row) => WRONG.test(row.event.type) && row.event.type !== "TransportLost").map((row) => reasonOf(row.event))[0];
    error = wrong || error;
  }
  const requests = [...course.cells].filter(([address]) => address.startsWith("request "));
  const owed = requests.filter(([, cell]) => OWING.has(cell.state)).length;
  return {
    session: id, state: states("session")[0] || "", attachment: states("attachment")[0] || "", lease: states("lease")[0] || "",
    generation, epoch,
    requests: requests.length, owed, owes: owed ? "a stage" : "", journal: null,
    began: records[0]?.at ?? 0, changed: records.at(-1)?.at ?? 0, error, records: records.length,
  };
}

function cellOf(value, machine) {
  return value?.cells.find(([name]) => name === machine)?.[3];
}

function route() {
  const only = sessions.length === 1 ? sessions[0].id : "", id = decodeURIComponent(location.hash.slice(1)) || only;
  const session = sessions.find((each) => each.id === id), row = list.all.get(id);
  $("sessions").hidden = Boolean(session);
  $("one").hidden = !session;
  if (!session) return list.arrange();
  const back = only ? [] : [h("button", { type: "button", onclick: () => (location.hash = "") }, "All sessions")];
  const view = new SessionView(tables, id, ...back);
  $("one").replaceChildren(view.element);
  view.take(session.records);
  view.say([
    ["state", chip(row.state)], ["attachment", chip(row.attachment)], ["lease", chip(row.lease)], ["generation", row.generation],
    ["epoch", row.epoch], ["requests", row.requests], ["records", row.records], ["last error", row.error || "none"],
  ]);
}

$("verdict-title").textContent = VERDICTS[verdict];
$("report").textContent = [report, note].filter(Boolean).join("\n");
list.fill(sessions.map(rowOf));
addEventListener("hashchange", route);
route();
document.body.dataset.ready = "yes";
