/** What happens to the lease of an upload when its database fails for a moment. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { validateCreateUpload } from '#kinora/api/validate/create-upload.js';
import { wireFormat } from '#kinora/api/wire-format.js';
import type { Row } from '#kinora/db/schema.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { systemClock } from '#kinora/lib/clock.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { createUpload } from '#kinora/uploads/create-upload.js';
import { UploadFiles } from '#kinora/uploads/upload-files.js';
import { UploadLeases } from '#kinora/uploads/upload-leases.js';
import { UploadSessions } from '#kinora/uploads/upload-sessions.js';
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
  context = { database, queue: createQueue(database), clock: systemClock, wire: wireFormat } as DomainContext;
});
afterAll(() => opened?.close());

const newUpload = (): Promise<Row<'upload'>> =>
  createUpload(context, environmentId, validateCreateUpload({ new_asset_settings: {} }, 'basic'));

it('releases a lease whose taking was not announced', async () => {
  const db = opened.database.queryable;
  const { id } = await newUpload();
  const [first, second] = [new UploadLeases(opened.database), new UploadLeases(opened.database)];
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
  const blobs = new DiskBlobStore(opened.dataDir);
  const logger = memoryLogger();
  const files = new UploadFiles({ context, blobs, logger });
  vi.spyOn(files, 'open').mockImplementation(async () => {
    await breakLeases();
    throw new Error('the file is not opened');
  });
  const leases = new UploadLeases(opened.database);
  const take = leases.take.bind(leases);
  vi.spyOn(leases, 'take').mockImplementation(async (id) => {
    const lease = await take(id);
    if (id !== complete.id) return lease;
    // In the meantime, another server has received the file.
    await db.updateTable('upload').set({ status: 'asset_created', total_bytes: 5 }).where('id', '=', id).execute();
    await breakLeases();
    return lease;
  });
  const sessions = new UploadSessions({ context, blobs, files, leases, logger, maxBytes: 1000 });

  await expect(sessions.open(waiting.id)).rejects.toThrow('the file is not opened');
  await mendLeases();
  const session = await sessions.open(complete.id);
  expect(session.isComplete).toBe(true);
  await session.close();
  await mendLeases();

  await db.updateTable('upload').set({ early_playback_ids: '[]' }).where('id', '=', waiting.id).execute();
  await db.deleteFrom('upload_transfer').execute();
  await expect(sessions.settle(waiting.id)).rejects.toThrow('the file is not opened');
  await mendLeases();
});
