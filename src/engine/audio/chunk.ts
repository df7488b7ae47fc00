import { writeFileSync } from 'node:fs';
import { AV_CODEC_FLAG_GLOBAL_HEADER, AV_SAMPLE_FMT_FLTP, FF_ENCODER_AAC } from 'node-av/constants';
import { avChannelLayoutDefault, Codec, CodecContext, Rational } from 'node-av/lib';
import { AAC_FRAME_SAMPLES } from '../../media/codecs/aac.js';
import { writeFragment } from '../../media/mp4/cmaf.js';
import type { AudioChunkJob, AudioChunkResult } from '../../pool/protocol.js';
import { check, failMedia, isDrained, newFrame, newPacket, setOptions } from '../ffmpeg/av.js';
import { openDecoder, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { audioFrame, openAt, readSamples } from './reader.js';

/**
 * Input frames that the encoder gets before the first one that is kept, so that joins sound the
 * same as the rest of a chunk.
 */
const PRE_ROLL_FRAMES = 2;
/** The encoder's first packet contains only its priming. */
const PRIMING_PACKETS = 1;
/**
 * Because of interleaving, packets of a copied track can begin up to this long before the chunk.
 */
const COPY_SEEK_SECONDS = 1;

/**
 * Makes the segments of one chunk: AAC frames on the constant 1,024-sample grid, one fragment per
 * segment. The result depends only on the job. Neighboring chunks join without a gap, and for
 * encoded tracks also without an audible seam.
 * @throws KinoraError `media_failed`
 */
export const encodeAudioChunk = (job: AudioChunkJob): AudioChunkResult => {
  const firstFrame = job.boundaries[0] as number;
  const endFrame = job.boundaries.at(-1) as number;
  const copied = job.audio.mode === 'copy' ? copyFrames(job, firstFrame, endFrame) : undefined;
  const frames = copied ?? encodeFrames(job, firstFrame, endFrame);
  const sizesBytes = job.outPaths.map((path, i) => {
    const from = job.boundaries[i] as number;
    const until = job.boundaries[i + 1] as number;
    const data = frames.slice(from - firstFrame, until - firstFrame);
    const fragment = writeFragment({
      sequence: job.firstSegment + i + 1,
      baseDecodeTicks: from * AAC_FRAME_SAMPLES,
      samples: data.map(({ length }) => ({
        durationTicks: AAC_FRAME_SAMPLES,
        compositionOffsetTicks: 0,
        sizeBytes: length,
        sync: true,
      })),
      data,
    });
    writeFileSync(path, fragment);
    return fragment.length;
  });
  return { sizesBytes };
};

export const openAacEncoder = ({
  sampleRate,
  channels,
  bitRate,
}: Pick<AudioChunkJob['audio'], 'sampleRate' | 'channels' | 'bitRate'>): CodecContext => {
  const codec = Codec.findEncoderByName(FF_ENCODER_AAC);
  if (codec === null) throw failMedia('encode audio', 'no AAC encoder');
  const encoder = new CodecContext();
  encoder.allocContext3(codec);
  encoder.sampleRate = sampleRate;
  encoder.sampleFormat = AV_SAMPLE_FMT_FLTP;
  encoder.channelLayout = avChannelLayoutDefault(channels);
  encoder.timeBase = new Rational(1, sampleRate);
  encoder.bitRate = BigInt(bitRate);
  encoder.threadCount = 1;
  encoder.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
  setOptions(encoder, { aac_coder: 'twoloop' });
  check(encoder.open2Sync(codec, null), 'open AAC encoder');
  return encoder;
};

/**
 * AAC frames [firstFrame, endFrame); the packet of a frame spans that frame and the one after it.
 */
export const encodeFrames = (
  job: Pick<AudioChunkJob, 'source' | 'audio'>,
  firstFrame: number,
  endFrame: number,
): Buffer[] => {
  const inputFrames = PRE_ROLL_FRAMES + (endFrame - firstFrame) + 1;
  const fromSample = (firstFrame - PRE_ROLL_FRAMES) * AAC_FRAME_SAMPLES;
  const planes = readSamples(job.source, job.audio, fromSample, fromSample + inputFrames * AAC_FRAME_SAMPLES);
  using encoder = openAacEncoder(job.audio);
  using packet = newPacket();
  const packets: Buffer[] = [];
  const receive = (): void => {
    for (;;) {
      const code = encoder.receivePacketSync(packet);
      if (isDrained(code)) return;
      check(code, 'encode audio');
      packets.push(Buffer.from(packet.data ?? []));
      packet.unref();
    }
  };
  for (let i = 0; i < inputFrames; i++) {
    using frame = audioFrame(planes, i * AAC_FRAME_SAMPLES, AAC_FRAME_SAMPLES, job.audio.sampleRate);
    check(encoder.sendFrameSync(frame), 'encode audio');
    receive();
  }
  check(encoder.sendFrameSync(null), 'encode audio');
  receive();
  const skipped = PRIMING_PACKETS + PRE_ROLL_FRAMES;
  const frames = packets.slice(skipped, skipped + endFrame - firstFrame);
  if (frames.length !== endFrame - firstFrame) throw failMedia('encode audio', 'the encoder gave too few packets');
  return frames;
};

/**
 * The source's own AAC frames [firstFrame, endFrame), each numbered by the grid position nearest to
 * its packet's time. Undefined when one is damaged: a browser's decoder would stop there for good,
 * while encoding replaces it with silence.
 */
const copyFrames = (job: AudioChunkJob, firstFrame: number, endFrame: number): Buffer[] | undefined => {
  const { sourceTimeBase: base, sourceOrigin, sampleRate, streamIndex } = job.audio;
  const frames: (Buffer | undefined)[] = new Array(endFrame - firstFrame).fill(undefined);
  let missing = frames.length;
  const startSeconds = (sourceOrigin * base.num) / base.den + (firstFrame * AAC_FRAME_SAMPLES) / sampleRate;
  const { format } = openAt(job.source, startSeconds - COPY_SEEK_SECONDS);
  try {
    const stream = streamAt(format, streamIndex);
    using packet = newPacket();
    using decoder = openDecoder(stream, 1);
    using decoded = newFrame();
    const hasConfig = stream.codecpar.extradataSize > 0;
    readOnly(format, [streamIndex]);
    while (missing > 0 && readPacket(format, packet) >= 0) {
      const seconds = ((Number(packet.pts) - sourceOrigin) * base.num) / base.den;
      const frame = Math.round((seconds * sampleRate) / AAC_FRAME_SAMPLES) - firstFrame;
      if (packet.streamIndex === streamIndex && frame >= 0 && frame < frames.length && frames[frame] === undefined) {
        if (decoder.sendPacketSync(packet) < 0) return undefined;
        const code = decoder.receiveFrameSync(decoded);
        if (code < 0 && !isDrained(code)) return undefined;
        decoded.unref();
        const data = Buffer.from(packet.data ?? []);
        frames[frame] = hasConfig ? data : withoutAdtsHeader(data);
        missing -= 1;
      }
      packet.unref();
    }
  } finally {
    format.closeInputSync();
  }
  return frames.map((frame, i) => {
    if (frame === undefined) throw failMedia('copy audio', `frame ${firstFrame + i} is missing`);
    return frame;
  });
};

/**
 * In transport streams, each AAC frame has an ADTS header (ISO/IEC 14496-3, 1.A.2.2): 7 bytes, or 9
 * with a checksum.
 */
const withoutAdtsHeader = (data: Buffer): Buffer => {
  const isAdts = data.length > 7 && data[0] === 0xff && ((data[1] as number) & 0xf6) === 0xf0;
  return isAdts ? data.subarray(((data[1] as number) & 1) === 1 ? 7 : 9) : data;
};
