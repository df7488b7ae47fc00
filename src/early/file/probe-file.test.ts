import { describe, expect, it } from 'vitest';
import type { AudioFacts, SourceFacts, TextFacts, VideoFacts } from '../../media/source/source-facts.js';
import { checkLimits } from './probe-file.js';

const [SHORT, LONG] = [8, 13 * 3600];
const MATROSKA = 'matroska,webm';
const MOV = 'mov,mp4,m4a,3gp,3g2,mj2';

const factsOf = (
  formatName: string,
  durationSeconds: number,
  { video, audio, text }: { video?: number; audio?: number; text?: boolean },
): SourceFacts => ({
  formatName,
  sizeBytes: 1,
  durationSeconds,
  audio: audio === undefined ? [] : [{ durationSeconds: audio } as AudioFacts],
  ...(video !== undefined && { video: { durationSeconds: video } as VideoFacts }),
  ...(text && { text: [{} as TextFacts] }),
});

describe('the longest duration', () => {
  it.each([
    ['a long file', MOV, LONG, { video: LONG }],
    ['long audio', MOV, LONG, { video: SHORT, audio: LONG }],
    ['a long file of which no stream has a duration', 'flv', LONG, { video: 0, audio: 0 }],
    ['long Matroska', MATROSKA, LONG, { video: LONG }],
  ])('refuses %s', (_, formatName, seconds, streams) => {
    expect(() => checkLimits(factsOf(formatName, seconds, streams))).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    );
  });

  it.each([
    ['a stream that is edited to be short', MOV, SHORT, { video: LONG }],
    ['long subtitles in MP4', MOV, LONG, { video: SHORT, audio: SHORT, text: true }],
    ['subtitles in Matroska, which may be what is long', MATROSKA, LONG, { video: LONG, text: true }],
    ['MPEG-TS, whose times may jump', 'mpegts', LONG, { video: LONG }],
  ])('leaves it to the plan for %s', (_, formatName, seconds, streams) => {
    expect(() => checkLimits(factsOf(formatName, seconds, streams))).not.toThrow();
  });
});
