/** What happens to the lease of an upload when its database fails for a moment. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { validateCreateUpload } from '#kinora/api/validate/create-upload.js';
import type { Row } from '#kinora/db/schema.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { createUpload } from '#kinora/domain/uploads/create-upload.js';
import { createUploadWriters } from '#kinora/domain/uploads/create-upload-writers.js';
import { createUploadLeases } from '#kinora/domain/uploads/upload-leases.js';
import { systemClock } from '#kinora/lib/clock.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { openTestDatabase, type TestDatabase } from '../../support/servers/database.js';

let opened: TestDatabase;
let context: DomainContext;
let environmentId: string;
beforeAll(async () => {
  opened = await openTestDatabase();
  const { database } = opened;
  await bootstrap(database, opened, systemClock);
  environmentId = (await database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow()).id;
  context = { database, queue: createQueue(database), clock: systemClock } as DomainContext;
});
afterAll(() => opened?.close());

const newUpload = (): Promise<Row<'upload'>> =>
  createUpload(context, environmentId, validateCreateUpload({ new_asset_settings: {} }, 'basic'));

it('releases a lease whose taking was not announced', async () => {
  const db = opened.database.queryable;
  const { id } = await newUpload();
  const [first, second] = [createUploadLeases(opened), createUploadLeases(opened)];
  const lease = await first.take(id);
  await lease.save({ ...lease.state, receivedBytes: 10 });
  await lease.release();

  await sql`create function public.pg_notify(text, text) returns void language plpgsql as
    $$ begin raise exception 'lost' using errcode = '08006'; end $$`.execute(db);
  await sql`set search_path = public, pg_catalog`.execute(db);
  try {
    await expect(second.take(id)).rejects.toMatchObject({ code: '08006' });
  } finally {
    await sql`reset search_path`.execute(db);
    await sql`drop function public.pg_notify(text, text)`.execute(db);
  }
  expect(await second.isHeld(id)).toBe(false);
  const next = await second.takeIfFree(id);
  expect(next?.state.receivedBytes).toBe(10);
  await next!.release();
});

it('a lease that can not be released hides no other outcome', async () => {
  const db = opened.database.queryable;
  const breakLeases = () => db.schema.alterTable('upload_transfer').renameTo('away').execute();
  const mendLeases = () => db.schema.alterTable('away').renameTo('upload_transfer').execute();
  const [waiting, complete] = [await newUpload(), await newUpload()];
  const leases = createUploadLeases(opened);
  const writers = createUploadWriters({
    ...context,
    blobs: new DiskBlobStore(opened.dataDir),
    targets: {
      open: async () => {
        await breakLeases();
        throw new Error('the target is not opened');
      },
      drop: async () => {},
      stop: async () => {},
    },
    leases: {
      ...leases,
      take: async (id) => {
        const lease = await leases.take(id);
        if (id !== complete.id) return lease;
        // In the meantime, another server has received the file.
        await db.updateTable('upload').set({ status: 'asset_created', total_bytes: 5 }).where('id', '=', id).execute();
        await breakLeases();
        return lease;
      },
    },
    logger: memoryLogger(),
    maxBytes: 1000,
  });

  await expect(writers.open(waiting.id)).rejects.toThrow('the target is not opened');
  await mendLeases();
  const writer = await writers.open(complete.id);
  expect(writer.isComplete).toBe(true);
  await writer.close();
  await mendLeases();

  await db.updateTable('upload').set({ early_playback_ids: '[]' }).where('id', '=', waiting.id).execute();
  await db.deleteFrom('upload_transfer').execute();
  await expect(writers.settle(waiting.id)).rejects.toThrow('the target is not opened');
  await mendLeases();
});
