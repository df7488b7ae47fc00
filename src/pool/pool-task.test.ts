import { expect, it } from 'vitest';
import { PoolTask } from './pool-task.js';
import { mediaPriority } from './scheduler.js';

it('gives background work more time, because viewers leave it a part of the processor', () => {
  const job = { kind: 'probe', source: { path: '/file' }, maxPixels: 1, maxStreams: 1 } as const;
  const deadline = (options: ConstructorParameters<typeof PoolTask>[2]) => new PoolTask(job, 0, options).deadlineMs;
  expect(deadline({ priority: mediaPriority.background })).toBe(10 * deadline({ priority: mediaPriority.viewer }));
  expect(deadline({ priority: mediaPriority.warmUp })).toBe(deadline({ priority: mediaPriority.viewer }));
  expect(deadline({ priority: mediaPriority.background, deadlineMs: 5 })).toBe(5);
});
