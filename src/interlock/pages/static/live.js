// A second connection beside a session, or beside all of them: records as the server commits them.
//
// A frame of ours is an object with a `type`. A frame with records is lines, each as a trace file has it.

export class Live {
  // `records(list)` gets records, `told(message)` everything else; `lost(code, reason)` when it is over.
  constructor(path, first, { records, told = () => {}, lost = () => {} }) {
    const where = new URL(path, location.href);
    where.protocol = where.protocol.replace("http", "ws");
    const socket = (this.socket = new WebSocket(where));
    socket.onopen = () => this.say(first);
    socket.onclose = ({ code, reason }) => this.socket && lost(code, reason);
    socket.onmessage = ({ data }) => {
      if (data.startsWith('{"type"')) told(JSON.parse(data));
      else records(data.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
    };
  }

  say(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close() {
    const { socket } = this;
    this.socket = null;
    socket?.close(1000, "left");
  }
}
