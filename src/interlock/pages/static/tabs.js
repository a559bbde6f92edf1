// Other tabs of this browser. What one needs to take a session over goes from tab to tab, and is stored nowhere.

const PATIENCE_MS = 2000;

export class Tabs {
  // `changed()`: there is a session to be had, or none any more. `give()` returns what another tab needs of ours.
  // `take(given)` gets what another tab gave; `unheard()` is called when that tab does not answer.
  constructor({ changed, give, take, unheard }) {
    Object.assign(this, { changed, give, take, unheard });
    this.me = String(crypto.getRandomValues(new Uint32Array(2))); // randomUUID is for https only
    this.isOpen = false;
    this.offer = null;
    this.channel = new BroadcastChannel("interlock.talk");
    this.channel.onmessage = ({ data }) => this.#hear(data);
    this.channel.postMessage({ who: this.me });
    addEventListener("pagehide", () => this.announce(false));
  }

  // Tell the others whether this tab has a session.
  announce(isOpen) {
    if (isOpen === this.isOpen) return;
    this.isOpen = isOpen;
    this.channel.postMessage(isOpen ? { here: this.me } : { gone: this.me });
  }

  // Ask the tab that has a session for it.
  ask() {
    this.channel.postMessage({ hand: this.offer, to: this.me });
    this.waiting = setTimeout(() => this.#forget() || this.unheard(), PATIENCE_MS);
  }

  #hear(data) {
    if (data.who && this.isOpen) this.channel.postMessage({ here: this.me });
    else if (data.here) this.#remember(data.here);
    else if (data.gone && data.gone === this.offer) this.#forget();
    else if (data.hand === this.me && this.isOpen) this.channel.postMessage({ given: this.give(), to: data.to });
    else if (data.given && data.to === this.me) this.#taken(data.given);
  }

  #taken(given) {
    clearTimeout(this.waiting);
    this.#forget();
    this.take(given);
  }

  #remember(offer) {
    this.offer = offer;
    this.changed();
  }

  #forget() {
    this.offer = null;
    this.changed();
  }
}
