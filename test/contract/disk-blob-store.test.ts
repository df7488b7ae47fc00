import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { mkdir, open, readdir, readFile, readlink, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { losePower } from '../support/processes/lose-power.js';
import { describeBlobStore } from './blob-store.js';

describeBlobStore('on disk', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-blobs-'));
  return {
    store: new DiskBlobStore(root),
    reopen: () => new DiskBlobStore(root),
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

it('takes a file that has lost what followed on missing bytes for an empty one', async () => {
  const root = makeRoot();
  const write = await new DiskBlobStore(root).resumeWrite('begun');
  await write.startAt(6);
  await write.write(Buffer.from('ghij'));
  await write.suspend();
  await truncate(join(root, '.partial', 'begun'), 5);
  const again = await new DiskBlobStore(root).resumeWrite('begun');
  expect([again.offsetBytes, again.missing]).toEqual([0, undefined]);
  await again.write(Buffer.from('abc'));
  await again.commit();
  expect(await readdir(join(root, '.partial'))).toEqual([]);
});

it('closes a file that it can not resume', async () => {
  const root = makeRoot();
  await (await new DiskBlobStore(root).resumeWrite('begun')).suspend();
  const path = join(root, '.partial', 'begun');
  await mkdir(`${path}+holes`);
  await expect(new DiskBlobStore(root).resumeWrite('begun')).rejects.toMatchObject({ code: 'EISDIR' });
  const open = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  expect(await Promise.all(open)).not.toContain(path);
});

it('keeps exactly the bytes that were on disk when the process is killed', async () => {
  const root = makeRoot();
  const script = `
    const { DiskBlobStore } = await import(process.argv[1]);
    const write = await new DiskBlobStore(process.argv[2]).resumeWrite('assets/k/source');
    let next = Math.floor(write.offsetBytes / 4);
    for (;;) {
      const chunk = Buffer.alloc(400_000);
      for (let at = 0; at < chunk.length; at += 4) chunk.writeUInt32LE(next++, at);
      await write.write(chunk);
      process.stdout.write(write.offsetBytes + '\\n');
    }`;
  const module = import.meta.resolve('#kinora/storage/disk/disk-blob-store.js');
  let least = 0;
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module, root]);
    let seen = '';
    child.stdout.on('data', (data) => {
      seen += data;
      if (seen.split('\n').length > 20) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const write = await new DiskBlobStore(root).resumeWrite('assets/k/source');
    // What the one-megabyte buffer held is lost, nothing before it.
    expect(write.offsetBytes).toBeGreaterThanOrEqual(least + 19 * 400_000 - 1024 * 1024);
    expect(write.offsetBytes % 4).toBe(0);
    least = write.offsetBytes;
    await write.suspend();
  }
  const store = new DiskBlobStore(root);
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
  const store = new DiskBlobStore(root);
  await store.put('assets/s/index.bin', Buffer.from('x'));
  // The file, assets/s, assets and the root.
  expect(sync).toHaveBeenCalledTimes(4);
  expect(await readdir(join(root, '.partial'))).toEqual([]);
});

describe('after a power failure', () => {
  const MIB = 2 ** 20;
  const key = 'assets/p/source';
  const file = randomBytes(5 * MIB);

  it('goes on behind what was suspended, and never behind bytes that the disk may not have', async () => {
    const root = makeRoot();
    const first = await new DiskBlobStore(root).resumeWrite(key);
    await first.write(file.subarray(0, 2 * MIB + 77));
    await first.suspend();
    const killed = await new DiskBlobStore(root).resumeWrite(key);
    await killed.write(file.subarray(2 * MIB + 77, 4 * MIB + 77));
    await losePower(root);
    const store = new DiskBlobStore(root);
    const resumed = await store.resumeWrite(key);
    expect(resumed.offsetBytes).toBe(2 * MIB + 77);
    await resumed.write(file.subarray(2 * MIB + 77));
    await resumed.commit();
    expect((await buffer((await store.read(key))!)).equals(file)).toBe(true);
    expect(await readdir(join(root, '.partial'))).toEqual([]);
  });

  it('begins anew where nothing was suspended', async () => {
    const root = makeRoot();
    await (await new DiskBlobStore(root).resumeWrite(key)).write(file);
    await losePower(root);
    expect((await new DiskBlobStore(root).resumeWrite(key)).offsetBytes).toBe(0);
  });

  it('begins anew where a restarted write had been suspended, or the file had been removed', async () => {
    const root = makeRoot();
    const suspended = await new DiskBlobStore(root).resumeWrite(key);
    await suspended.write(file);
    await suspended.suspend();
    const restarted = await new DiskBlobStore(root).resumeWrite(key);
    await restarted.restart();
    await restarted.write(randomBytes(2 * MIB));
    await losePower(root);
    const again = await new DiskBlobStore(root).resumeWrite(key);
    expect(again.offsetBytes).toBe(0);
    await again.write(file);
    await again.suspend();
    await rm(join(root, '.partial', 'assets~p~source'));
    await (await new DiskBlobStore(root).resumeWrite(key)).write(file);
    await losePower(root);
    expect((await new DiskBlobStore(root).resumeWrite(key)).offsetBytes).toBe(0);
  });

  it('syncs the bytes before the record that vouches for them, and nothing when nothing came', async () => {
    const root = makeRoot();
    const store = new DiskBlobStore(root);
    const probe = await open(root, 'r');
    const prototype = Object.getPrototypeOf(probe) as { datasync: () => Promise<void> };
    await probe.close();
    const { datasync } = prototype;
    const vouched: number[] = [];
    const path = join(root, '.partial', 'assets~p~source+synced');
    vi.spyOn(prototype, 'datasync').mockImplementation(async function (this: unknown) {
      vouched.push(Number((await readFile(path, 'latin1')).split(' ')[1]));
      await datasync.call(this);
    });
    const write = await store.resumeWrite(key);
    await write.write(file);
    await write.suspend();
    expect(vouched).toEqual([0, file.length]);
    await (await store.resumeWrite(key)).suspend();
    expect(vouched).toHaveLength(2);
    await (await store.resumeWrite(key)).restart();
    expect(vouched).toEqual([0, file.length, 0]);
  });

  it('keeps most of a long write that was never suspended', async () => {
    const root = makeRoot();
    const write = await new DiskBlobStore(root).resumeWrite(key);
    for (let at = 0; at < 258; at++) await write.write(file.subarray(0, MIB));
    await losePower(root);
    const resumed = await new DiskBlobStore(root).resumeWrite(key);
    expect(resumed.offsetBytes).toBe(256 * MIB);
    await resumed.discard();
    expect(await readdir(join(root, '.partial'))).toEqual([]);
  });
});
