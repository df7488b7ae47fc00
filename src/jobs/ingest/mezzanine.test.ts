import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queues } from '../../domain/queues.js';
import { transcode } from './mezzanine.js';

test('progress is stored in its order, the newest after each write, and before what follows it', async () => {
  const stored: string[] = [];
  const context = {
    ...{ assetId: 'a', parallel: 1, lane: queues.transcode, temporaryDir: tmpdir(), logger: { info: () => undefined } },
    signal: new AbortController().signal,
    state: {
      // Each takes less time than the one before it.
      setProgress: async (_: string, state: string, percent: number) => {
        await sleep(20 - percent / 5);
        stored.push(`${state} ${percent}`);
      },
    },
    blobs: {
      stat: async () => undefined,
      resumeWrite: async () => ({ restart: async () => undefined, discard: async () => undefined }),
    },
    pool: {
      run: async (_: object, { onProgress }: { onProgress: (fraction: number) => void }) => {
        for (const fraction of [0.2, 0.5, 0.9]) onProgress(fraction);
        throw new Error('it ends');
      },
    },
  };
  const video = {
    ...{ streamIndex: 0, codedWidth: 640, codedHeight: 360, width: 640, height: 360, rotation: 0 },
    color: { transfer: 'bt709' },
    ...{ sampleAspect: { num: 1, den: 1 }, timeBase: { num: 1, den: 1000 }, frameRate: { num: 25, den: 1 } },
  };
  const source = { path: '/a', facts: { formatName: 'mpegts', video }, settings: { maxResolutionTier: '1080p' } };
  const index = { audio: [] };
  const work = transcode(context as never, source as never, index as never, { reason: 'a test', sequential: true });
  await expect(work).rejects.toThrow('it ends');
  expect(stored).toEqual(['transcoding 0', 'transcoding 20', 'transcoding 90']);
});
