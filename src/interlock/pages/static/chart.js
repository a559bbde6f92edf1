// A session's trace as a sequence chart: one line for each delivery, which can be scrolled and searched.

import { Arrows, LANES } from "./arrows.js";
import { h, s } from "./dom.js";
import { Rows } from "./rows.js";

const HIGH = 26;

export class Chart {
  // `onpick(index)` is told which record somebody chose.
  constructor(place, tables, onpick = null) {
    this.tables = tables;
    this.onpick = onpick;
    this.arrows = new Arrows(tables);
    this.visible = null;
    this.found = -1;
    this.picked = null;
    this.search = h("input", { type: "search", placeholder: "Search events, states, effects", "aria-label": "Search the chart", oninput: () => this.#seek(), onkeydown: (event) => this.#keys(event) });
    this.only = h("input", { type: "checkbox", onchange: () => this.#seek() });
    this.count = h("output", { class: "count", "aria-live": "polite" });
    const tools = h("div", { class: "tools", role: "search" }, this.search,
      h("button", { type: "button", onclick: () => this.#next(-1), "aria-label": "Previous match" }, "↑"),
      h("button", { type: "button", onclick: () => this.#next(1), "aria-label": "Next match" }, "↓"),
      h("label", {}, this.only, " only matches"), this.count);
    this.heads = h("div", { class: "lanes heads", "aria-hidden": "true" }, ...LANES.map((lane) => h("span", {}, lane)));
    const head = h("div", { class: "line head", "aria-hidden": "true" }, h("span", {}, "time"), this.heads, h("span", {}, "message"), h("span", {}, "comes to"));
    this.box = h("div", { class: "chart", role: "list", tabindex: "0", "aria-label": "Sequence chart, oldest first" });
    place.append(tools, h("div", { class: "scroller" }, head, this.box));
    this.rows = new Rows(this.box, HIGH, (number) => this.#line(number));
  }

  get #lines() {
    return this.visible || this.arrows.lines;
  }

  // Take records; `index` of the first one counts all records of the session.
  add(records, index) {
    const follow = this.rows.isAtEnd, before = this.arrows.lines.length;
    records.forEach((record, number) => this.arrows.take(record, index + number));
    if (this.#needle) this.#seek(false);
    this.rows.resize(this.#lines.length);
    this.rows.redraw(before - 1);
    if (follow && this.picked === null) this.rows.toEnd();
    else this.rows.draw();
    this.#tell();
  }

  clear() {
    this.arrows = new Arrows(this.tables);
    this.visible = null;
    this.rows.resize(0);
    this.rows.draw(true);
    this.#tell();
  }

  // Mark the lines of one record.
  point(index) {
    this.picked = index;
    const place = this.#lines.findIndex((line) => line.index >= index);
    this.rows.draw(true);
    if (place >= 0) this.rows.reveal(place);
  }

  get #needle() {
    return this.search.value.trim().toLowerCase();
  }

  #matches(line) {
    return !this.#needle || line.text.includes(this.#needle);
  }

  #seek(jump = true) {
    this.visible = this.#needle && this.only.checked ? this.arrows.lines.filter((line) => this.#matches(line)) : null;
    this.rows.resize(this.#lines.length);
    this.rows.draw(true);
    if (jump) {
      this.found = -1;
      if (this.#needle) this.#next(1);
    }
    this.#tell();
  }

  #next(step) {
    const lines = this.#lines, count = lines.length;
    for (let tried = 1, place = this.found; tried <= count; tried += 1) {
      place = (place + step + count) % count;
      if (!this.#needle || !this.#matches(lines[place])) continue;
      this.found = place;
      this.rows.draw(true);
      this.rows.reveal(place);
      return;
    }
  }

  #keys(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.#next(event.shiftKey ? -1 : 1);
    }
  }

  #tell() {
    const { lines } = this.arrows;
    const text = this.#needle ? `${lines.filter((line) => this.#matches(line)).length} of ${lines.length} lines` : `${lines.length} lines`;
    if (this.count.textContent !== text) this.count.textContent = text;
  }

  #line(number) {
    const line = this.#lines[number];
    const classes = ["line", line.moves && "moves", line.faint && "faint", line.bad && "bad", line.books && "books",
      this.#needle && this.#matches(line) && "match", number === this.found && this.#needle && "found", this.picked === line.index && "picked"];
    const pick = this.onpick ? { onclick: () => this.onpick(line.index) } : {};
    return h("div", { class: classes.filter(Boolean).join(" "), role: "listitem", "data-index": line.index, ...pick },
      h("span", { class: "at" }, line.at.toFixed(3)), picture(line),
      h("span", { class: "label", title: line.label }, line.label),
      h("span", { class: "result", title: line.result || "" }, line.result || ""));
  }
}

function picture(line) {
  const middle = (lane) => LANES.indexOf(lane) * 10 + 5, start = middle(line.start), end = middle(line.end);
  const drawing = s("svg", { class: "lanes", viewBox: "0 0 80 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...LANES.map((lane) => s("line", { x1: middle(lane), x2: middle(lane), y1: 0, y2: 10, class: "life" })));
  const over = h("span", { class: "lanes", role: "img", "aria-label": line.start === line.end ? line.end : `${line.start} to ${line.end}` }, drawing);
  const mark = h("span", { class: start === end ? "dot" : end > start ? "arrow right" : "arrow left" });
  mark.style.left = `${(Math.min(start, end) / 80) * 100}%`;
  if (start !== end) mark.style.width = `${(Math.abs(end - start) / 80) * 100}%`;
  over.append(mark);
  return over;
}
