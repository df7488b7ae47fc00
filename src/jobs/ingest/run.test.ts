import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { quietLogger } from '../../../test/support/logger.js';
import { KinoraError } from '../../lib/errors.js';
import { createLimiter } from '../../lib/limiter.js';
import type { MediaJob } from '../../pool/protocol.js';
import { runIngest } from './run.js';

test('the facts about a source are stored beside its sanity check and its index, before the plan', async () => {
  const order: string[] = [];
  let begin: () => void = () => undefined;
  const bothBegan = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const begun = new Set<string>();
  const audio = { streamIndex: 0, codec: 'aac', durationSeconds: 2 };
  const facts = { formatName: 'mov,mp4,m4a,3gp,3g2,mj2', sizeBytes: 1, durationSeconds: 2, audio: [audio] };
  const context = {
    assetId: 'a',
    signal: new AbortController().signal,
    temporaryDir: tmpdir(),
    logger: quietLogger,
    queue: { name: 'ingest' },
    clock: { monotonicMs: () => 0 },
    limit: createLimiter(1),
    row: { asset: {}, media: {}, mainInput: { settings: { url: 'https://example.com/a.mp4' } }, otherInputs: [] },
    blobs: {
      isLocal: true,
      stat: async () => ({ sizeBytes: 1 }),
      read: async () => undefined,
      openLocal: async () => ({ path: '/a', release: async () => void order.push('closed') }),
    },
    earlySources: { planOf: () => undefined, end: () => undefined },
    tracks: { listPreparing: async () => [] },
    state: {
      saveFacts: async () => {
        await bothBegan;
        await Promise.resolve();
        order.push('stored');
      },
    },
    pool: {
      prepare: () => undefined,
      run: async ({ kind }: MediaJob) => {
        begun.add(kind);
        if (begun.has('sanity') && begun.has('index')) begin();
        if (kind === 'probe') return facts;
        await bothBegan;
        throw new KinoraError('invalid_input');
      },
    },
  };
  await expect(runIngest(context as never)).rejects.toMatchObject({ code: 'invalid_input' });
  expect(order).toEqual(['stored', 'closed']);
});
