import { AV_CODEC_ID_OPUS } from 'node-av/constants';
import { avChannelLayoutDefault, Codec, CodecContext, Rational } from 'node-av/lib';
import { AAC_FRAME_SAMPLES } from '../../media/codecs/aac.js';
import { opusSamples } from '../../media/codecs/opus.js';
import type { LiveAudioJob } from '../../pool/protocol.js';
import { openAacEncoder } from '../audio/chunk.js';
import { audioFrame } from '../audio/reader.js';
import { check, failMedia, isDrained, newFrame, newPacket } from '../ffmpeg/av.js';
import type { FedContext } from '../ipc/serve-jobs.js';

const SAMPLE_RATE = 48_000;
const CHANNELS = 2;
/** More is not a gap, but another clock. */
const MAX_MISSING = 10 * SAMPLE_RATE;

/**
 * Makes AAC of Opus until its inputs end. Damaged packets are silent.
 * @throws KinoraError `media_failed`
 */
export const encodeLiveAudio = async (
  { bitRate }: LiveAudioJob,
  { inputs, output }: FedContext<'live-audio'>,
): Promise<{ frames: number }> => {
  using transcoder = new OpusTranscoder(bitRate);
  let frames = 0;
  for await (const input of inputs) {
    if ('end' in input) break;
    const encoded = input.opus.flatMap((each) =>
      typeof each === 'number' ? transcoder.skip(each) : transcoder.take(Buffer.from(each, 'base64')),
    );
    frames += encoded.length;
    output({ frames: encoded.map((frame) => frame.toString('base64')) });
  }
  return { frames };
};

class OpusTranscoder implements Disposable {
  private readonly decoder: CodecContext;
  private readonly encoder: CodecContext;
  private readonly packet = newPacket();
  private readonly frame = newFrame();
  /** By channel. */
  private samples = [new Float32Array(), new Float32Array()];
  /** The first packet of the encoder contains only its priming. */
  private isPrimed = false;

  constructor(bitRate: number) {
    const codec = Codec.findDecoder(AV_CODEC_ID_OPUS);
    if (codec === null) throw failMedia('decode audio', 'no Opus decoder');
    this.decoder = new CodecContext();
    this.decoder.allocContext3(codec);
    this.decoder.sampleRate = SAMPLE_RATE;
    this.decoder.channelLayout = avChannelLayoutDefault(CHANNELS);
    this.decoder.pktTimebase = new Rational(1, SAMPLE_RATE);
    this.decoder.threadCount = 1;
    check(this.decoder.open2Sync(codec, null), 'open Opus decoder');
    this.encoder = openAacEncoder({ sampleRate: SAMPLE_RATE, channels: CHANNELS, bitRate });
  }

  take(opus: Buffer): Buffer[] {
    const duration = Math.min(opusSamples(opus), MAX_MISSING);
    let decoded = 0;
    this.packet.data = opus;
    const isTaken = this.decoder.sendPacketSync(this.packet) >= 0;
    this.packet.unref();
    while (isTaken && !isDrained(this.decoder.receiveFrameSync(this.frame))) {
      const planes = planesOf(this.frame.data ?? [], this.frame.nbSamples);
      if (planes) {
        this.append(planes);
        decoded += this.frame.nbSamples;
      }
      this.frame.unref();
    }
    // The first packets give less than they have, because the decoder drops its delay.
    return decoded < duration ? this.skip(duration - decoded) : this.encode();
  }

  skip(count: number): Buffer[] {
    const length = Math.min(count, MAX_MISSING);
    this.append([new Float32Array(length), new Float32Array(length)]);
    return this.encode();
  }

  [Symbol.dispose](): void {
    this.decoder.freeContext();
    this.encoder.freeContext();
    this.packet.free();
    this.frame.free();
  }

  private append(planes: readonly Float32Array[]): void {
    this.samples = this.samples.map((before, channel) => {
      const joined = new Float32Array(before.length + planes[channel]!.length);
      joined.set(before);
      joined.set(planes[channel]!, before.length);
      return joined;
    });
  }

  private encode(): Buffer[] {
    const frames: Buffer[] = [];
    let at = 0;
    for (; at + AAC_FRAME_SAMPLES <= this.samples[0]!.length; at += AAC_FRAME_SAMPLES) {
      using frame = audioFrame(this.samples, at, AAC_FRAME_SAMPLES, SAMPLE_RATE);
      check(this.encoder.sendFrameSync(frame), 'encode audio');
      for (;;) {
        const code = this.encoder.receivePacketSync(this.packet);
        if (isDrained(code)) break;
        check(code, 'encode audio');
        if (this.isPrimed) frames.push(Buffer.from(this.packet.data ?? []));
        this.isPrimed = true;
        this.packet.unref();
      }
    }
    this.samples = this.samples.map((samples) => samples.slice(at));
    return frames;
  }
}

/** The samples of planar 32-bit floats. */
const planesOf = (data: readonly Uint8Array[], count: number): Float32Array[] | undefined => {
  if (data.length < CHANNELS || data.some(({ length }) => length < count * 4)) return undefined;
  return data.slice(0, CHANNELS).map((plane) => new Float32Array(new Uint8Array(plane.subarray(0, count * 4)).buffer));
};
