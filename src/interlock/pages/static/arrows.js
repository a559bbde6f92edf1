// From records to the lines of a sequence chart: who sent what to whom, and what came of it.

import { reasonOf } from "./course.js";
import { short } from "./dom.js";

export const LANES = ["world", "session", "attachment", "lease", "fence", "response", "request", "runtime"];

const SILENT = new Set(["DisarmTimer", "StopWork"]);

export class Arrows {
  constructor(tables) {
    this.tables = new Map(tables.map((table) => [table.name, table]));
    this.lines = [];
    this.began = null;
  }

  // Append the lines of one record. What the data plane does between two events of the machines is one line.
  take(record, index) {
    this.began ??= record.at;
    const at = record.at - this.began;
    if (record.value) this.#add({ start: "world", end: "world", label: "the session as it was here", note: true, at, index });
    else if (record.voided) this.#voided(record, at, index);
    else if (record.refused) this.#refused(record, at, index);
    else if (!record.rows) this.#books(record, at, index);
    else this.#run(record, at, index);
  }

  #add(line) {
    line.text = `${line.label} ${line.result || ""} ${line.end} ${line.key || ""}`.toLowerCase();
    this.lines.push(line);
  }

  #voided(record, at, index) {
    const { unsent, sent } = record.voided;
    this.#add({ start: "runtime", end: "runtime", label: `frees ${unsent.length} unsent and ${sent.length} sent deltas`, at, index });
  }

  #refused(record, at, index) {
    this.#add({ start: "world", end: "session", label: reasonOf(record.event), result: `refused: ${record.refused}`, bad: true, at, index });
  }

  #books(record, at, index) {
    const last = this.lines.at(-1), name = record.event?.type || "nothing";
    if (last?.books) {
      last.books.set(name, (last.books.get(name) || 0) + 1);
      last.index = index;
      last.label = [...last.books].map(([each, count]) => `${count} ${each}`).join(", ");
      last.text = last.label.toLowerCase();
    } else this.#add({ start: "world", end: "world", label: `1 ${name}`, books: new Map([[name, 1]]), at, index });
  }

  #run(record, at, index) {
    const senders = [];
    for (const row of record.rows) {
      const table = this.tables.get(row.machine), emit = (row.row != null && table?.rows[row.row]?.emit) || [];
      const start = senderOf(row.event.type, senders);
      this.#add({ start, end: row.machine, key: row.key, label: reasonOf(row.event), at, index, ...resultOf(row, table) });
      senders.push({ machine: row.machine, emit });
    }
    const done = (record.effects || []).filter((effect) => !SILENT.has(effect.type)).map(effectOf);
    if (done.length) this.#add({ start: "runtime", end: "runtime", label: done.join(", "), at, index });
  }
}

// A run is depth first: the last one that emits it sent it, once those after it have said all.
function senderOf(name, senders) {
  for (let index = senders.length - 1; index >= 0; index -= 1) {
    if (!senders[index].emit.includes(name)) continue;
    senders.length = index + 1;
    return senders[index].machine;
  }
  return "world";
}

function resultOf(row, table) {
  const key = row.key == null ? "" : `${short(row.key)}: `;
  if (row.row == null) return { result: `${key}stale`, faint: true };
  const moves = table?.rows[row.row]?.to || row.from !== row.to;
  if (!moves) return { result: `${key}stays ${row.to}`, faint: true };
  return { result: `${key}${row.from || "new"} → ${row.to}`, moves: true };
}

function effectOf(effect) {
  if (effect.type === "ArmTimer") return `timer ${effect.event} ${effect.after}`;
  if (effect.type === "StartWork") return `starts ${effect.work}`;
  return effect.kind ? `${effect.type} ${effect.kind}` : effect.type;
}
