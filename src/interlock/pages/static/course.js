// The course of one session, followed through the records of a trace: who is in which state, and how it came there.

const KEPT = 200;

export class Course {
  constructor(tables) {
    this.tables = new Map(tables.map((table) => [table.name, table]));
    this.clear();
  }

  clear() {
    this.cells = new Map();
    this.last = new Map();
    this.ended = new Map();
    this.transitions = [];
    this.value = null;
    this.known = false;
    this.at = 0;
  }

  // Another course that goes on from here.
  copy() {
    const other = new Course([...this.tables.values()]);
    Object.assign(other, { value: this.value, known: this.known, at: this.at, transitions: [...this.transitions] });
    for (const name of ["cells", "last", "ended"]) other[name] = new Map(this[name]);
    return other;
  }

  take(record) {
    this.at = record.at;
    if (record.value) this.#begin(record.value);
    for (const row of record.rows || []) this.#row(row, record);
    if (record.refused) this.#note({ at: record.at, machine: "", refused: record.refused, event: record.event });
  }

  // State, then the keys of those who are in it; [null] for a machine that exists once.
  now(table) {
    const found = new Map();
    for (const [address, { state, key }] of this.cells) {
      if (!address.startsWith(`${table.name} `)) continue;
      found.set(state, [...(found.get(state) || []), key]);
    }
    return found;
  }

  #begin(value) {
    this.value = value;
    this.known = true;
    this.cells.clear();
    for (const [machine, key, state] of value.cells) this.cells.set(`${machine} ${key}`, { state, key });
  }

  #row(row, record) {
    const table = this.tables.get(row.machine);
    if (!table || !row.to || row.row == null) return;
    const address = `${row.machine} ${row.key}`;
    if (table.per && table.final.includes(row.to)) {
      this.cells.delete(address);
      this.ended.set(row.machine, { state: row.to, key: row.key });
    } else {
      this.cells.set(address, { state: row.to, key: row.key });
      if (table.per) this.ended.delete(row.machine);
    }
    if (row.from === row.to && !table.rows[row.row]?.to) return;
    const step = { at: record.at, machine: row.machine, key: row.key, from: row.from, to: row.to, event: row.event };
    this.last.set(row.machine, step);
    this.#note(step);
  }

  #note(step) {
    this.transitions.push(step);
    if (this.transitions.length > KEPT) this.transitions.shift();
  }
}

// Why something happened: the message, and what it says of its reason.
export function reasonOf(event) {
  if (!event) return "";
  if (event.type === "Cancelled") return "the caller was cancelled";
  const why = event.reason || (event.verdict && event.verdict !== "accepted" ? event.verdict : "");
  return why ? `${event.type}: ${why}` : event.type;
}
