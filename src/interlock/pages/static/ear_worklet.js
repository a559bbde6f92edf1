// Runs on the audio thread: the microphone, at whatever rate it has, becomes PCM16 at 16 kHz, 40 ms at a time.
// A windowed sinc keeps out what 16 kHz cannot hold.

const RATE = 16000, FRAME = 640, WING = 16;

class Ear extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / RATE;
    this.cut = Math.min(1, 0.95 / this.step);
    this.kept = new Float32Array(0);
    this.at = WING * this.step;
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.power = 0;
  }

  process([input]) {
    if (!input.length) return true;
    const channel = input[0], heard = new Float32Array(this.kept.length + channel.length);
    heard.set(this.kept);
    heard.set(channel, this.kept.length);
    const wing = WING * this.step;
    for (; this.at + wing < heard.length; this.at += this.step) this.push(this.sample(heard, this.at, wing));
    const gone = Math.max(Math.floor(this.at - wing), 0);
    this.kept = heard.slice(gone);
    this.at -= gone;
    return true;
  }

  sample(heard, at, wing) {
    let sum = 0, weight = 0;
    for (let index = Math.ceil(at - wing); index <= at + wing; index += 1) {
      const away = index - at, phase = Math.PI * away * this.cut;
      const sinc = phase === 0 ? 1 : Math.sin(phase) / phase;
      const tap = sinc * (0.5 + 0.5 * Math.cos((Math.PI * away) / wing));
      sum += tap * (heard[index] || 0);
      weight += tap;
    }
    return sum / weight;
  }

  push(value) {
    const clear = Math.max(-1, Math.min(1, value));
    this.frame[this.filled] = clear * 32767;
    this.power += clear * clear;
    this.filled += 1;
    if (this.filled < FRAME) return;
    const frame = this.frame;
    this.port.postMessage({ pcm: frame.buffer, level: Math.sqrt(this.power / FRAME) }, [frame.buffer]);
    this.frame = new Int16Array(FRAME);
    this.filled = this.power = 0;
  }
}

registerProcessor("ear", Ear);
