// The microphone: 40 ms of PCM16 at 16 kHz at a time, and how loud it is.

export class Ear {
  // `hear(base64, level)` gets each piece; `level` is the root mean square, 0 to 1.
  constructor(context, hear) {
    this.context = context;
    this.hear = hear;
  }

  get isOpen() {
    return Boolean(this.stream);
  }

  async open() {
    if (!navigator.mediaDevices) throw new Error("a browser gives the microphone to https or localhost only");
    const wanted = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    const stream = await navigator.mediaDevices.getUserMedia({ audio: wanted });
    await this.context.audioWorklet.addModule("/pages/ear_worklet.js");
    this.stream = stream;
    this.source = this.context.createMediaStreamSource(stream);
    this.node = new AudioWorkletNode(this.context, "ear", { numberOfOutputs: 0 });
    this.node.port.onmessage = ({ data }) => this.stream && this.hear(base64Of(new Uint8Array(data.pcm)), data.level);
    this.source.connect(this.node);
  }

  close() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.source?.disconnect();
    this.stream = null;
  }
}

function base64Of(bytes) {
  return btoa(String.fromCharCode(...bytes));
}
