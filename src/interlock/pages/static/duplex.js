// One session of the duplex dialect, as docs/wire.md has it: open, resume, acks. It keeps the last token and the last
// number that it received, and moves its position before it hands an event over.

const ACK_MS = 400;
const KEY = "openai-insecure-api-key."; // how a browser offers a key: it cannot set a header

export class Duplex {
  // `hear(event)` gets every event; `lost(why)` is called once when the connection is gone.
  constructor(hear, lost) {
    this.hear = hear;
    this.lost = lost;
    this.socket = null;
    this.id = null;
    this.token = null;
    this.generation = 0;
    this.position = 0;
    this.over = false;
    this.isAttached = false;
    this.key = "";
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  // What another page needs to take the session over.
  get credentials() {
    return { id: this.id, token: this.token, position: this.position };
  }

  open(config) {
    this.#connect(() => this.say({ type: "session.update", session: config }));
  }

  resume({ id, token, position } = this.credentials) {
    Object.assign(this, { id, token, position });
    this.#connect(() => this.#ask());
  }

  // Leave, and hear no more.
  close() {
    const { socket } = this;
    this.socket = null;
    socket?.close(1000, "left");
  }

  say(message) {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  #ask() {
    this.say({ type: "session.resume", session_id: this.id, resume_token: this.token, last_received_server_event_seq: this.position });
  }

  #connect(first) {
    this.isAttached = false;
    const where = new URL("/v1/duplex", location.href);
    where.protocol = where.protocol.replace("http", "ws");
    const socket = (this.socket = new WebSocket(where, this.key ? ["realtime", KEY + this.key] : []));
    socket.onopen = first;
    socket.onmessage = ({ data }) => socket === this.socket && this.#take(JSON.parse(data));
    socket.onclose = ({ code, reason }) => socket === this.socket && this.#closed(code, reason);
  }

  #take(event) {
    if (event.server_event_seq) {
      this.position = event.server_event_seq;
      this.due ??= setTimeout(() => this.#ack(), ACK_MS);
    }
    if (event.type === "session.created" || event.type === "session.resumed") {
      this.id = event.session_id;
      this.token = event.resume_token;
      this.generation = event.attachment_generation;
      this.isAttached = true;
      this.#ack();
    }
    if (event.type === "session.resync_required" && event.resumable) {
      this.position = event.resumable_from;
      if (!this.isAttached) this.#ask();
    }
    if (["session.closed", "session.expired", "session.replaced"].includes(event.type)) this.over = true;
    this.hear(event);
  }

  // An ack that names the generation proves that the new token was read.
  #ack() {
    clearTimeout(this.due);
    this.due = null;
    this.say({ type: "session.event_ack", server_event_seq: this.position, attachment_generation: this.generation });
  }

  #closed(code, reason) {
    clearTimeout(this.due);
    this.due = null;
    this.socket = null;
    this.lost({ code, reason, final: this.over || code === 4001 });
  }
}
