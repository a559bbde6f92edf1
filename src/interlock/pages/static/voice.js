// The loudspeaker: pieces of PCM16 at 24 kHz are scheduled one after the other, can be thrown away at once, and it is
// known how much of each response was really played.

const RATE = 24000, LEAD_S = 0.06;

export class Voice {
  constructor(context) {
    this.context = context;
    this.pieces = [];
    this.done = new Map();
    this.free = 0;
    this.analyser = context.createAnalyser();
    this.analyser.fftSize = 1024;
    this.analyser.connect(context.destination);
    this.wave = new Float32Array(this.analyser.fftSize);
  }

  // Schedule a piece of a response behind what is scheduled already.
  play(response, base64) {
    const samples = samplesOf(base64);
    const buffer = this.context.createBuffer(1, samples.length, RATE);
    buffer.copyToChannel(samples, 0);
    const source = new AudioBufferSourceNode(this.context, { buffer });
    source.connect(this.analyser);
    const from = Math.max(this.free, this.context.currentTime + LEAD_S);
    source.start(from);
    this.free = from + buffer.duration;
    this.pieces.push({ response, source, from, to: this.free });
  }

  // Throw away what was not played yet. Returns how many seconds that were.
  flush() {
    const now = this.#now, left = Math.max(this.free - Math.max(now, this.pieces[0]?.from ?? now), 0);
    for (const piece of this.pieces) {
      piece.source.stop();
      piece.to = Math.max(Math.min(piece.to, now), piece.from);
    }
    this.#settle(Infinity);
    this.free = 0;
    return left;
  }

  // Milliseconds of each response that were heard: a map of those that are known.
  get heard() {
    const now = this.#now;
    this.#settle(now);
    const heard = new Map(this.done);
    for (const { response, from, to } of this.pieces) {
      heard.set(response, (heard.get(response) || 0) + Math.max(Math.min(now, to) - from, 0) * 1000);
    }
    return heard;
  }

  // The response that is being heard, if one is.
  get speaking() {
    this.#settle(this.#now);
    return this.pieces[0]?.response;
  }

  get level() {
    this.analyser.getFloatTimeDomainData(this.wave);
    return Math.sqrt(this.wave.reduce((sum, value) => sum + value * value, 0) / this.wave.length);
  }

  // What has left the loudspeaker, and not only our hands.
  get #now() {
    return this.context.currentTime - (this.context.outputLatency || 0);
  }

  #settle(now) {
    while (this.pieces.length && this.pieces[0].to <= now) {
      const { response, from, to } = this.pieces.shift();
      this.done.set(response, (this.done.get(response) || 0) + (to - from) * 1000);
      if (this.done.size > 16) this.done.delete(this.done.keys().next().value);
    }
  }
}

function samplesOf(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer), samples = new Float32Array(bytes.length >> 1);
  for (let index = 0; index < samples.length; index += 1) samples[index] = view.getInt16(index * 2, true) / 32768;
  return samples;
}
