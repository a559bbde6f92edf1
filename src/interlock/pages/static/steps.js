// The last transitions of a session, newest first, each with its reason.

import { reasonOf } from "./course.js";
import { h, short } from "./dom.js";

export class Steps {
  constructor(list, kept = 40) {
    this.list = list;
    this.kept = kept;
    this.seen = null;
  }

  show(course) {
    const steps = course.transitions.slice(-this.kept).reverse();
    if (steps[0] === this.seen && steps.length) return;
    const fresh = this.seen ? steps.findIndex((step) => step === this.seen) : -1;
    this.seen = steps[0] || null;
    if (fresh < 0) this.list.replaceChildren(...steps.map(item));
    else {
      this.list.prepend(...steps.slice(0, fresh).map(item));
      while (this.list.children.length > this.kept) this.list.lastChild.remove();
    }
  }
}

function item(step) {
  if (step.refused) {
    return h("li", { class: "refused" }, h("b", {}, "refused"), h("span", { class: "move" }, step.refused), h("span", { class: "why" }, reasonOf(step.event)));
  }
  const name = step.key == null ? step.machine : `${step.machine} ${short(step.key)}`;
  return h("li", { "data-machine": step.machine }, h("b", {}, name),
    h("span", { class: "move" }, `${step.from || "new"} → ${step.to}`), h("span", { class: "why" }, reasonOf(step.event)));
}
