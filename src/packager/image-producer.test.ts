import { expect, it, vi } from 'vitest';
import type { CachedFile } from '../cache/cached-files.js';
import type { Producer } from '../cache/productions.js';
import { systemClock } from '../lib/clock.js';
import { mediaPriority, type RunOptions } from '../pool/media-pool.js';
import type { MediaJob } from '../pool/protocol.js';
import { ImageProducer } from './image-producer.js';

it('makes few sprite sheets before anyone asks, after all other work, and never those of audio', async () => {
  const run: { kind: string; priority: number }[] = [];
  const producer = new ImageProducer({
    clock: systemClock,
    throwIfWithdrawn: () => undefined,
    sourceRanges: { ofVideo: async () => undefined },
    blobs: { isLocal: true, openLocal: async () => ({ path: '/source', release: async () => undefined }) },
    pool: {
      run: ({ kind }: MediaJob, { priority }: RunOptions) => {
        run.push({ kind, priority });
        return new Promise(() => undefined);
      },
    },
    cache: {
      has: () => false,
      get: async (_key: unknown, produce: Producer) => {
        await produce({ signal: new AbortController().signal, temporaryPath: () => '/sheet' } as never);
        return new Promise<CachedFile>(() => undefined);
      },
    },
  } as never);
  const video = {
    ...{ access: 'source', timescale: 1000, boundaries: [0, 4000, 8000], lastFrameTicks: 7960, filters: {} },
    frameRate: { num: 25, den: 1 },
    renditions: [{ width: 640, height: 360 }],
  };
  producer.warmStoryboard({ id: 'audio', plan: { durationSeconds: 8 } } as never);
  for (let asset = 0; asset < 30; asset++)
    producer.warmStoryboard({ id: `asset ${asset}`, plan: { durationSeconds: 8, video } } as never);
  await vi.waitUntil(() => run.length === 8);
  await new Promise((resolve) => setImmediate(resolve));
  expect(run).toEqual(Array(8).fill({ kind: 'storyboard', priority: mediaPriority.background }));
});
