import { type Command, dataSettings, json } from '../support/command.js';
import { print, printJson } from '../support/print.js';
import { withOpenDatabase } from '../support/with-database.js';

export const migrateCommand: Command = {
  summary: 'update the database to this version without starting a server',
  args: [],
  flags: json,
  settings: dataSettings,
  examples: ['kinora migrate', 'kinora migrate --json'],
  run: async ({ flags, ...context }) => {
    const { migrate } = await import('../../db/migrate.js');
    const ran = await withOpenDatabase(context, (database) => migrate(database));
    if (flags['--json']) printJson({ applied: ran });
    else print(ran.length > 0 ? `Applied ${ran.join(', ')}.` : 'The database is up to date.');
    return 0;
  },
};
