import { AV_SAMPLE_FMT_FLTP, AV_TIME_BASE, AVERROR_EOF, AVSEEK_FLAG_BACKWARD } from 'node-av/constants';
import {
  avChannelLayoutDefault,
  avChannelLayoutDescribe,
  avGetSampleFmtName,
  type CodecContext,
  type FormatContext,
  Frame,
  type Stream,
} from 'node-av/lib';
import type { AudioPlan } from '../../media/plan/plan.js';
import type { MediaSource } from '../../pool/protocol.js';
import { failMedia, isDrained, NO_PTS, newFrame, newPacket } from '../ffmpeg/av.js';
import { MediaFilter } from '../ffmpeg/media-filter.js';
import { openDecoder, openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { type AudioPiece, alignAudio } from './timestamp-alignment.js';
import { LIMITER_REACH_SECONDS, limitPeaks } from './true-peak-limiter.js';

/**
 * Decoders of MP3, AAC, Vorbis and Opus depend on preceding audio; 0.5 s is more than any of them
 * needs (Opus: 80 ms).
 */
const PRE_ROLL_SECONDS = 0.5;
/** Alignment uses the full second on either side and half a second around it. */
const PLACE_SECONDS = 1.5;
/** The maximum share of damaged packets; a stream with more is unusable rather than silent. */
const MAX_ERROR_SHARE = 0.5;
/**
 * A multiple of the wanted length: pieces may overlap, but a stream whose time stands still must
 * not fill the memory.
 */
const MAX_OVERLAP = 4;
/**
 * When a seek lands too late, the next one goes back by this much, then three times as far, and so
 * on.
 */
const FIRST_STEP_BACK_SECONDS = 2;

export type Audio = Omit<AudioPlan, 'boundaries'>;

/** `input` has the sample rate, format, channel layout and time base of the input frames. */
export const openAudioFilter = (input: string, chain: string): MediaFilter =>
  new MediaFilter(`abuffer@in=${input},${chain},abuffersink@out`, { operation: 'audio filter' });

const LAYOUTS = { 1: 'mono', 2: 'stereo' } as const;

/** Copies the planes out of native memory. */
const copyPlanes = (frame: Frame): Float32Array[] =>
  (frame.data ?? []).slice(0, frame.channels).map((plane) => {
    const samples = new Float32Array(frame.nbSamples);
    Buffer.from(samples.buffer).set(plane.subarray(0, frame.nbSamples * 4));
    return samples;
  });

/** Samples of a down-mix above this are compressed towards full scale, never clipped. */
const KNEE = 0.9;
const bend = (value: number): number => {
  const size = Math.abs(value);
  return size <= KNEE ? value : Math.sign(value) * (KNEE + (1 - KNEE) * Math.tanh((size - KNEE) / (1 - KNEE)));
};

/**
 * A down-mix adds up to four channels; reducing it by 3 dB keeps it below the knee at ordinary
 * levels.
 */
const DOWN_MIX_GAIN = 10 ** (-3 / 20);

/** Collects the decoder's output as float planes with the requested channels and sample rate. */
class PieceCollector {
  readonly pieces: AudioPiece[] = [];
  /** The position of the first decoded piece, whether it was kept or not. */
  firstPosition: number | undefined;
  private readonly plan: Audio;
  private readonly startTicks: number;
  /** Pieces that end before this are of no use. */
  private readonly fromPosition: number;
  private room: number;
  private filter: MediaFilter | undefined;
  private input = '';
  private gain = 1;
  private expected = Number.NaN;

  constructor(plan: Audio, stream: Stream, fromSeconds: number, untilSeconds: number) {
    this.plan = plan;
    this.fromPosition = fromSeconds * plan.sourceSampleRate;
    this.room = (untilSeconds - fromSeconds) * plan.sourceSampleRate * MAX_OVERLAP;
    this.startTicks = stream.startTime === NO_PTS ? plan.sourceOrigin : Number(stream.startTime);
  }

  /** Seconds on the timeline at which the next piece is expected. */
  get untilSeconds(): number {
    return this.expected / this.plan.sourceSampleRate;
  }

  add(frame: Frame): void {
    const { sourceTimeBase: base, sourceSampleRate: rate, channels } = this.plan;
    const layout = avChannelLayoutDescribe(
      frame.channelLayout.order === 0 ? avChannelLayoutDefault(frame.channels) : frame.channelLayout,
    );
    const input =
      `sample_rate=${frame.sampleRate}:sample_fmt=${avGetSampleFmtName(frame.format as typeof AV_SAMPLE_FMT_FLTP)}` +
      `:channel_layout=${layout}:time_base=1/${frame.sampleRate}`;
    if (input !== this.input) {
      this.filter?.[Symbol.dispose]();
      this.filter = openAudioFilter(
        input,
        `aresample=${rate},aformat=sample_fmts=fltp:channel_layouts=${LAYOUTS[channels]}`,
      );
      this.input = input;
      this.gain = (frame.channels > 2 ? DOWN_MIX_GAIN : 1) * 10 ** ((this.plan.gainDb ?? 0) / 20);
    }
    const pts = frame.bestEffortTimestamp === NO_PTS ? frame.pts : frame.bestEffortTimestamp;
    // Counted from the first time stamp of the stream, whose position is rounded once; positions
    // then differ by whole samples.
    const toSamples = (ticks: number): number => (ticks * base.num * rate) / base.den;
    const position =
      pts === NO_PTS
        ? this.expected
        : Math.round(toSamples(this.startTicks - this.plan.sourceOrigin)) + toSamples(Number(pts) - this.startTicks);
    if (Number.isNaN(position)) return; // nothing says where this piece belongs
    this.firstPosition ??= position;
    this.expected = position + (frame.nbSamples * rate) / frame.sampleRate;
    if (this.expected <= this.fromPosition) return;
    this.room -= this.expected - position;
    if (this.room < 0) throw failMedia('decode audio', 'time stamps stand still');
    let at = position;
    this.filter?.push(frame, (out) => {
      const planes = copyPlanes(out);
      // What normalisation makes of the peaks is measured.
      const normalized = this.plan.gainDb !== undefined;
      const channels =
        this.gain === 1
          ? planes
          : planes.map((plane) => plane.map((value) => (normalized ? value * this.gain : bend(value * this.gain))));
      this.pieces.push({ position: at, channels });
      at += out.nbSamples;
    });
  }

  [Symbol.dispose](): void {
    this.filter?.[Symbol.dispose]();
  }
}

const decode = (
  format: FormatContext,
  decoder: CodecContext,
  streamIndex: number,
  collector: PieceCollector,
  isDone: () => boolean,
): void => {
  using packet = newPacket();
  using frame = newFrame();
  let packets = 0;
  let errors = 0;
  const receive = (): void => {
    for (;;) {
      const code = decoder.receiveFrameSync(frame);
      if (isDrained(code)) return;
      if (code < 0) {
        errors += 1;
        return;
      }
      collector.add(frame);
      frame.unref();
    }
  };
  while (!isDone()) {
    const code = readPacket(format, packet);
    // A file that breaks off ends here: what it lacks becomes silence.
    if (code < 0) {
      if (code !== AVERROR_EOF) errors += 1;
      decoder.sendPacketSync(null);
      receive();
      break;
    }
    if (packet.streamIndex === streamIndex) {
      packets += 1;
      if (decoder.sendPacketSync(packet) < 0) errors += 1;
      receive();
    }
    packet.unref();
  }
  if (packets > 4 && errors > packets * MAX_ERROR_SHARE)
    throw failMedia('decode audio', `${errors} errors in ${packets} packets`);
};

/**
 * Decodes what is needed for [fromSeconds, untilSeconds) of the timeline. When a seek lands late,
 * starts again further back.
 */
const collectPieces = (source: MediaSource, plan: Audio, fromSeconds: number, untilSeconds: number): AudioPiece[] => {
  const zeroSeconds = (plan.sourceOrigin * plan.sourceTimeBase.num) / plan.sourceTimeBase.den;
  for (let back = 0; ; back = back === 0 ? FIRST_STEP_BACK_SECONDS : back * 3) {
    const { format, fromStart } = openAt(source, fromSeconds - PRE_ROLL_SECONDS - back + zeroSeconds);
    try {
      const stream = streamAt(format, plan.streamIndex);
      readOnly(format, [plan.streamIndex]);
      using decoder = openDecoder(stream, 1);
      using collector = new PieceCollector(plan, stream, fromSeconds, untilSeconds);
      let late = false;
      decode(format, decoder, plan.streamIndex, collector, () => {
        late = !fromStart && (collector.firstPosition ?? 0) > fromSeconds * plan.sourceSampleRate;
        return late || collector.untilSeconds > untilSeconds;
      });
      if (fromStart || (!late && collector.firstPosition !== undefined)) return collector.pieces;
    } finally {
      format.closeInputSync();
    }
  }
};

/**
 * Opens the source so that reading starts at or before `seconds` of its own time. Reading starts at
 * the beginning of the file when the position is near it or when FFmpeg can't seek: without an
 * index, or before its first entry. The caller closes the source.
 */
export const openAt = (source: MediaSource, seconds: number): { format: FormatContext; fromStart: boolean } => {
  const format = openSource(source);
  const startSeconds = format.startTime === NO_PTS ? 0 : Number(format.startTime) / AV_TIME_BASE;
  if (seconds <= startSeconds + PRE_ROLL_SECONDS) return { format, fromStart: true };
  // Seeks by the file's leading stream: Matroska has cues for the video only, and seeking by an
  // audio stream without cues reads the file from its start.
  const target = BigInt(Math.floor(seconds * AV_TIME_BASE));
  if (format.seekFrameSync(-1, target, AVSEEK_FLAG_BACKWARD) >= 0) return { format, fromStart: false };
  format.closeInputSync();
  return { format: openSource(source), fromStart: true };
};

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));
/** Longer than the resampler's filter. */
const RESAMPLER_MARGIN_SECONDS = 0.1;

const resample = (planes: readonly Float32Array[], fromRate: number, toRate: number): Float32Array[] => {
  const channels = planes.length as 1 | 2;
  const layout = LAYOUTS[channels];
  using filter = openAudioFilter(
    `sample_rate=${fromRate}:sample_fmt=fltp:channel_layout=${layout}:time_base=1/${fromRate}`,
    `aresample=${toRate}`,
  );
  const parts: Float32Array[][] = [];
  const length = planes[0]?.length ?? 0;
  const keep = (out: Frame): void => {
    parts.push(copyPlanes(out));
  };
  for (let at = 0; at < length; at += RESAMPLE_BLOCK) {
    using frame = audioFrame(planes, at, Math.min(RESAMPLE_BLOCK, length - at), fromRate);
    filter.push(frame, keep);
  }
  filter.push(null, keep);
  return planes.map((_, channel) => {
    const total = new Float32Array(parts.reduce((sum, part) => sum + (part[channel]?.length ?? 0), 0));
    let at = 0;
    for (const part of parts) {
      total.set(part[channel] as Float32Array, at);
      at += part[channel]?.length ?? 0;
    }
    return total;
  });
};
const RESAMPLE_BLOCK = 65_536;

/** Returns a float frame with the samples [at, at + count) of the planes. The caller frees it. */
export const audioFrame = (planes: readonly Float32Array[], at: number, count: number, sampleRate: number): Frame =>
  Frame.fromAudioBuffer(
    Buffer.concat(planes.map((plane) => new Uint8Array(plane.buffer, plane.byteOffset + at * 4, count * 4))),
    {
      nbSamples: count,
      format: AV_SAMPLE_FMT_FLTP,
      sampleRate,
      channelLayout: avChannelLayoutDefault(planes.length),
      timeBase: { num: 1, den: sampleRate },
      pts: BigInt(at),
    },
  );

/**
 * The samples [fromSample, untilSample) of the timeline in the plan's rate and channels, one array
 * per channel, with the gain applied but without the peak limit of `normalize_audio`. Parts that
 * the source lacks are silent. A sample has the same value in every range that contains it, except
 * for differences below -60 dB caused by resampling and by decoders' state.
 * @throws KinoraError `media_failed`
 */
export const readSamples = (
  source: MediaSource,
  plan: Audio,
  fromSample: number,
  untilSample: number,
): readonly Float32Array[] => {
  if (plan.peakDb === undefined) return readUnlimited(source, plan, fromSample, untilSample);
  const margin = Math.ceil(LIMITER_REACH_SECONDS * plan.sampleRate);
  const unlimited = readUnlimited(source, plan, fromSample - margin, untilSample + margin);
  const wide = limitPeaks(unlimited, plan.sampleRate, plan.peakDb);
  return wide.map((plane) => plane.subarray(margin, margin + untilSample - fromSample));
};

const readUnlimited = (source: MediaSource, plan: Audio, fromSample: number, untilSample: number): Float32Array[] => {
  const { rightStreamIndex, ...left } = plan;
  if (rightStreamIndex === undefined) return readStream(source, plan, fromSample, untilSample);
  const channels = [left.streamIndex, rightStreamIndex].map((streamIndex) => ({
    ...left,
    streamIndex,
    channels: 1 as const,
  }));
  return channels.flatMap((channel) => readStream(source, channel, fromSample, untilSample));
};

const readStream = (source: MediaSource, plan: Audio, fromSample: number, untilSample: number): Float32Array[] => {
  const { sourceSampleRate: sourceRate, sampleRate: rate, channels } = plan;
  const pieces = collectPieces(source, plan, fromSample / rate - PLACE_SECONDS, untilSample / rate + PLACE_SECONDS);
  const tickSamples = (plan.sourceTimeBase.num * sourceRate) / plan.sourceTimeBase.den;
  const align = (from: number, until: number): Float32Array[] =>
    alignAudio(pieces, channels, from, until, sourceRate, tickSamples);
  if (sourceRate === rate) return align(fromSample, untilSample);
  // Both clocks meet every `sourceStep` source samples; starting there gives the resampler the same
  // phase each time.
  const divisor = greatestCommonDivisor(sourceRate, rate);
  const sourceStep = sourceRate / divisor;
  const step = rate / divisor;
  const steps = Math.floor((fromSample / rate - RESAMPLER_MARGIN_SECONDS) * divisor);
  const sourceUntil = Math.ceil((untilSample / rate + RESAMPLER_MARGIN_SECONDS) * sourceRate);
  const skip = fromSample - steps * step;
  return resample(align(steps * sourceStep, sourceUntil), sourceRate, rate).map((plane) =>
    plane.subarray(skip, skip + untilSample - fromSample),
  );
};
