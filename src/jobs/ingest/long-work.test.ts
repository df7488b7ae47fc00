import { describe, expect, it } from 'vitest';
import { queues } from '../../domain/queues.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { mezzanineKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { LongWorkAhead, rejectLongReading, rejectTranscoding } from './long-work.js';

interface Run {
  readonly queue?: IngestContext['queue'];
  readonly normalizes?: boolean;
  readonly hasPlan?: boolean;
}

const run = ({ queue = queues.ingest, normalizes = false, hasPlan = false }: Run = {}): IngestContext =>
  ({ queue, row: { asset: { normalize_audio: normalizes }, media: { plan: hasPlan ? {} : null } } }) as IngestContext;

const MPEG_LIMIT = 512 * 2 ** 20;
const file: SourceFacts = { formatName: 'mpegts', sizeBytes: MPEG_LIMIT, durationSeconds: 300, audio: [{} as never] };

const isLong = (context: IngestContext, facts: Partial<SourceFacts>): boolean => {
  try {
    rejectLongReading(context, { ...file, ...facts });
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(LongWorkAhead);
    return true;
  }
};

describe('long reading', () => {
  it.each([
    ['mpegts', -1, false],
    ['mpegts', 0, false],
    ['mpegts', 1, true],
    ['mpeg', 1, true],
    ['matroska,webm', 1, false],
  ])('%s of 512 MiB and %d bytes: %s', (formatName, more, expected) => {
    expect(isLong(run(), { formatName, sizeBytes: MPEG_LIMIT + more })).toBe(expected);
  });

  it.each([
    [299.999, false],
    [300, false],
    [300.001, true],
  ])('the loudness of %d seconds: %s', (durationSeconds, expected) => {
    expect(isLong(run({ normalizes: true }), { durationSeconds })).toBe(expected);
    expect(isLong(run(), { durationSeconds })).toBe(false);
    expect(isLong(run({ normalizes: true }), { durationSeconds, audio: [] })).toBe(false);
  });

  it('is done in the queue for it, and not again once there is a plan', () => {
    const long = { sizeBytes: MPEG_LIMIT + 1, durationSeconds: 301 };
    expect(isLong(run({ normalizes: true }), long)).toBe(true);
    expect(isLong(run({ normalizes: true, queue: queues.transcode }), long)).toBe(false);
    expect(isLong(run({ normalizes: true, hasPlan: true }), long)).toBe(false);
  });
});

it('transcodes in the queue for it, unless the mezzanine is stored', async () => {
  const reject = (queue: IngestContext['queue'], stored?: string): Promise<void> => {
    const blobs = { stat: async (key: string) => (key === stored ? { sizeBytes: 1 } : undefined) };
    return rejectTranscoding({ queue, blobs, assetId: 'a' } as unknown as IngestContext, 'the codec');
  };
  await expect(reject(queues.ingest)).rejects.toEqual(new LongWorkAhead('the codec'));
  await expect(reject(queues.ingest, mezzanineKey('a'))).resolves.toBeUndefined();
  await expect(reject(queues.transcode)).resolves.toBeUndefined();
});
