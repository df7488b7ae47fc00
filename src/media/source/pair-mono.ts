import { isMovFormat } from './frames.js';
import type { AudioFacts } from './source-facts.js';

/** SMPTE files have up to this many streams of one channel. */
const MAX_CHANNELS = 16;

/**
 * Joins the channels of broadcast files, which have a stream for each: if all audio streams of an
 * MXF, MP4 or MOV file are mono PCM with the same rate and language, and their number is even, the
 * first and second, the third and fourth … are the left and right channel of a stereo stream.
 * Otherwise returns the streams as they are.
 */
export const pairMono = (formatName: string, audio: readonly AudioFacts[]): readonly AudioFacts[] => {
  const streams = audio.toSorted((a, b) => a.streamIndex - b.streamIndex);
  const [first] = streams;
  const isBroadcast = formatName.startsWith('mxf') || isMovFormat(formatName);
  if (!first || !isBroadcast || streams.length % 2 !== 0 || streams.length > MAX_CHANNELS) return audio;
  const isChannel = (stream: AudioFacts): boolean =>
    stream.channels === 1 &&
    stream.codec.startsWith('pcm_') &&
    stream.sampleRate === first.sampleRate &&
    stream.timeBase.num * first.timeBase.den === first.timeBase.num * stream.timeBase.den &&
    stream.language === first.language;
  if (!streams.every(isChannel)) return audio;
  return streams
    .filter((_, at) => at % 2 === 0)
    .map((left, pair) => ({
      ...left,
      channels: 2,
      channelLayout: 'stereo',
      rightStreamIndex: streams[2 * pair + 1]!.streamIndex,
    }));
};
