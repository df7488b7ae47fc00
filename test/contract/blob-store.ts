import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BlobStore } from '#kinora/storage/blob-store.js';

export interface OpenedBlobStore {
  readonly store: BlobStore;
  /** The same blobs through a new store, as after a restart. */
  reopen(): BlobStore | Promise<BlobStore>;
  close(): Promise<void>;
}

/** What every implementation must do. */
export const describeBlobStore = (title: string, open: () => Promise<OpenedBlobStore>): void => {
  describe(`blob store ${title}`, () => {
    let opened: OpenedBlobStore;
    let store: BlobStore;
    beforeAll(async () => {
      opened = await open();
      ({ store } = opened);
    });
    afterAll(() => opened.close());
    const bytesOf = async (key: string, range?: { start: number; end?: number }): Promise<Buffer | undefined> => {
      const stream: Readable | undefined = await store.read(key, range);
      return stream && buffer(stream);
    };

    it('shows a written blob only after its commit', async () => {
      const parts = [randomBytes(100), randomBytes(1_500_000), randomBytes(700_000), randomBytes(700_000)];
      const whole = Buffer.concat(parts);
      const write = await store.resumeWrite('assets/a/source');
      for (const part of parts) await write.write(part);
      expect(write.offsetBytes).toBe(whole.length);
      expect(await store.stat('assets/a/source')).toBeUndefined();
      expect(await store.read('assets/a/source')).toBeUndefined();
      expect(await write.commit()).toEqual({ sizeBytes: whole.length });
      expect(await store.stat('assets/a/source')).toEqual({ sizeBytes: whole.length });
      expect((await bytesOf('assets/a/source'))!.equals(whole)).toBe(true);
    });

    it('reads ranges with an exclusive end', async () => {
      await store.put('ranges', Buffer.from('0123456789'));
      expect(String(await bytesOf('ranges', { start: 3 }))).toBe('3456789');
      expect(String(await bytesOf('ranges', { start: 3, end: 5 }))).toBe('34');
      expect(String(await bytesOf('ranges', { start: 3, end: 3 }))).toBe('');
      expect(String(await bytesOf('ranges', { start: 8, end: 50 }))).toBe('89');
    });

    it('lets an unfinished blob be read with holes, and commits what was written in order', async () => {
      const whole = randomBytes(5000);
      const write = await store.resumeWrite('staged');
      await write.write(whole.subarray(0, 1000));
      const staged = await write.stage(whole.length);
      expect(staged.readableBytes).toBe(1000);
      await staged.put(3000, whole.subarray(3000, 4000));
      const found = await readFile(staged.path);
      expect(found.length).toBe(whole.length);
      expect(found.subarray(0, 1000).equals(whole.subarray(0, 1000))).toBe(true);
      expect(found.subarray(3000, 4000).equals(whole.subarray(3000, 4000))).toBe(true);
      expect(write.offsetBytes).toBe(1000);
      await write.write(whole.subarray(1000));
      await write.commit();
      expect((await bytesOf('staged'))!.equals(whole)).toBe(true);
    });

    it('writes every byte once, at its place, while readers ask for what was written', async () => {
      const whole = randomBytes(12_000_000);
      const write = await store.resumeWrite('flushed');
      const staged = await write.stage(whole.length);
      const waiting: Promise<unknown>[] = [];
      for (let at = 0; at < whole.length; at += 65_536) {
        const writing = write.write(whole.subarray(at, at + 65_536));
        waiting.push(staged.flush(), write.sync(), write.read(0, 10), staged.flush());
        await writing;
      }
      await Promise.all(waiting);
      await write.commit();
      expect((await bytesOf('flushed'))!.equals(whole)).toBe(true);
    });

    it('forgets what was put beyond the written bytes, when the write is suspended and when it is not', async () => {
      const write = await store.resumeWrite('holes');
      await write.write(Buffer.from('abc'));
      await (await write.stage(100)).put(50, Buffer.from('xyz'));
      await write.suspend();
      const again = await (await opened.reopen()).resumeWrite('holes');
      expect(again.offsetBytes).toBe(3);
      await (await again.stage(100)).put(50, Buffer.from('xyz'));
      // The process ends here, without a word.
      const last = await (await opened.reopen()).resumeWrite('holes');
      expect(last.offsetBytes).toBe(3);
      await last.write(Buffer.from('def'));
      expect(await last.commit()).toEqual({ sizeBytes: 6 });
      expect(String(await bytesOf('holes'))).toBe('abcdef');
    });

    it('begins at an offset; what is missing is filled later, also after a restart', async () => {
      const begun = await store.resumeWrite('begun');
      await begun.write(Buffer.from('of an earlier time'));
      await begun.startAt(6);
      expect([begun.offsetBytes, begun.missing]).toEqual([6, { start: 0, end: 6 }]);
      await begun.write(Buffer.from('ghij'));
      await begun.fill(Buffer.from('abc'));
      await begun.suspend();
      const resumed = await (await opened.reopen()).resumeWrite('begun');
      expect([resumed.offsetBytes, resumed.missing]).toEqual([10, { start: 0, end: 6 }]);
      await expect(resumed.truncate(5)).rejects.toThrow('missing');
      for (const chunk of ['ab', 'cd', 'ef', 'xy']) await resumed.fill(Buffer.from(chunk));
      expect(resumed.missing).toBeUndefined();
      await resumed.write(Buffer.from('k'));
      expect(Buffer.from(await resumed.read(4, 7)).toString()).toBe('efghijk');
      await resumed.commit();
      expect(String(await bytesOf('begun'))).toBe('abcdefghijk');
    });

    it('begins again where what followed on missing bytes was lost', async () => {
      const begun = await store.resumeWrite('begun-again');
      await begun.startAt(6);
      await begun.write(Buffer.from('ghij'));
      await begun.restart();
      expect([begun.offsetBytes, begun.missing]).toEqual([0, undefined]);
      await begun.suspend();
      const again = await (await opened.reopen()).resumeWrite('begun-again');
      expect([again.offsetBytes, again.missing]).toEqual([0, undefined]);
      await again.discard();
    });

    it('goes on where a suspended write stopped, also after a restart', async () => {
      const first = await store.resumeWrite('resumed');
      await first.write(Buffer.from('abc'));
      await first.suspend();
      const second = await (await opened.reopen()).resumeWrite('resumed');
      expect(second.offsetBytes).toBe(3);
      await second.write(Buffer.from('def'));
      await second.commit();
      expect(String(await bytesOf('resumed'))).toBe('abcdef');
    });

    it('drops the end of a write, and replaces bytes that may be stored elsewhere already', async () => {
      const whole = randomBytes(40_000_000);
      const write = await store.resumeWrite('patched');
      await write.write(whole);
      await write.write(Buffer.from('too much'));
      await write.truncate(whole.length);
      expect(write.offsetBytes).toBe(whole.length);
      await write.sync();
      await write.patch(24, Buffer.from('patched'));
      await write.write(Buffer.from('end'));
      await write.flush();
      whole.write('patched', 24);
      await write.commit();
      expect((await bytesOf('patched'))!.equals(Buffer.concat([whole, Buffer.from('end')]))).toBe(true);
      await store.delete('patched');
    });

    it('starts again, and forgets a discarded write', async () => {
      const write = await store.resumeWrite('again');
      await write.write(randomBytes(2_000_000));
      await write.restart();
      expect(write.offsetBytes).toBe(0);
      await write.write(Buffer.from('new'));
      await write.suspend();
      const resumed = await store.resumeWrite('again');
      expect(resumed.offsetBytes).toBe(3);
      await resumed.discard();
      const fresh = await store.resumeWrite('again');
      expect(fresh.offsetBytes).toBe(0);
      await fresh.discard();
      expect(await store.stat('again')).toBeUndefined();
    });

    it('refuses a second write of one blob at a time', async () => {
      const write = await store.resumeWrite('busy');
      await expect(store.resumeWrite('busy')).rejects.toMatchObject({ code: 'unavailable', failure: 'retry' });
      await write.discard();
      await (await store.resumeWrite('busy')).discard();
    });

    it('replaces a small blob in one step', async () => {
      await store.put('small', Buffer.from('a long first version'));
      await store.put('small', Buffer.from('second'));
      expect(String(await bytesOf('small'))).toBe('second');
      await store.put('empty', new Uint8Array(0));
      expect(await store.stat('empty')).toEqual({ sizeBytes: 0 });
    });

    it('deletes one blob, and everything below a prefix but no neighbour', async () => {
      for (const key of ['assets/d/source', 'assets/d/index.bin', 'assets/de/source', 'assets/d.x']) {
        await store.put(key, Buffer.from(key));
      }
      const unfinished = await store.resumeWrite('assets/d/mezzanine.mp4');
      await unfinished.write(Buffer.from('x'));
      await unfinished.suspend();
      await store.delete('assets/d/index.bin');
      await store.delete('assets/d/index.bin');
      expect(await store.stat('assets/d/index.bin')).toBeUndefined();
      await store.deletePrefix('assets/d');
      await store.deletePrefix('assets/d');
      expect(await store.stat('assets/d/source')).toBeUndefined();
      const after = await store.resumeWrite('assets/d/mezzanine.mp4');
      expect(after.offsetBytes).toBe(0);
      await after.discard();
      expect(await store.stat('assets/de/source')).toBeDefined();
      expect(await store.stat('assets/d.x')).toBeDefined();
    });

    it('discards unfinished writes below a prefix, and all that nothing needs, but no blob', async () => {
      const leave = async (key: string): Promise<void> => {
        const write = await store.resumeWrite(key);
        await write.write(Buffer.from('begun'));
        await write.suspend();
      };
      const begun = async (key: string): Promise<number> => {
        const write = await store.resumeWrite(key);
        const { offsetBytes } = write;
        await (offsetBytes === 0 ? write.discard() : write.suspend());
        return offsetBytes;
      };
      await store.put('assets/u/index.bin', Buffer.from('whole'));
      for (const key of ['assets/u/source', 'assets/u/tracks/t/source', 'assets/uu/source', 'assets/v/source'])
        await leave(key);
      await store.discardUnfinished('assets/u');
      expect(await begun('assets/u/source')).toBe(0);
      expect(await begun('assets/u/tracks/t/source')).toBe(0);
      expect(await begun('assets/uu/source')).toBe(5);
      expect(await store.sweepUnfinished(new Set(['assets/v/source', 'assets/w/source']))).toBe(1);
      expect(await begun('assets/uu/source')).toBe(0);
      expect(await begun('assets/v/source')).toBe(5);
      expect(await store.stat('assets/u/index.bin')).toEqual({ sizeBytes: 5 });
      await store.deletePrefix('assets/v');
    });

    it('lends a local file, or says that there is none', async () => {
      await store.put('local', Buffer.from('bytes'));
      const local = await store.openLocal('local');
      expect(String(await readFile(local.path))).toBe('bytes');
      await local.release();
      await expect(store.openLocal('absent')).rejects.toMatchObject({ code: 'not_found' });
      await expect(store.openLocal('local/below')).rejects.toMatchObject({ code: 'not_found' });
    });

    it.each(['', '/etc/passwd', '../x', 'a/../../x', 'a//b', 'a/./b', '.partial/x', 'a\0b', 'a\\b', 'a/', 'ä'])(
      'refuses the key %j',
      async (key) => {
        await expect(store.stat(key)).rejects.toMatchObject({ code: 'internal_error' });
        await expect(store.resumeWrite(key)).rejects.toMatchObject({ code: 'internal_error' });
        await expect(store.put(key, Buffer.from('x'))).rejects.toMatchObject({ code: 'internal_error' });
        await expect(store.deletePrefix(key)).rejects.toMatchObject({ code: 'internal_error' });
      },
    );
  });
};
