import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { validateCreateUpload } from '#kinora/api/validate/create-upload.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { createUpload } from '#kinora/domain/uploads/create-upload.js';
import { EarlySources } from '#kinora/early/sources.js';
import { createUploadTargets } from '#kinora/jobs/ingest/upload-targets.js';
import { systemClock } from '#kinora/lib/clock.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { sourceKey } from '#kinora/storage/keys.js';
import { createRangeBlobStore } from '#kinora/storage/range-store.js';
import { fixture } from '../../support/media/fixtures.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { openTestDatabase, type TestDatabase } from '../../support/servers/database.js';

let opened: TestDatabase;
let dir: string;
beforeAll(async () => {
  opened = await openTestDatabase();
  dir = await mkdtemp(join(tmpdir(), 'kinora-targets-'));
});
afterAll(async () => {
  await opened?.close();
  await rm(dir, { recursive: true, force: true });
});

it('an upload that comes back while its target is discarded gets a new file', async () => {
  const { database } = opened;
  await bootstrap(database, opened, systemClock);
  const { id: environmentId } = await database.queryable
    .selectFrom('environment')
    .select('id')
    .executeTakeFirstOrThrow();
  const context = { database, queue: createQueue(database), clock: systemClock } as DomainContext;
  const blobs = createRangeBlobStore(new DiskBlobStore(dir));
  let asked = 0;
  let endProcess!: (error: Error) => void;
  /** A media process that does not end at once when it is told to. */
  const process = new Promise<never>((_, reject) => {
    endProcess = reject;
  });
  process.catch(() => undefined);
  const run = () => {
    asked += 1;
    return process;
  };
  const targets = createUploadTargets({
    ...{ context, blobs, earlySources: new EarlySources(), temporaryDir: dir, logger: memoryLogger() },
    segments: { removeAsset: async () => {} } as never,
    producer: { warm: async () => {} } as never,
    pool: { run, prepare: () => {} } as never,
    playsEarly: true,
  });
  const request = validateCreateUpload({ new_asset_settings: { playback_policies: ['public'] } }, 'basic');
  const upload = await createUpload(context, environmentId, request);
  const key = sourceKey(upload.target_asset_id);
  const file = await readFile(await fixture('growing.mkv'));

  const first = await targets.open(upload);
  first.setTotal(file.length);
  await first.write(file.subarray(0, file.length / 2));
  await first.suspend();
  await expect.poll(() => asked).toBe(1);
  // It is kept for the next request.
  expect(await targets.open(upload)).toBe(first);

  const dropped = targets.drop(upload.id);
  const opening = targets.open(upload);
  endProcess(new Error('ended'));
  const second = await opening;
  expect(second.offsetBytes).toBe(0);
  await second.write(file);
  await dropped;
  await second.commit();
  const stored = await (await blobs.read(key))!.toArray();
  expect(Buffer.concat(stored).equals(file)).toBe(true);
});
