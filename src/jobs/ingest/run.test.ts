import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { quietLogger } from '../../../test/support/logger.js';
import { KinoraError } from '../../lib/errors.js';
import { createLimiter } from '../../lib/limiter.js';
import { encodeSourceIndex } from '../../media/source/source-index-codec.js';
import type { MediaJob } from '../../pool/protocol.js';
import { runIngest } from './run.js';

/** Resolves when all of these have begun, each of which waits for it. */
const meeting = (names: readonly string[]) => {
  const missing = new Set(names);
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return (name: string): Promise<void> => {
    missing.delete(name);
    if (missing.size === 0) open();
    return opened;
  };
};

const AUDIO = { pts: new Float64Array([0, 1024]), position: new Float64Array([8, 9]), lastDuration: 1024 };
const INDEX = { audio: { ...AUDIO, key: new Uint8Array([1, 1]), size: new Uint32Array([1, 1]) }, discontinuous: false };

test('a source is indexed beside its probe, and checked while both results are stored', async () => {
  const order: string[] = [];
  const reads = meeting(['probe', 'first-tracks']);
  const checks = meeting(['facts', 'index', 'sanity']);
  const audio = {
    ...{ streamIndex: 0, codec: 'aac', durationSeconds: 2, sampleRate: 48_000, channels: 2, channelLayout: 'stereo' },
    ...{ timeBase: { num: 1, den: 48_000 }, isDefault: true, simpleEditList: true },
  };
  const facts = { formatName: 'mov,mp4,m4a,3gp,3g2,mj2', sizeBytes: 1, durationSeconds: 2, audio: [audio] };
  const run = async (job: MediaJob) => {
    order.push(job.kind);
    if (job.kind === 'probe') return reads(job.kind).then(() => facts);
    if (job.kind === 'first-tracks') {
      await reads(job.kind);
      writeFileSync(job.outPath, encodeSourceIndex(INDEX));
      return { audio: { streamIndex: 0, timescale: 48_000 } };
    }
    await checks(job.kind);
    throw new KinoraError('invalid_input');
  };
  const store = async (name: string) => {
    await checks(name);
    order.push(name);
  };
  const context = {
    ...{ assetId: 'a', signal: new AbortController().signal, temporaryDir: tmpdir(), logger: quietLogger },
    ...{ queue: { name: 'ingest' }, clock: { monotonicMs: () => 0 }, limit: createLimiter(1) },
    row: { asset: {}, media: {}, mainInput: { settings: { url: 'https://example.com/a.mp4' } }, otherInputs: [] },
    blobs: {
      isLocal: true,
      stat: async () => ({ sizeBytes: 1 }),
      read: async () => undefined,
      put: () => store('index'),
      openLocal: async () => ({ path: '/a', release: async () => void order.push('closed') }),
    },
    earlySources: { planOf: () => undefined, end: () => undefined },
    tracks: { listPreparing: async () => [] },
    state: { saveFacts: () => store('facts'), saveReasons: async () => undefined },
    producer: { warm: async () => undefined },
    cache: { removeAsset: async () => undefined },
    pool: { prepare: () => undefined, run },
  };
  await expect(runIngest(context as never)).rejects.toMatchObject({ code: 'invalid_input' });
  expect(order.slice(0, 3).sort()).toEqual(['first-tracks', 'probe', 'sanity']);
  expect(order.slice(3, 5).sort()).toEqual(['facts', 'index']);
  expect(order.slice(5)).toEqual(['closed']);
});
