// The strings of a JavaScript puppet; see strings.py.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// The SDKs are installed beside the examples; those import them the modern way, the puppets the old one.
export const require = createRequire(new URL("../../../examples/clients/package.json", import.meta.url));

export function tell(type, fields = {}) {
  tellEvent({ type, ...fields });
}

export function tellEvent(event) {
  process.stdout.write(JSON.stringify(event) + "\n");
}

export async function obey(verbs) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...fields } = JSON.parse(line);
    await verbs[name](fields);
  }
  await verbs.close({});
}

// Where a client is in its session: what a resume needs, taken from the events as they come.
export class Place {
  session = "";
  token = "";
  lastSeq = 0;

  note(event) {
    if (event.resume_token) {
      if (event.session.id !== this.session) this.lastSeq = 0;
      this.session = event.session.id;
      this.token = event.resume_token;
    }
    this.lastSeq = event.server_event_seq ?? this.lastSeq;
  }

  put(url) {
    if (this.token) {
      url.searchParams.set("session_id", this.session);
      url.searchParams.set("resume_token", this.token);
      url.searchParams.set("last_received_server_event_seq", String(this.lastSeq));
    }
    return url;
  }
}
