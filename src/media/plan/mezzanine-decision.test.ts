import { describe, expect, test } from 'vitest';
import { sourceFacts, steadyIndex, streamIndex, videoFacts } from '../../../test/support/media/media-values.js';
import type { StreamIndex } from '../source/source-index.js';
import { decideAccess } from './mezzanine-decision.js';

const decide = (
  video: StreamIndex | undefined,
  facts: Parameters<typeof videoFacts>[0] = {},
  formatName = 'mov,mp4,m4a,3gp,3g2,mj2',
  discontinuous = false,
) => decideAccess(sourceFacts({ formatName, video: videoFacts(facts) }), { ...(video && { video }), discontinuous });

describe('decideAccess', () => {
  const steady = steadyIndex(900, 512, 60);
  test.each(['mov,mp4,m4a,3gp,3g2,mj2', 'matroska,webm', 'avi', 'flv', 'mpegts', 'mpeg'])(
    '%s is read directly',
    (name) => {
      expect(decide(steady, {}, name)).toEqual({ access: 'direct' });
    },
  );
  test('audio alone is read directly whatever it is in', () => {
    expect(decideAccess(sourceFacts({ formatName: 'ogg' }), { discontinuous: true })).toEqual({ access: 'direct' });
  });
  test.each([
    ['concatenated recordings', steady, {}, 'mpegts', true, 'times jump or go back', true],
    ['another container', steady, {}, 'mxf', false, 'no exact seeking in mxf', true],
    ['no index', undefined, {}, 'avi', false, 'the frames could not be indexed', true],
    ['no key frame', streamIndex({ pts: [0, 1], keys: [], lastDuration: 1 }), {}, 'flv', false, 'no key frames', true],
    [
      'a repeated time',
      streamIndex({ pts: [0, 512, 512], keys: [0], lastDuration: 512 }),
      {},
      'avi',
      false,
      'frames share a time',
      true,
    ],
    [
      'one key frame in 30 s',
      steadyIndex(900, 512, 9999),
      {},
      'avi',
      false,
      'key frames are more than 20 s apart',
      true,
    ],
    [
      'key frames each 25 s',
      steadyIndex(1800, 512, 750),
      {},
      'avi',
      false,
      'key frames are more than 20 s apart',
      false,
    ],
    ['intra refresh', steady, { idrKeyFrames: false }, 'mov', false, 'key frames do not restore the whole frame', true],
    ['Dolby Vision 5', steady, { dolbyVisionProfile: 5 }, 'avi', false, 'Dolby Vision profile 5', false],
    ['12 bits', steady, { bitDepth: 12 }, 'avi', false, '12 bits a sample', false],
  ] as const)('%s goes to the mezzanine', (_, index, facts, format, discontinuous, reason, sequential) => {
    expect(decide(index, facts, format, discontinuous)).toEqual({ access: 'mezzanine', reason, sequential });
  });
  test('open GOPs are read directly', () => {
    const open = streamIndex({ pts: [0, 512, 2048, 1024, 1536], keys: [0, 2], lastDuration: 512 });
    expect(decide(open, { idrKeyFrames: false })).toEqual({ access: 'direct' });
  });
  test('transport streams need byte positions', () => {
    const lost = { ...steady, position: steady.position.map((position, packet) => (packet === 5 ? -1 : position)) };
    expect(decide(lost, {}, 'mpegts')).toMatchObject({ reason: 'byte positions are unknown' });
    expect(decide(lost, {}, 'matroska,webm')).toEqual({ access: 'direct' });
  });
  test('20 s of GOP, 10 bits, Dolby Vision 8 and a slide show are fine', () => {
    expect(decide(steadyIndex(1800, 512, 600), { bitDepth: 10, dolbyVisionProfile: 8 })).toEqual({ access: 'direct' });
    expect(decide(streamIndex({ pts: [0, 600_000, 1_200_000], lastDuration: 1 }))).toEqual({ access: 'direct' });
  });
});
