// One session: its machines lit, its last transitions, and its trace as a chart; now, or at any record of it.

import { Chart } from "./chart.js";
import { Course } from "./course.js";
import { h } from "./dom.js";
import { Machines } from "./machines.js";
import { Steps } from "./steps.js";

const KEPT = 20000;

export class SessionView {
  // `actions` are buttons of whoever shows the session.
  constructor(tables, id, ...actions) {
    this.tables = tables;
    this.records = [];
    this.base = new Course(tables); // how it was before the first record that is kept
    this.course = this.base.copy();
    this.at = null;
    this.facts = h("dl", {});
    const machines = h("div", { class: "machines" }), chart = h("div", {}), steps = h("ol", { class: "steps" });
    this.slider = h("input", { type: "range", min: 1, max: 1, value: 1, "aria-label": "Record", oninput: () => this.pick(Number(this.slider.value) - 1) });
    this.where = h("output", {}, "");
    this.now = h("button", { type: "button", disabled: true, onclick: () => this.pick(null) }, "Latest");
    this.element = h("article", { class: "view" },
      h("header", {}, h("h1", {}, id), h("div", { class: "actions" }, ...actions)),
      this.facts,
      h("section", { class: "card", "aria-label": "Machines" }, machines, h("div", { class: "moment" }, this.slider, this.where, this.now)),
      h("section", { class: "card", "aria-label": "Trace" }, chart),
      h("section", { class: "card", "aria-label": "Last transitions" }, h("h2", {}, "Last transitions"), steps));
    this.machines = new Machines(machines, tables, tables.map((table) => table.name));
    this.chart = new Chart(chart, tables, (index) => this.pick(index));
    this.steps = new Steps(steps);
    this.#show(this.course);
  }

  take(records) {
    const before = this.records.length;
    this.records.push(...records);
    if (this.records.length > KEPT) return this.#trim();
    records.forEach((record) => this.course.take(record));
    this.chart.add(records, before);
    if (this.at === null) this.#show(this.course);
    this.#tell();
  }

  // Show the session as it was after one record; `null` is the last one there is.
  pick(index) {
    this.at = index === null || index >= this.records.length - 1 ? null : index;
    const course = this.at === null ? this.course : this.base.copy();
    if (this.at !== null) this.records.slice(0, this.at + 1).forEach((record) => course.take(record));
    this.steps.seen = null;
    this.#show(course);
    this.chart.point(this.at);
    this.#tell();
  }

  // Begin anew: everything will be told again.
  restart() {
    this.base = new Course(this.tables);
    this.#begin([]);
  }

  say(facts) {
    this.facts.replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  // Keep the later half.
  #trim() {
    const gone = this.records.splice(0, this.records.length - KEPT / 2);
    gone.forEach((record) => this.base.take(record));
    this.#begin(this.records);
  }

  #begin(records) {
    this.records = [];
    this.course = this.base.copy();
    this.chart.clear();
    this.at = null;
    this.take(records);
  }

  #show(course) {
    this.machines.light(course);
    this.steps.show(course);
  }

  #tell() {
    const count = this.records.length, place = this.at === null ? count : this.at + 1;
    this.slider.max = Math.max(count, 1);
    this.slider.value = place;
    this.now.disabled = this.at === null;
    this.where.textContent = this.at === null ? `after all ${count} records` : `as it was after record ${place} of ${count}`;
  }
}
