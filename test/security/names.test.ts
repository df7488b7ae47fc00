import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isId, newId } from '#kinora/lib/ids.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';

const root = mkdtempSync(join(tmpdir(), 'kinora-names-'));
writeFileSync(join(root, 'secret'), 'secret');
const store = new DiskBlobStore(join(root, 'blobs'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const traversals = [
  '../secret',
  '..',
  '.',
  '',
  '/etc/passwd',
  '../blobs-other/x',
  'assets/../../secret',
  'assets/..%2f..%2fsecret',
  'assets//secret',
  'assets/a\0b',
  'assets\\..\\..\\secret',
  '.partial/x',
  `${join(root, 'secret')}`,
];

describe('a name from outside', () => {
  it.each([
    ...traversals,
    `${newId()}/..`,
    `${newId()}\n`,
    newId().slice(21),
    newId() + newId(),
    `${newId().slice(1)}é`,
  ])('is no id: %j', (text) => {
    expect(isId(text)).toBe(false);
  });

  it.each(traversals)('names nothing in the blob store: %j', async (key) => {
    await expect(store.read(key)).rejects.toMatchObject({ code: 'internal_error' });
    await expect(store.put(key, new Uint8Array(1))).rejects.toMatchObject({ code: 'internal_error' });
    await expect(store.delete(key)).rejects.toMatchObject({ code: 'internal_error' });
    await expect(store.deletePrefix(key)).rejects.toMatchObject({ code: 'internal_error' });
    await expect(store.openLocal(key)).rejects.toMatchObject({ code: 'internal_error' });
    await expect(store.resumeWrite(key)).rejects.toMatchObject({ code: 'internal_error' });
  });
});
