import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { quietLogger } from '../../support/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { earlyUploads } from '../../support/wire/early-upload.js';
import { eventsOf } from '../../support/wire/events.js';
import { sendChunk } from '../../support/wire/uploading.js';

describe.runIf(hasPostgres())('an upload that plays early while the database is away', () => {
  let postgres: TestPostgres;
  let database: Database;
  let server: Booted;
  const logger = memoryLogger();
  beforeAll(async () => {
    postgres = await startPostgres();
    const url = await postgres.createDatabase('announced');
    server = await boot({ options: { DATABASE_URL: url, LOG_LEVEL: 'debug' }, logger });
    database = await openDatabase({ url, dataDir: '/nowhere', logger: quietLogger });
  });
  afterAll(async () => {
    await server?.stop();
    await database?.close();
    await postgres?.stop();
  });

  it.each(['long-index-first.mp4', 'growing.mkv'] as const)('is announced once it is back: %s', async (name) => {
    const db = database.queryable;
    const file = await readFile(await fixture(name));
    const { create, read, sendRest, segmentsOf, get } = earlyUploads(() => server);
    const { id, url } = await create();
    await sql`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'starting up' using errcode = '57P03'; end $$`.execute(db);
    await sql`create trigger refuse before insert on event for each row
      when (new.type = 'video.upload.playable') execute function refuse()`.execute(db);
    const before = logger.lines.length;
    expect((await sendChunk(url!, file, 0, Math.floor(file.length * 0.8), file.length)).status).toBe(308);
    const failure = () =>
      logger.lines.slice(before).some(({ fields }) => (fields.err as Error | undefined)?.message === 'starting up');
    await expect.poll(failure).toBe(true);
    expect((await read(id)).early_playback_ids).toBeUndefined();
    await sql`drop function refuse cascade`.execute(db);
    await expect.poll(async () => (await read(id)).early_playback_ids).toHaveLength(1);
    const [playbackId] = (await read(id)).early_playback_ids!.map(({ id }) => id);
    const [first] = await segmentsOf(playbackId!);
    expect((await get(first!)).status).toBe(200);
    const types = (await eventsOf(server, id)).map(({ type }) => type);
    expect(types.filter((type) => type === 'video.upload.playable')).toHaveLength(1);
    await sendRest(id, file);
    expect((await read(id)).status).toBe('asset_created');
  });
});
