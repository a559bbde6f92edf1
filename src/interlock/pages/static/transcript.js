// What is said, as text: one bubble for each utterance, which a screen reader hears when it is whole.

import { h } from "./dom.js";

export class Transcript {
  constructor(log) {
    this.log = log;
    this.open = new Map();
  }

  // The bubble of an utterance that is not over; it begins with the first call.
  bubble(id, who) {
    let element = this.open.get(id);
    if (!element) {
      element = h("div", { class: `bubble ${who}`, "data-who": who, "aria-busy": "true" }, h("p"));
      this.open.set(id, element);
      this.#append(element);
    }
    return element;
  }

  append(id, who, text) {
    this.bubble(id, who).firstChild.append(text);
    this.#scroll();
  }

  // The utterance is whole; `note` says how it ended, where not well.
  end(id, who, { text = null, note = "" } = {}) {
    const element = this.bubble(id, who);
    if (text !== null) element.firstChild.textContent = text;
    if (note) element.append(h("small", {}, note));
    element.classList.toggle("cut", note !== "");
    element.removeAttribute("aria-busy");
    this.open.delete(id);
  }

  remark(text) {
    this.#append(h("p", { class: "remark" }, text));
  }

  // Everything that was said, and back.
  get texts() {
    return [...this.log.querySelectorAll(".bubble")].map((each) => [each.dataset.who, each.firstChild.textContent]);
  }

  set texts(texts) {
    this.log.replaceChildren();
    this.open.clear();
    texts.forEach(([who, text], number) => this.end(`before ${number}`, who, { text }));
  }

  #append(element) {
    this.log.querySelector(".hint")?.remove();
    this.log.append(element);
    this.#scroll();
  }

  #scroll() {
    this.log.scrollTop = this.log.scrollHeight;
  }
}
