import { afterAll, beforeAll, describe } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { quietLogger } from '../support/logger.js';
import { openTestDatabase } from '../support/servers/database.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../support/servers/postgres.js';

/** Runs one suite against the embedded engine and against a PostgreSQL server. */
export const describeOnBothEngines = (title: string, suite: (database: () => Database) => void): void => {
  describe(`${title} on PGlite`, () => {
    let opened: Awaited<ReturnType<typeof openTestDatabase>>;
    beforeAll(async () => {
      opened = await openTestDatabase();
    });
    afterAll(() => opened.close());
    suite(() => opened.database);
  });
  describe.skipIf(!hasPostgres())(`${title} on PostgreSQL`, () => {
    let server: TestPostgres;
    let database: Database;
    beforeAll(async () => {
      server = await startPostgres();
      database = await openDatabase({
        url: await server.createDatabase('kinora'),
        dataDir: '/nowhere',
        logger: quietLogger,
      });
      await migrate(database);
    });
    afterAll(async () => {
      await database.close();
      await server.stop();
    });
    suite(() => database);
  });
};
