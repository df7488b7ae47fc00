import { AVERROR_EOF, AVSEEK_FLAG_BACKWARD } from 'node-av/constants';
import type { FormatContext } from 'node-av/lib';
import { isKinoraError } from '../../lib/errors.js';
import type { MediaSource, SanityJob, SanityResult } from '../../pool/protocol.js';
import { failMedia, newFrame, newPacket } from '../ffmpeg/av.js';
import { openDecoder, openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { withVideoReader } from '../video/shared-readers.js';

const CHECKED_SECONDS = 1;
/**
 * The number of audio packets that a decoder may reject at a position: the first packets after a
 * seek may depend on earlier ones.
 */
const ALLOWED_AUDIO_ERRORS = 2;
/** Unless the whole audio is shorter. */
const MIN_SAMPLES = 1024;

interface Attempt {
  readonly decoded: boolean;
  readonly problem?: string;
}

/** Decodes the first, a middle and the last second in the same way as segments. */
export const checkSanity = (job: SanityJob): SanityResult => {
  const startSeconds = [0, job.durationSeconds / 2, Math.max(job.durationSeconds - 2 * CHECKED_SECONDS, 0)];
  const results = [
    ...(job.video ? checkVideo(job.source, job.video, startSeconds) : []),
    ...(job.audio ? checkAudio(job.source, job.audio.streamIndex, startSeconds) : []),
  ];
  const problem = results.find((result) => result.problem !== undefined)?.problem;
  return { ...(problem !== undefined && { problem }), decodable: results.some(({ decoded }) => decoded) };
};

/** Reads one position; here a failure of FFmpeg is a result and not an error. */
const attempt = (name: string, read: () => Attempt): Attempt => {
  try {
    const result = read();
    return result.problem === undefined ? result : { ...result, problem: `${name}: ${result.problem}` };
  } catch (error) {
    if (!isKinoraError(error, 'media_failed')) throw error;
    return { decoded: false, problem: `${name}: ${error.message}` };
  }
};

const checkVideo = (
  source: MediaSource,
  { streamIndex, threads }: NonNullable<SanityJob['video']>,
  startSeconds: readonly number[],
): Attempt[] =>
  startSeconds.map((seconds) =>
    attempt(`frame at ${seconds.toFixed(1)} s`, () =>
      withVideoReader(source, streamIndex, threads, (reader) => {
        const { num, den } = reader.timeBase;
        const start = reader.startPts + Math.round((seconds * den) / num);
        const end = start + (CHECKED_SECONDS * den) / num;
        reader.seek(start, { wantPrevious: false });
        let frames = 0;
        for (let next = reader.peek(); next !== undefined && next.pts < end; next = reader.peek()) {
          frames += 1;
          reader.take();
        }
        // Frames may be rare, or end before the audio does; the frame that is displayed at that
        // time is also valid.
        const decoded = frames > 0 || reader.previous !== undefined || reader.peek() !== undefined;
        if (!decoded) return { decoded, problem: 'nothing could be decoded' };
        return reader.errors > 0 ? { decoded, problem: `${reader.errors} damaged` } : { decoded };
      }),
    ),
  );

const checkAudio = (source: MediaSource, streamIndex: number, startSeconds: readonly number[]): Attempt[] => {
  let format: FormatContext | undefined;
  const close = (): void => {
    format?.closeInputSync();
    format = undefined;
  };
  /** Where seeking fails, the first second is read. */
  const openAt = (seconds: number): FormatContext => {
    if (format && seconds > 0 && seekTo(format, streamIndex, seconds)) return format;
    close();
    format = openSource(source);
    readOnly(format, [streamAt(format, streamIndex).index]);
    if (seconds > 0) seekTo(format, streamIndex, seconds);
    return format;
  };
  const checkAt = (seconds: number): Attempt => {
    try {
      return readAudio(openAt(seconds), streamIndex, seconds);
    } catch (error) {
      close();
      throw error;
    }
  };
  try {
    return startSeconds.map((seconds) => attempt(`audio at ${seconds.toFixed(1)} s`, () => checkAt(seconds)));
  } finally {
    close();
  }
};

const seekTo = (format: FormatContext, streamIndex: number, seconds: number): boolean => {
  const { num, den } = streamAt(format, streamIndex).timeBase;
  return format.seekFrameSync(streamIndex, BigInt(Math.round((seconds * den) / num)), AVSEEK_FLAG_BACKWARD) >= 0;
};

const readAudio = (format: FormatContext, streamIndex: number, seconds: number): Attempt => {
  let samples = 0;
  let errors = 0;
  let isComplete = false;
  using packet = newPacket();
  using frame = newFrame();
  const stream = streamAt(format, streamIndex);
  using decoder = openDecoder(stream, 1);
  const neededSamples = CHECKED_SECONDS * stream.codecpar.sampleRate;
  const receive = (): void => {
    while (decoder.receiveFrameSync(frame) >= 0) {
      samples += frame.nbSamples;
      frame.unref();
    }
  };
  while (samples < neededSamples) {
    const code = readPacket(format, packet);
    isComplete = code === AVERROR_EOF;
    if (isComplete) break;
    if (code < 0) throw failMedia('read packet', 'damaged');
    if (packet.streamIndex === streamIndex && decoder.sendPacketSync(packet) < 0) errors += 1;
    packet.unref();
    receive();
  }
  decoder.sendPacketSync(null);
  receive();
  const decoded = samples >= MIN_SAMPLES || (isComplete && errors === 0 && samples > 0);
  // Audio may be shorter than the video, so finding none at a later position is not damage.
  if (!decoded && seconds === 0) return { decoded, problem: 'nothing could be decoded' };
  return errors > ALLOWED_AUDIO_ERRORS ? { decoded, problem: `${errors} damaged packets` } : { decoded };
};
