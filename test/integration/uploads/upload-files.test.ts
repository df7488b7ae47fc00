import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { validateCreateUpload } from '#kinora/api/validate/create-upload.js';
import { wireFormat } from '#kinora/api/wire-format.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { EarlySources } from '#kinora/early/sources.js';
import { UploadPlay } from '#kinora/early/upload-play.js';
import { systemClock } from '#kinora/lib/clock.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { sourceKey } from '#kinora/storage/keys.js';
import { RangeStore } from '#kinora/storage/range-store.js';
import { createUpload } from '#kinora/uploads/create-upload.js';
import { UploadFiles } from '#kinora/uploads/upload-files.js';
import type { PlayableUpload } from '#kinora/uploads/upload-playback.js';
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

it('an upload that comes back while its file is discarded gets a new one', async () => {
  const { database } = opened;
  await bootstrap(database, opened, systemClock);
  const { id: environmentId } = await database.queryable
    .selectFrom('environment')
    .select('id')
    .executeTakeFirstOrThrow();
  const context = { database, queue: createQueue(database), clock: systemClock, wire: wireFormat } as DomainContext;
  const blobs = new RangeStore(new DiskBlobStore(dir));
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
  const logger = memoryLogger();
  const playDeps = {
    ...{ context, blobs, earlySources: new EarlySources(), temporaryDir: dir, logger },
    cache: { removeAsset: async () => {} } as never,
    producer: { warm: async () => {} } as never,
    pool: { run, prepare: () => {} } as never,
  };
  const play = (upload: PlayableUpload) => new UploadPlay(playDeps, upload);
  const files = new UploadFiles({ context, blobs, logger, early: { blobs, play } });
  const request = validateCreateUpload({ new_asset_settings: { playback_policies: ['public'] } }, 'basic');
  const upload = await createUpload(context, environmentId, request);
  const key = sourceKey(upload.target_asset_id);
  const file = await readFile(await fixture('growing.mkv'));

  const first = await files.open(upload);
  first.playback.declareSize(file.length);
  await first.write.write(file.subarray(0, file.length / 2));
  await first.playback.received();
  await first.pause();
  await expect.poll(() => asked).toBe(1);
  // It is kept for the next request.
  expect(await files.open(upload)).toBe(first);

  const dropped = files.drop(upload.id);
  const opening = files.open(upload);
  endProcess(new Error('ended'));
  const second = await opening;
  expect(second.write.offsetBytes).toBe(0);
  await second.write.write(file);
  await dropped;
  await second.playback.commit();
  const stored = await (await blobs.read(key))!.toArray();
  expect(Buffer.concat(stored).equals(file)).toBe(true);
});
