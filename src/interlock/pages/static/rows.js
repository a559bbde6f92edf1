// A long list of which only what can be seen is in the page. All rows are equally high.

const SPARE = 8;

export class Rows {
  // `make(index)` returns the element of a row. `box` scrolls; it gets the roles that its caller wants.
  constructor(box, height, make) {
    this.box = box;
    this.height = height;
    this.make = make;
    this.count = 0;
    this.shown = new Map();
    this.tall = document.createElement("div");
    this.tall.className = "tall";
    this.tall.setAttribute("role", "presentation");
    box.append(this.tall);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  get isAtEnd() {
    return this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - this.height;
  }

  resize(count) {
    this.count = count;
    this.tall.style.height = `${count * this.height}px`;
  }

  // Draw what can be seen; with `anew`, also what is there already.
  draw(anew = false) {
    const first = Math.max(Math.floor(this.box.scrollTop / this.height) - SPARE, 0);
    const last = Math.min(Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + SPARE, this.count);
    for (const [index, element] of this.shown) {
      if (anew || index < first || index >= last) {
        if (element.contains(document.activeElement)) this.focused = index;
        element.remove();
        this.shown.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) if (!this.shown.has(index)) this.#show(index);
    this.focused = null;
  }

  // Draw one row anew, if it can be seen.
  redraw(index) {
    const old = this.shown.get(index);
    if (!old) return;
    const had = old.contains(document.activeElement);
    old.remove();
    this.#show(index);
    if (had) this.shown.get(index).focus({ preventScroll: true });
  }

  reveal(index) {
    const top = index * this.height;
    const room = this.box.clientHeight - this.height;
    if (top < this.box.scrollTop + 40 || top > this.box.scrollTop + room) this.box.scrollTop = top - room / 2;
    this.draw();
    return this.shown.get(index);
  }

  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
    this.draw();
  }

  #show(index) {
    const element = this.make(index);
    element.style.top = `${index * this.height}px`;
    const after = [...this.shown.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
    this.tall.insertBefore(element, after === undefined ? null : this.shown.get(after));
    this.shown.set(index, element);
    if (index === this.focused) element.focus({ preventScroll: true });
  }
}
