import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, it, vi } from 'vitest';
import { createDiskBlobStore } from '#kinora/storage/disk-blob-store.js';
import { describeBlobStore } from './blob-store.js';

describeBlobStore('on disk', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-blobs-'));
  return {
    store: createDiskBlobStore(root),
    reopen: () => createDiskBlobStore(root),
    close: () => rm(root, { recursive: true }),
  };
});

const roots: string[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const root of roots.splice(0)) await rm(root, { recursive: true });
});
const makeRoot = (): string => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-blobs-'));
  roots.push(root);
  return root;
};

it('keeps exactly the bytes that were on disk when the process is killed', async () => {
  const root = makeRoot();
  const script = `
    const { createDiskBlobStore } = await import(process.argv[1]);
    const write = await createDiskBlobStore(process.argv[2]).resumeWrite('assets/k/source');
    let next = Math.floor(write.offsetBytes / 4);
    for (;;) {
      const chunk = Buffer.alloc(400_000);
      for (let at = 0; at < chunk.length; at += 4) chunk.writeUInt32LE(next++, at);
      await write.write(chunk);
      process.stdout.write(write.offsetBytes + '\\n');
    }`;
  const module = import.meta.resolve('#kinora/storage/disk-blob-store.js');
  let least = 0;
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module, root]);
    let seen = '';
    child.stdout.on('data', (data) => {
      seen += data;
      if (seen.split('\n').length > 20) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const write = await createDiskBlobStore(root).resumeWrite('assets/k/source');
    // What the one-megabyte buffer held is lost, nothing before it.
    expect(write.offsetBytes).toBeGreaterThanOrEqual(least + 19 * 400_000 - 1024 * 1024);
    expect(write.offsetBytes % 4).toBe(0);
    least = write.offsetBytes;
    await write.suspend();
  }
  const store = createDiskBlobStore(root);
  const { sizeBytes } = await (await store.resumeWrite('assets/k/source')).commit();
  const bytes = await buffer((await store.read('assets/k/source'))!);
  expect(bytes.length).toBe(sizeBytes);
  for (let at = 0; at < bytes.length; at += 4) if (bytes.readUInt32LE(at) !== at / 4) throw new Error(`wrong at ${at}`);
});

it('syncs the file before its rename and the directories after it', async () => {
  const root = makeRoot();
  const probe = await open(root, 'r');
  const prototype = Object.getPrototypeOf(probe) as { sync: () => Promise<void> };
  await probe.close();
  const sync = vi.spyOn(prototype, 'sync');
  const store = createDiskBlobStore(root);
  await store.put('assets/s/index.bin', Buffer.from('x'));
  // The file, assets/s, assets and the root.
  expect(sync).toHaveBeenCalledTimes(4);
  expect(await readdir(join(root, '.partial'))).toEqual([]);
});
