import { expect, it } from 'vitest';
import type { LocalWrite } from '../../storage/blob-store.js';
import { RecordingWriter } from './recording-writer.js';

it('writes what has come during a flush with one more flush, in its order', async () => {
  const written: number[] = [];
  let flushes = 0;
  let finish = (): void => undefined;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const write = {
    get offsetBytes() {
      return written.length;
    },
    write: async (chunk: Uint8Array) => void written.push(...chunk),
    flush: () => (++flushes === 1 ? held : Promise.resolve()),
    sync: async () => undefined,
  } as unknown as LocalWrite;
  const failures: string[] = [];
  const writer = new RecordingWriter(write, {
    clock: { now: () => new Date(0), monotonicMs: () => 0 },
    reopen: async () => write,
    onFailure: (failure) => failures.push(failure),
  });
  const parts = Array.from({ length: 50 }, (_, index) => Uint8Array.of(index, index));
  for (const part of parts.slice(0, 25)) writer.append([part]);
  await Promise.resolve();
  for (const part of parts.slice(25)) writer.append([part]);
  finish();
  await writer.drain();
  expect([flushes, writer.writtenBytes, failures]).toEqual([2, 100, []]);
  expect(written).toEqual(parts.flatMap((part) => [...part]));
});
