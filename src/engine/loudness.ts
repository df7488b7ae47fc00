import { AV_BUFFERSRC_FLAG_KEEP_REF, AVERROR_EOF } from 'node-av/constants';
import { avChannelLayoutDescribe, avGetSampleFmtName, type FilterContext, FilterGraph, type Frame } from 'node-av/lib';
import type { LoudnessJob, LoudnessResult } from '../pool/protocol.js';
import { check, failMedia, isDrained, newFrame, newPacket } from './av.js';
import { openDecoder, openSource, readOnly, streamAt } from './open-source.js';

/** EBU R128: nothing below this counts, and silence measures as this. */
const SILENCE_LUFS = -70;
/** Below every sample that 24 bits can hold. */
const SILENCE_DBTP = -150;

/**
 * Integrated loudness and true peak of a whole audio stream (ITU-R BS.1770, EBU R128).
 * @throws KinoraError `media_failed`
 */
export const measureLoudness = (job: LoudnessJob): LoudnessResult => {
  const format = openSource(job.source);
  const meter = new Meter();
  const packet = newPacket();
  const frame = newFrame();
  try {
    const stream = streamAt(format, job.streamIndex);
    readOnly(format, [job.streamIndex]);
    const decoder = openDecoder(stream, 1);
    const receive = (): void => {
      for (;;) {
        // Damaged packets are left out: the measure of the rest still holds.
        if (decoder.receiveFrameSync(frame) < 0) return;
        meter.add(frame);
        frame.unref();
      }
    };
    try {
      for (;;) {
        const code = format.readFrameSync(packet);
        if (code === AVERROR_EOF || code < 0) break;
        if (packet.streamIndex === job.streamIndex) {
          decoder.sendPacketSync(packet);
          receive();
        }
        packet.unref();
      }
      decoder.sendPacketSync(null);
      receive();
    } finally {
      decoder.freeContext();
    }
    return meter.finish();
  } finally {
    meter.free();
    frame.free();
    packet.free();
    format.closeInputSync();
  }
};

/** The `ebur128` filter, built from the first frame; it writes what it has measured so far into each frame that passes. */
class Meter {
  #graph: FilterGraph | undefined;
  #source: FilterContext | undefined;
  #sink: FilterContext | undefined;
  #input = '';
  readonly #out = newFrame();
  #integrated = SILENCE_LUFS;
  #truePeak = 0;

  add(frame: Frame): void {
    const input =
      `sample_rate=${frame.sampleRate}:sample_fmt=${avGetSampleFmtName(frame.format as never)}` +
      `:channel_layout=${avChannelLayoutDescribe(frame.channelLayout)}:time_base=1/${frame.sampleRate}`;
    this.#graph ??= this.#build(input);
    // A stream that changes its layout in the middle is measured up to there.
    if (input === this.#input) this.#push(frame);
  }

  finish(): LoudnessResult {
    if (this.#graph === undefined) throw failMedia('measure loudness', 'no sound could be decoded');
    this.#push(null);
    const integrated = Math.max(SILENCE_LUFS, this.#integrated);
    return { integrated, truePeak: this.#truePeak > 0 ? 20 * Math.log10(this.#truePeak) : SILENCE_DBTP };
  }

  free(): void {
    this.#out.free();
    this.#graph?.free();
  }

  #build(input: string): FilterGraph {
    const graph = new FilterGraph();
    graph.alloc();
    check(
      graph.parsePtr(`abuffer@in=${input},ebur128=peak=true:metadata=1:framelog=quiet,abuffersink@out`),
      'loudness',
    );
    check(graph.configSync(), 'loudness');
    this.#source = graph.getFilter('abuffer@in') as FilterContext;
    this.#sink = graph.getFilter('abuffersink@out') as FilterContext;
    this.#input = input;
    return graph;
  }

  #push(frame: Frame | null): void {
    check(this.#source?.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF) ?? 0, 'loudness');
    for (;;) {
      const code = this.#sink?.buffersinkGetFrameSync(this.#out) ?? AVERROR_EOF;
      if (isDrained(code)) return;
      check(code, 'loudness');
      this.#read();
      this.#out.unref();
    }
  }

  #read(): void {
    const metadata = this.#out.getMetadata();
    const values = metadata.getAll();
    metadata.free();
    const integrated = Number(values['lavfi.r128.I']);
    if (Number.isFinite(integrated)) this.#integrated = integrated;
    // Peaks are of one frame and channel, as amplitudes.
    for (const [key, value] of Object.entries(values)) {
      if (key.startsWith('lavfi.r128.true_peak')) this.#truePeak = Math.max(this.#truePeak, Number(value) || 0);
    }
  }
}
