import { readFileSync } from 'node:fs';
import type { Frame } from 'node-av/lib';
import type { LiveEncodeJob, LiveEncodeResult, LiveOutput, LivePartInput } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import type { FedContext } from '../ipc/serve-jobs.js';
import { countReordered, LiveDecoder, splitSamples } from './live-decoder.js';
import { RungEncoder } from './rung-encoder.js';

/**
 * Encodes the rungs of a live stream until its inputs end.
 * @throws KinoraError `media_failed`
 */
export const encodeLive = async (
  job: LiveEncodeJob,
  { inputs, output }: FedContext<'live-encode'>,
): Promise<LiveEncodeResult> => {
  const live = new LiveEncoder(job, output);
  try {
    for await (const input of inputs) {
      if ('end' in input) break;
      live.take(input);
    }
    live.finishParts();
    return { decodedFrames: live.decodedFrames };
  } finally {
    live.close();
  }
};

/** One decoder and the encoders of the rungs that are asked for. */
class LiveEncoder {
  private decoder: LiveDecoder | undefined;
  private readonly encoders = new Map<string, RungEncoder>();

  constructor(
    private readonly job: LiveEncodeJob,
    private readonly output: (output: LiveOutput) => void,
  ) {}

  get decodedFrames(): number {
    return this.decoder?.frames ?? 0;
  }

  take(input: LivePartInput): void {
    if (input.restarts) this.finishParts();
    const { segment, part, samples } = input;
    const data = splitSamples(samples, readFileSync(input.path));
    this.decoder ??= new LiveDecoder(this.job, countReordered(samples), (frame, ticks) => this.push(frame, ticks));
    this.expect(input);
    samples.forEach((sample, index) => {
      this.decoder!.decode(sample, data[index]!);
      this.advance(false);
    });
    // Without reordering, the last frame of a part is known to be its last one at once.
    this.advance(this.decoder.isEmpty);
    this.output({ type: 'read', segment, part, decodedFrames: this.decodedFrames });
  }

  /** Encodes all that is expected; the encoders end. */
  finishParts(): void {
    this.decoder?.drain();
    for (const encoder of this.encoders.values()) {
      encoder.stop();
      encoder.flush();
    }
    this.advance(true);
  }

  close(): void {
    for (const encoder of this.encoders.values()) encoder.close();
    this.decoder?.close();
  }

  private push(frame: Frame, ticks: number): void {
    for (const encoder of this.encoders.values()) encoder.push(frame, ticks);
  }

  private expect({ segment, part, startTicks, endTicks, outputs }: LivePartInput): void {
    for (const [name, encoder] of this.encoders) if (!outputs.some(({ rung }) => rung === name)) encoder.stop();
    for (const { rung, outPath } of outputs) {
      const encoder = this.encoders.get(rung) ?? this.open(rung, startTicks);
      encoder.expect({ segment, part, startTicks, endTicks, outPath });
    }
  }

  private open(name: string, startTicks: number): RungEncoder {
    const rung = this.job.rungs.find((each) => each.name === name);
    if (!rung) throw failMedia('encode live video', `no rung ${name}`);
    const encoder = new RungEncoder(this.job, rung, startTicks, (part) =>
      this.output({ type: 'part', rung: name, ...part }),
    );
    this.encoders.set(name, encoder);
    return encoder;
  }

  private advance(isComplete: boolean): void {
    for (const [name, encoder] of this.encoders) {
      encoder.advance(isComplete);
      if (!encoder.isDone) continue;
      encoder.close();
      this.encoders.delete(name);
    }
  }
}
