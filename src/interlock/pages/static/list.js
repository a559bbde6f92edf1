// The list of sessions: thousands of rows, of which only those that can be seen are in the page.

import { bytes, h, seconds } from "./dom.js";
import { Rows } from "./rows.js";

const HIGH = 34;

const TONES = {
  OPEN: "good", OPENING: "wait", CLOSING: "wait", QUARANTINED: "bad",
  ATTACHED: "good", ACTIVATING: "wait", REPLAYING: "wait", ROLLED_BACK: "bad", DETACHED: "wait",
  HELD: "good", GRACE: "wait",
};

export const FIELDS = ["session", "state", "attachment", "lease", "generation", "epoch", "requests", "owed", "owes", "journal", "began", "changed", "error"];

const COLUMNS = [
  ["session", "Session", (row) => h("span", { class: "id", title: row.session }, row.session.replace("sess_", ""))],
  ["state", "State", (row) => chip(row.state)],
  ["attachment", "Attachment", (row) => chip(row.attachment)],
  ["generation", "Gen.", (row) => row.generation, "number"],
  ["lease", "Lease", (row) => chip(row.lease)],
  ["epoch", "Epoch", (row) => row.epoch, "number"],
  ["owed", "Owes", (row) => (row.owed ? h("b", { class: "owing" }, `${row.owed} · ${row.owes}`) : "–")],
  ["requests", "Holds", (row) => row.requests, "number"],
  ["journal", "Journal", (row) => (row.journal === null ? "–" : bytes(row.journal)), "number"],
  ["age", "Age", (row, now) => seconds(ageOf(row, now)), "number"],
  ["error", "Last error", (row) => h("span", { class: "error", title: row.error }, row.error)],
];

export class SessionList {
  // `open(id)` is called when somebody chooses a session. `clock()` returns the server's time now.
  constructor(place, open, clock) {
    this.open = open;
    this.clock = clock;
    this.all = new Map();
    this.order = [];
    this.sort = ["age", 1];
    this.filter = h("input", { type: "search", placeholder: "Filter: an id, a state, a stage, an error", "aria-label": "Filter the sessions", oninput: () => this.arrange() });
    this.count = h("output", { "aria-live": "polite" });
    this.heads = COLUMNS.map(([name, label, , kind]) => h("div", { role: "columnheader", class: kind, "data-column": name }, h("button", { type: "button", onclick: () => this.#by(name) }, label)));
    this.box = h("div", { class: "box", role: "rowgroup" });
    this.table = h("div", { class: "wide", role: "table", "aria-label": "Sessions" }, h("div", { role: "rowgroup" }, h("div", { class: "entry heads", role: "row" }, ...this.heads)), this.box);
    place.append(h("div", { class: "finder", role: "search" }, this.filter, this.count), h("div", { class: "list" }, h("div", { class: "sides" }, this.table)));
    this.rows = new Rows(this.box, HIGH, (number) => this.#entry(number));
  }

  // Replace everything.
  fill(rows) {
    this.all = new Map(rows.map((row) => [row.session, row]));
    this.arrange();
  }

  // Take what has changed. The order is kept where nothing that it is made of has changed.
  change(rows, gone) {
    const [by] = this.sort;
    let anew = gone.length > 0 || this.filter.value !== "";
    for (const row of rows) {
      const before = this.all.get(row.session);
      anew ||= !before || (by !== "age" && before[by] !== row[by]);
      this.all.set(row.session, row);
    }
    gone.forEach((id) => this.all.delete(id));
    if (anew) return this.arrange();
    const changed = new Set(rows.map((row) => row.session));
    for (const number of [...this.rows.shown.keys()]) if (changed.has(this.order[number])) this.rows.redraw(number);
  }

  arrange() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean), [by, way] = this.sort, now = this.clock();
    const value = (row) => (by === "age" ? ageOf(row, now) : row[by]);
    const rows = [...this.all.values()].filter((row) => words.every((word) => textOf(row).includes(word)));
    rows.sort((a, b) => way * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) || (a.session < b.session ? -1 : 1));
    this.order = rows.map((row) => row.session);
    this.heads.forEach((head) => head.setAttribute("aria-sort", head.dataset.column === by ? (way > 0 ? "ascending" : "descending") : "none"));
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    const text = `${rows.length} of ${this.all.size} sessions`;
    if (this.count.textContent !== text) this.count.textContent = text;
    this.rows.resize(rows.length);
    this.rows.draw(true);
  }

  // Ages go on by themselves.
  tick() {
    const now = this.clock();
    for (const [number, entry] of this.rows.shown) {
      const row = this.all.get(this.order[number]);
      if (row) entry.querySelector("[data-age]").textContent = seconds(ageOf(row, now));
    }
  }

  #by(name) {
    this.sort = [name, this.sort[0] === name ? -this.sort[1] : name === "session" || name === "age" ? 1 : -1];
    this.arrange();
  }

  #entry(number) {
    const row = this.all.get(this.order[number]), now = this.clock();
    const cells = COLUMNS.map(([name, , show, kind]) => h("div", { role: "cell", class: kind, "data-age": name === "age" }, show(row, now)));
    const choose = () => this.open(row.session);
    return h("div", {
      class: "entry", role: "row", tabindex: "0", "aria-rowindex": number + 2, "data-session": row.session,
      onclick: choose, onkeydown: (event) => this.#keys(event, number, choose),
    }, ...cells);
  }

  #keys(event, number, choose) {
    const to = { ArrowDown: number + 1, ArrowUp: number - 1, Home: 0, End: this.order.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") choose();
    else if (to === undefined || to < 0 || to >= this.order.length) return;
    else this.rows.reveal(to).focus({ preventScroll: true });
    event.preventDefault();
  }
}

function ageOf(row, now) {
  return Math.max((row.state === "CLOSED" ? row.changed : now) - row.began, 0);
}

function textOf(row) {
  return `${row.session} ${row.state} ${row.attachment} ${row.lease} ${row.owes ? `owes ${row.owes}` : ""} ${row.error}`.toLowerCase();
}

export function chip(state) {
  return h("span", { class: "chip", "data-tone": TONES[state] || "" }, state);
}
