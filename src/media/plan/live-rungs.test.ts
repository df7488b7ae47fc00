import { describe, expect, test } from 'vitest';
import { AVCC, videoFacts } from '../../../test/support/media/media-values.js';
import { type LiveRungsInput, planLiveRungs } from './live-rungs.js';

const video = videoFacts({ width: 1280, height: 720, avcc: AVCC });
const plan = (input: Partial<LiveRungsInput>) =>
  planLiveRungs({ video, bandwidth: 4_000_000, isTest: false, maxRungs: 1, ...input });
const names = ({ rungs }: ReturnType<typeof plan>): string[] => rungs.map(({ name }) => name);

describe('rungs of a live stream', () => {
  test('stand below its H.264, which has a replacement of its size and at most its rate', () => {
    const planned = plan({ bandwidth: 2_000_000 });
    expect(planned).toMatchObject({ copyName: '720p', replacement: { name: '720p', width: 1280, height: 720 } });
    expect(planned).not.toHaveProperty('obstacle');
    expect(names(planned)).not.toContain('720p');
    expect(planned.replacement!.bandwidth).toBeLessThanOrEqual(planned.leastBandwidth);
    expect(planned.rungs[0]!.bandwidth).toBeLessThan(planned.replacement!.bandwidth);
  });

  test.each([
    ['10 bits', videoFacts({ ...video, pixelFormat: 'yuv420p10le', profile: 110 })],
    ['4:2:2', videoFacts({ ...video, pixelFormat: 'yuv422p', profile: 122 })],
    ['4:4:4', videoFacts({ ...video, pixelFormat: 'yuv444p', profile: 244 })],
    ['interlaced', videoFacts({ ...video, interlaced: true })],
  ])('begin with one of its size, and it is not announced, if it is H.264 with %s', (_name, unplayable) => {
    const planned = plan({ video: unplayable, maxRungs: 0 });
    expect(names(planned)).toEqual(['720p']);
    expect(planned).not.toHaveProperty('copyName');
    expect(planned).not.toHaveProperty('replacement');
  });

  /** Records of the header alone, with a parameter set in that of HEVC. */
  const configs = {
    hevc: '01016000000090000000000078f000fcfdf8f800000f01a100010001aa',
    av1: '81040c00',
  };
  const original = (codec: keyof typeof configs, pixelFormat = 'yuv420p') =>
    videoFacts({
      ...video,
      codec,
      profile: 1,
      pixelFormat,
      decoderConfig: Buffer.from(configs[codec], 'hex').toString('base64'),
    });

  test('are all there is if it is HEVC with 4:2:2', () => {
    const planned = plan({ video: original('hevc', 'yuv422p10le') });
    expect(names(planned)).toEqual(['720p']);
    expect(planned).not.toHaveProperty('copyName');
  });

  test.each(['hevc', 'av1'] as const)(
    'begin with one of its size, and it is one more variant, if it is %s',
    (codec) => {
      const planned = plan({ video: original(codec), maxRungs: 0 });
      expect(names(planned)).toEqual(['720p']);
      expect(planned.copyName).toBe(`720p-${codec}`);
      expect(planned).not.toHaveProperty('replacement');
    },
  );
});
