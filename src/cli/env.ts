import { createEnvironment, listEnvironments } from '../domain/access/environments.js';
import { systemClock } from '../lib/clock.js';
import { type Command, print, printTable, usageError } from './command.js';
import { withDatabase } from './with-database.js';

const types = ['development', 'production'] as const;

const create: Command = {
  summary: 'makes an environment and prints its id',
  args: ['<name>'],
  flags: { '--type': 'development or production (the default); a label without effect' },
  run: async ({ args, flags, ...context }) => {
    const wanted = flags['--type'] ?? 'production';
    const type = types.find((known) => known === wanted);
    if (type === undefined) throw usageError(`--type must be one of ${types.join(', ')}.`);
    const environment = await withDatabase(context, (database) =>
      createEnvironment(database, { name: args[0]!, type }, systemClock),
    );
    print(environment.id);
    return 0;
  },
};

const list: Command = {
  summary: 'lists the environments; the first one is the default',
  args: [],
  run: async (context) => {
    const environments = await withDatabase(context, listEnvironments);
    printTable([
      ['ID', 'NAME', 'TYPE', 'CREATED'],
      ...environments.map(({ id, name, type, createdAt }) => [id, name, type, createdAt.toISOString()]),
    ]);
    return 0;
  },
};

export const envCommands: Readonly<Record<string, Command>> = { 'env create': create, 'env list': list };
