import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DiskSpace } from '#kinora/storage/disk/disk-space.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { cleanUpServers, startServer, until } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

const MIB = 2 ** 20;
const ROOM_MIB = 320;
const dir = mkdtempSync(join(tmpdir(), 'kinora-disk-'));
/** Only root may mount a disk of known size. */
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${ROOM_MIB}m`, 'tmpfs', dir]).status === 0;

const freeBytes = (): number => {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
};
const filler = join(dir, 'filler');
/** Leaves so many bytes, or none if a server has written meanwhile. */
const fill = (leftBytes: number): void => {
  try {
    writeFileSync(filler, Buffer.alloc(freeBytes() - leftBytes), { flag: 'a' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
};

afterAll(async () => {
  await cleanUpServers();
  if (isMounted) execFileSync('umount', [dir]);
  rmdirSync(dir);
});

describe.runIf(isMounted)('a disk without room', () => {
  it('is told of once, and so is new room', async () => {
    const logger = memoryLogger();
    const space = new DiskSpace({ dir, logger, lowBelowBytes: 64 * MIB, everyMs: 20 });
    const said = () => logger.lines.map(({ level, message }) => `${level}: ${message}`);
    try {
      await space.check();
      expect(await space.freeBytes()).toBe(freeBytes());
      expect(said()).toEqual([]);
      fill(60 * MIB);
      await until('the first warning', () => said().length > 0);
      await space.check();
      await space.freeBytes();
      expect(said()).toEqual(['warn: disk almost full']);
      expect(logger.lines[0]!.fields).toEqual({ dir, free_bytes: freeBytes() });
      fill(8 * MIB);
      await expect(space.check()).rejects.toThrow(/^only \d+ bytes are free$/);
      rmSync(filler);
      await space.check();
      expect(said().slice(1)).toEqual(['info: disk space available again']);
      expect(readdirSync(dir)).toEqual([]);
    } finally {
      space.stop();
      rmSync(filler, { force: true });
    }
  });

  it('makes the server not ready until there is room again', async () => {
    const server = await startServer({ dataDir: join(dir, 'data') });
    const readiness = async () => {
      const response = await fetch(`${server.url}/readyz`);
      return [response.status, await response.json()];
    };
    expect(await readiness()).toEqual([200, { status: 'ok' }]);
    fill(0);
    expect(await readiness()).toEqual([503, { status: 'unavailable', failed: ['storage'] }]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    rmSync(filler);
    await until('ready', async () => (await fetch(`${server.url}/readyz`)).status === 200);
    expect((await api(server, 'POST', '/video/v1/uploads', {})).status).toBe(201);
    expect(server.log()).toContainEqual(expect.objectContaining({ msg: 'disk almost full' }));
    expect(await server.stop()).toBe(0);
  });
});

describe('a directory that cannot be written to', () => {
  let parent: string;
  beforeAll(() => {
    parent = mkdtempSync(join(tmpdir(), 'kinora-disk-'));
  });
  afterAll(() => rmSync(parent, { recursive: true }));

  it('fails the check, also for those who ask at the same time', async () => {
    // Not even root can make a file in the place of a directory.
    const blocked = join(parent, '.write-check');
    const space = new DiskSpace({ dir: parent, logger: memoryLogger() });
    try {
      await space.check();
      mkdirSync(join(blocked, 'full'), { recursive: true });
      const asked = await Promise.allSettled([space.check(), space.check()]);
      expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      rmSync(blocked, { recursive: true });
      await space.check();
    } finally {
      space.stop();
    }
  });
});
