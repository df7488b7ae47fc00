import { AV_BUFFERSRC_FLAG_KEEP_REF, AV_CODEC_ID_AAC } from 'node-av/constants';
import { avChannelLayoutDefault, Codec, CodecContext, type FilterContext, FilterGraph, type Frame } from 'node-av/lib';
import { isKinoraError } from '../../lib/errors.js';
import type { LoudnessJob, LoudnessResult } from '../../pool/protocol.js';
import { encodeFrames } from '../audio/chunk.js';
import { check, failMedia, isDrained, newFrame, newPacket } from '../ffmpeg/av.js';

/** EBU R128: nothing below this counts, and silence measures as this. */
const SILENCE_LUFS = -70;
/** Below every sample that 24 bits can hold. */
const SILENCE_DBTP = -150;
/** AAC frames that are made at once, about a minute; each time the source is opened. */
const BLOCK_FRAMES = 2800;

/**
 * Integrated loudness and true peak of a track (ITU-R BS.1770, EBU R128) of what a player decodes: coding takes from noise
 * and adds to peaks.
 * @throws KinoraError `media_failed`
 */
export const measureLoudness = (job: LoudnessJob): LoudnessResult => {
  const meter = new Meter(job.audio.sampleRate, job.audio.channels);
  const player = new Player(job.audio, (frame) => meter.add(frame));
  let measured = false;
  try {
    for (let first = 0; first < job.endFrame; first += BLOCK_FRAMES) {
      let packets: Buffer[];
      try {
        packets = encodeFrames(job, first, Math.min(first + BLOCK_FRAMES, job.endFrame));
      } catch (error) {
        // A damaged part is left out: the measure of the rest still holds.
        if (!isKinoraError(error, 'media_failed')) throw error;
        continue;
      }
      measured = true;
      for (const packet of packets) player.decode(packet);
    }
    if (!measured) throw failMedia('measure loudness', 'no audio could be decoded');
    return meter.finish();
  } finally {
    player.free();
    meter.free();
  }
};

/** Decodes what the encoder has made. */
class Player {
  readonly #decoder = new CodecContext();
  readonly #packet = newPacket();
  readonly #frame = newFrame();
  readonly #each: (frame: Frame) => void;

  constructor({ sampleRate, channels, audioSpecificConfig }: LoudnessJob['audio'], each: (frame: Frame) => void) {
    const codec = Codec.findDecoder(AV_CODEC_ID_AAC);
    if (codec === null) throw failMedia('measure loudness', 'no AAC decoder');
    this.#decoder.allocContext3(codec);
    this.#decoder.sampleRate = sampleRate;
    this.#decoder.channelLayout = avChannelLayoutDefault(channels);
    this.#decoder.extraData = Buffer.from(audioSpecificConfig, 'base64');
    check(this.#decoder.open2Sync(codec, null), 'open AAC decoder');
    this.#each = each;
  }

  decode(data: Buffer): void {
    this.#packet.data = data;
    check(this.#decoder.sendPacketSync(this.#packet), 'decode AAC');
    this.#packet.unref();
    while (!isDrained(this.#decoder.receiveFrameSync(this.#frame))) {
      this.#each(this.#frame);
      this.#frame.unref();
    }
  }

  free(): void {
    this.#frame.free();
    this.#packet.free();
    this.#decoder.freeContext();
  }
}

/** The `ebur128` filter; it writes what it has measured so far into each frame that passes. */
class Meter {
  readonly #graph = new FilterGraph();
  readonly #source: FilterContext;
  readonly #sink: FilterContext;
  readonly #out = newFrame();
  #integrated = SILENCE_LUFS;
  #truePeak = 0;

  constructor(sampleRate: number, channels: 1 | 2) {
    this.#graph.alloc();
    const input = `sample_rate=${sampleRate}:sample_fmt=fltp:channel_layout=${channels === 1 ? 'mono' : 'stereo'}`;
    const chain = 'ebur128=peak=true:metadata=1:framelog=quiet';
    check(this.#graph.parsePtr(`abuffer@in=${input}:time_base=1/${sampleRate},${chain},abuffersink@out`), 'loudness');
    check(this.#graph.configSync(), 'loudness');
    this.#source = this.#graph.getFilter('abuffer@in') as FilterContext;
    this.#sink = this.#graph.getFilter('abuffersink@out') as FilterContext;
  }

  add(frame: Frame | null): void {
    check(this.#source.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF), 'loudness');
    for (;;) {
      const code = this.#sink.buffersinkGetFrameSync(this.#out);
      if (isDrained(code)) return;
      check(code, 'loudness');
      this.#read();
      this.#out.unref();
    }
  }

  finish(): LoudnessResult {
    this.add(null);
    const integrated = Math.max(SILENCE_LUFS, this.#integrated);
    return { integrated, truePeak: this.#truePeak > 0 ? 20 * Math.log10(this.#truePeak) : SILENCE_DBTP };
  }

  free(): void {
    this.#out.free();
    this.#graph.free();
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
