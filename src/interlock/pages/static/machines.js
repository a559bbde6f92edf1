// A machine as a line with stations: its states in a column, in the order of the machine file. What leads to the next
// state is the line itself; what skips states runs along a track beside it, down on the right and up on the left, and
// all ways into one state share a track. Everything is drawn from the tables that the server runs, so that there is
// no layout to keep.

import { h, s, short } from "./dom.js";

const WIDE = 122, HIGH = 36, STEP = 62, LANE = 12, ROOM = 14;

export class Machines {
  constructor(place, tables, names) {
    this.drawings = new Map();
    for (const name of names) {
      const drawing = new Drawing(tables.find((table) => table.name === name));
      this.drawings.set(name, drawing);
      place.append(drawing.figure);
    }
  }

  // `course` is a Course: who is in which state, and the last transition.
  light(course) {
    for (const drawing of this.drawings.values()) drawing.light(course);
  }
}

class Drawing {
  constructor(table) {
    this.table = table;
    this.index = new Map(table.states.map((state, index) => [state.name, index]));
    const ways = waysOf(table, this.index);
    const right = lanesOf(ways.filter((way) => way.side > 0));
    const left = lanesOf(ways.filter((way) => way.side < 0));
    this.x = ROOM + left.count * LANE;
    const width = this.x + WIDE + right.count * LANE + ROOM;
    const height = (table.states.length - 1) * STEP + HIGH + 6;
    this.ways = new Map();
    const tracks = s("g", { class: "tracks" });
    for (const way of ways) {
      const lanes = way.side > 0 ? right : left;
      const path = s("path", { d: this.#path(way, lanes), class: way.cancel ? "way cancel" : "way" },
        s("title", {}, `${way.from} → ${way.to}: ${[...way.causes].join(", ")}`));
      this.ways.set(`${way.from} ${way.to}`, path);
      tracks.append(path);
    }
    this.boxes = new Map(table.states.map((state, index) => [state.name, this.#box(state, index)]));
    const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
      tracks, ...[...this.boxes.values()].map((box) => box.group));
    this.said = h("p", { class: "said" });
    this.figure = h("figure", { class: "machine", "data-machine": table.name, title: table.doc },
      h("figcaption", {}, table.name), h("div", { class: "picture" }, picture), this.said);
  }

  #box(state, index) {
    const y = index * STEP + 3, round = state.kind === "final" ? HIGH / 2 : 7;
    const frame = { x: this.x, y, width: WIDE, height: HIGH, rx: round };
    const inner = { x: this.x + 3, y: y + 3, width: WIDE - 6, height: HIGH - 6, rx: Math.max(round - 3, 0) };
    const middle = this.x + WIDE / 2;
    const name = s("text", { x: middle, y: y + HIGH / 2 + 4, class: "name" }, state.name);
    const keys = s("text", { x: middle, y: y + HIGH - 7, class: "keys" });
    const twice = state.kind !== "rest";
    const id = `state-${this.table.name}-${state.name}`;
    const group = s("g", { id, class: `state ${state.kind}`, "data-state": state.name },
      s("title", {}, state.doc || state.name), s("rect", frame), twice && s("rect", { ...inner, class: "inner" }), name, keys);
    return { group, name, keys, y: y + HIGH / 2 + 4 };
  }

  #path(way, lanes) {
    const { x } = this, from = way.start * STEP + 3, to = way.end * STEP + 3;
    if (way.side === 0) {
      const middle = x + WIDE / 2;
      return `M${middle} ${from + HIGH}V${to} ${head(middle, to, 0, 1)}`;
    }
    const edge = way.side > 0 ? x + WIDE : x, track = edge + way.side * (lanes.of.get(way.to) * LANE + LANE);
    const out = from + HIGH / 2 + (way.start === way.end ? 7 : way.side * 5), into = to + HIGH / 2 - (way.start === way.end ? 7 : way.side * 5);
    const turn = Math.sign(into - out) * 5, bend = way.side * 5;
    return `M${edge} ${out}H${track - bend}Q${track} ${out} ${track} ${out + turn}V${into - turn}` +
      `Q${track} ${into} ${track - bend} ${into}H${edge} ${head(edge, into, -way.side, 0)}`;
  }

  light(course) {
    const now = course.now(this.table);
    for (const [state, box] of this.boxes) {
      const keys = now.get(state), was = course.ended.get(this.table.name);
      const left = !keys && was && was.state === state;
      box.group.classList.toggle("lit", Boolean(keys));
      box.group.classList.toggle("was", Boolean(left));
      const named = (keys || (left ? [was.key] : [])).filter((key) => key !== null).map(short);
      box.keys.textContent = named.length > 3 ? `${named.length} of them` : named.join(", ");
      box.name.setAttribute("y", named.length ? box.y - 6 : box.y);
    }
    const last = course.last.get(this.table.name);
    this.taken?.classList.remove("taken");
    this.taken = last && this.ways.get(`${last.from} ${last.to}`);
    this.taken?.classList.add("taken");
    this.taken?.parentNode.append(this.taken);
    const words = [...now].map(([state, keys]) => (keys[0] === null ? state : `${state}: ${keys.map(short).join(", ")}`));
    this.said.textContent = words.join("; ") || (course.known ? "none now" : "");
  }
}

// The ways between states, one for each pair, with everything that can cause it.
function waysOf(table, index) {
  const ways = new Map();
  for (const row of table.rows) {
    if (!row.to || !row.from) continue;
    const start = index.get(row.from), end = index.get(row.to), ends = `${row.from} ${row.to}`;
    const side = end === start + 1 ? 0 : end > start ? 1 : -1;
    if (!ways.has(ends)) ways.set(ends, { from: row.from, to: row.to, start, end, side, cancel: true, causes: new Set() });
    const way = ways.get(ends);
    way.cancel &&= Boolean(row.cancel);
    way.causes.add(row.cancel ? "cancel" : row.guard ? `${row.event} [${row.guard}]` : row.event);
  }
  return [...ways.values()];
}

// A track for each state that is led to. Those that would lie on each other lie side by side, short ones inside.
function lanesOf(ways) {
  const spans = new Map();
  for (const { to, start, end } of ways) {
    const span = spans.get(to) || [Infinity, -Infinity];
    spans.set(to, [Math.min(span[0], start, end), Math.max(span[1], start, end)]);
  }
  const of = new Map(), taken = [];
  for (const [to, [top, low]] of [...spans].sort((a, b) => (a[1][1] - a[1][0]) - (b[1][1] - b[1][0]))) {
    let lane = 0;
    while ((taken[lane] || []).some(([t, l]) => top <= l && t <= low)) lane += 1;
    (taken[lane] ||= []).push([top, low]);
    of.set(to, lane);
  }
  return { of, count: taken.length };
}

function head(x, y, dx, dy) {
  const [a, b] = [x - 6 * dx, y - 6 * dy];
  return `M${a + 3.5 * dy} ${b + 3.5 * dx}L${x} ${y}L${a - 3.5 * dy} ${b - 3.5 * dx}`;
}
