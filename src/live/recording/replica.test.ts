import { expect, it, vi } from 'vitest';
import { createLogger } from '../../telemetry/logger.js';
import { chooseChunks, RecordingReplica, type ReplicaStore } from './replica.js';
import { ReplicaIndex } from './replica-index.js';

/** `term:offset+size`. */
const chosen = (...names: string[]): string[] => {
  const listed = names.map((key) => {
    const [term, offset, sizeBytes] = key.split(/[:+]/).map(Number);
    return { key, term: term!, offset: offset!, sizeBytes: sizeBytes! };
  });
  return chooseChunks(listed).map(({ term, offset, sizeBytes }) => `${term}:${offset}+${sizeBytes}`);
};

it('takes what follows from the start of the file', () => {
  expect(chosen('1:5+3', '1:0+5', '1:8+2')).toEqual(['1:0+5', '1:5+3', '1:8+2']);
  expect(chosen('1:0+5', '1:6+3')).toEqual(['1:0+5']);
  expect(chosen('1:3+5')).toEqual([]);
  expect(chosen()).toEqual([]);
});

it('drops what a server wrote after another one had taken the recording over', () => {
  expect(chosen('1:0+5', '1:5+3', '2:5+4', '1:8+9', '2:9+1')).toEqual(['1:0+5', '2:5+4', '2:9+1']);
  // The record at the end of a chunk was not whole.
  expect(chosen('1:0+5', '2:4+4', '1:5+9')).toEqual(['1:0+4', '2:4+4']);
  expect(chosen('1:0+5', '2:5+4', '3:2+1', '1:5+7')).toEqual(['1:0+2', '3:2+1']);
  expect(chosen('1:0+5', '2:0+7', '1:5+5')).toEqual(['2:0+7']);
});

it('has each byte once, whoever asks for a copy while the bucket is slow', async () => {
  vi.useFakeTimers();
  const stored = new Map<string, number>();
  const puts: (() => void)[] = [];
  const put = async (key: string, bytes: Uint8Array): Promise<void> => {
    await new Promise<void>((resolve) => puts.push(resolve));
    stored.set(key.replace(/^.*\//, ''), bytes.length);
  };
  let end = 10;
  const source = { sync: async () => end, read: async (_: number, length: number) => new Uint8Array(length) };
  const replica = new RecordingReplica({
    ...{
      assetId: 'asset',
      term: 1,
      fromBytes: 0,
      source,
      index: new ReplicaIndex(),
      logger: createLogger('error', 'json'),
    },
    store: { put } as unknown as ReplicaStore,
  });
  const late = replica.catchUp(20);
  await vi.advanceTimersByTimeAsync(6000);
  expect(await late).toBe(false);
  end = 15;
  const caughtUp = replica.catchUp(60_000);
  for (let turn = 0; turn < 5; turn += 1) {
    puts.shift()?.();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(await caughtUp).toBe(true);
  expect([...stored]).toEqual([
    ['1-0', 10],
    ['1-10', 5],
  ]);
  await replica.stop();
  vi.useRealTimers();
});
