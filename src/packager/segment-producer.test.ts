import { EventEmitter, once } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { CachedFile } from '../cache/cached-files.js';
import type { Producer } from '../cache/productions.js';
import { EarlySources } from '../early/sources.js';
import { systemClock } from '../lib/clock.js';
import type { Plan } from '../media/plan/plan.js';
import { mediaPriority, type RunOptions } from '../pool/media-pool.js';
import { SegmentProducer } from './segment-producer.js';

test('warming starts a second segment that nobody waits for after everything else, and less urgently', async () => {
  const started: string[] = [];
  const priorities: number[] = [];
  const producer = new SegmentProducer({
    clock: systemClock,
    throwIfWithdrawn: () => undefined,
    sourceRanges: { ofVideo: async () => undefined },
    blobs: { openLocal: async () => ({ path: '/source', release: async () => undefined }) },
    pool: {
      run: (_job: unknown, { priority }: RunOptions) => {
        priorities.push(priority);
        return new Promise(() => undefined);
      },
    },
    cache: {
      get: async ({ rendition, file }: { rendition: string; file: string }, produce: Producer) => {
        started.push(`${rendition}/${file}`);
        if (file !== '1.m4s' || rendition !== '480p') return {};
        await produce({ signal: new AbortController().signal, temporaryPath: () => '/segment' } as never);
        return new Promise<CachedFile>(() => undefined);
      },
    },
  } as never);
  const rendition = { name: '480p', kind: 'encode', encoder: {} };
  const video = { boundaries: [0, 1, 4, 8], filters: {}, renditions: [rendition], startRendition: '480p' };
  const audio = { boundaries: [0, 1, 4, 8], chunkSegments: 8 };
  await producer.warm({ id: 'a', plan: { video, audio } } as never, { priority: mediaPriority.warmUp });
  expect(started).toEqual([
    '480p/init.mp4',
    '480p/0.m4s',
    'audio/init.mp4',
    'audio/0.m4s',
    'audio/1.m4s',
    '480p/1.m4s',
  ]);
  await vi.waitUntil(() => priorities.length > 0);
  expect(priorities).toEqual([mediaPriority.nextSegment]);
});

test('nothing is made by a plan that was withdrawn after a request found it', async () => {
  const earlySources = new EarlySources();
  const rendition = { name: '480p', kind: 'encode', encoder: {} };
  const plan = { video: { boundaries: [0, 1, 4, 8], renditions: [rendition], startRendition: '480p' } } as never;
  const begun = new EventEmitter();
  const producer = new SegmentProducer({
    clock: systemClock,
    throwIfWithdrawn: (withdrawn: Plan) => earlySources.throwIfWithdrawn(withdrawn),
    cache: {
      has: () => false,
      get: async (_key: unknown, produce: Producer) => {
        await once(begun, 'work');
        return produce({ signal: new AbortController().signal } as never);
      },
    },
  } as never);
  earlySources.offer('a', { plan, index: {} as never });
  const segment = producer.segment({ id: 'a', plan }, '480p', '2.m4s');
  earlySources.withdraw('a');
  begun.emit('work');
  await expect(segment).rejects.toMatchObject({ code: 'unavailable' });
});
