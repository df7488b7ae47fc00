import { AV_CODEC_ID_AAC } from 'node-av/constants';
import { avChannelLayoutDefault, Codec, CodecContext, type Frame } from 'node-av/lib';
import { isKinoraError } from '../../lib/errors.js';
import type { LoudnessJob, LoudnessResult } from '../../pool/protocol.js';
import { encodeFrames } from '../audio/chunk.js';
import { check, failMedia, isDrained, newFrame, newPacket } from '../ffmpeg/av.js';
import { MediaFilter } from '../ffmpeg/media-filter.js';

/** EBU R128 ignores everything below this level; silence measures as this value. */
const SILENCE_LUFS = -70;
/** Lower than any sample that 24 bits can hold. */
const SILENCE_DBTP = -150;
/** The number of AAC frames per block, about a minute. The source is opened once for each block. */
const BLOCK_FRAMES = 2800;

/**
 * Measures the integrated loudness and true peak of a track (ITU-R BS.1770, EBU R128) after
 * encoding and decoding, as players hear it: encoding removes noise and raises peaks.
 * @throws KinoraError `media_failed`
 */
export const measureLoudness = (job: LoudnessJob): LoudnessResult => {
  using meter = new Meter(job.audio.sampleRate, job.audio.channels);
  using player = new Player(job.audio, (frame) => meter.add(frame));
  let measured = false;
  for (let first = 0; first < job.endFrame; first += BLOCK_FRAMES) {
    let packets: Buffer[];
    try {
      packets = encodeFrames(job, first, Math.min(first + BLOCK_FRAMES, job.endFrame));
    } catch (error) {
      // A damaged part is left out; the measurement of the rest is still valid.
      if (!isKinoraError(error, 'media_failed')) throw error;
      continue;
    }
    measured = true;
    for (const packet of packets) player.decode(packet);
  }
  if (!measured) throw failMedia('measure loudness', 'no audio could be decoded');
  return meter.finish();
};

/** Decodes the encoder's output. */
class Player {
  private readonly decoder = new CodecContext();
  private readonly packet = newPacket();
  private readonly frame = newFrame();
  private readonly each: (frame: Frame) => void;

  constructor({ sampleRate, channels, audioSpecificConfig }: LoudnessJob['audio'], each: (frame: Frame) => void) {
    const codec = Codec.findDecoder(AV_CODEC_ID_AAC);
    if (codec === null) throw failMedia('measure loudness', 'no AAC decoder');
    this.decoder.allocContext3(codec);
    this.decoder.sampleRate = sampleRate;
    this.decoder.channelLayout = avChannelLayoutDefault(channels);
    this.decoder.extraData = Buffer.from(audioSpecificConfig, 'base64');
    check(this.decoder.open2Sync(codec, null), 'open AAC decoder');
    this.each = each;
  }

  decode(data: Buffer): void {
    this.packet.data = data;
    check(this.decoder.sendPacketSync(this.packet), 'decode AAC');
    this.packet.unref();
    while (!isDrained(this.decoder.receiveFrameSync(this.frame))) {
      this.each(this.frame);
      this.frame.unref();
    }
  }

  [Symbol.dispose](): void {
    this.frame.free();
    this.packet.free();
    this.decoder.freeContext();
  }
}

/** Runs the `ebur128` filter, which adds its measurements so far to each frame that passes. */
class Meter {
  private readonly filter: MediaFilter;
  private integrated = SILENCE_LUFS;
  private truePeak = 0;

  constructor(sampleRate: number, channels: 1 | 2) {
    const input = `sample_rate=${sampleRate}:sample_fmt=fltp:channel_layout=${channels === 1 ? 'mono' : 'stereo'}`;
    const chain = 'ebur128=peak=true:metadata=1:framelog=quiet';
    this.filter = new MediaFilter(`abuffer@in=${input}:time_base=1/${sampleRate},${chain},abuffersink@out`, {
      operation: 'loudness',
    });
  }

  add(frame: Frame | null): void {
    this.filter.push(frame, (out) => this.read(out));
  }

  finish(): LoudnessResult {
    this.add(null);
    const integrated = Math.max(SILENCE_LUFS, this.integrated);
    return { integrated, truePeak: this.truePeak > 0 ? 20 * Math.log10(this.truePeak) : SILENCE_DBTP };
  }

  [Symbol.dispose](): void {
    this.filter[Symbol.dispose]();
  }

  private read(out: Frame): void {
    const metadata = out.getMetadata();
    const values = metadata.getAll();
    metadata.free();
    const integrated = Number(values['lavfi.r128.I']);
    if (Number.isFinite(integrated)) this.integrated = integrated;
    // Peaks are of one frame and channel, as amplitudes.
    for (const [key, value] of Object.entries(values)) {
      if (key.startsWith('lavfi.r128.true_peak')) this.truePeak = Math.max(this.truePeak, Number(value) || 0);
    }
  }
}
