import { administer } from '../support/administer.js';
import { type Command, type CommandContext, print, printTable, usageError } from '../support/command.js';

const types = ['development', 'production'] as const;
const qualities = ['basic', 'plus', 'premium'] as const;

/** @throws KinoraError `config_invalid` when the flag has another value */
const choose = <T extends string>(
  flags: CommandContext['flags'],
  name: string,
  values: readonly T[],
): T | undefined => {
  const given = flags[name];
  const found = values.find((value) => value === given);
  if (given !== undefined && found === undefined) throw usageError(`${name} must be one of ${values.join(', ')}.`);
  return found;
};

const create: Command = {
  summary: 'create an environment and print its ID',
  args: ['<name>'],
  flags: {
    '--type': 'development or production (default); only a label',
    '--video-quality': 'basic (default), plus or premium: video quality of requests that name none',
  },
  run: async ({ args, flags, ...context }) => {
    const type = choose(flags, '--type', types) ?? 'production';
    const videoQuality = choose(flags, '--video-quality', qualities) ?? 'basic';
    const environment = await administer(context, 'env create', { name: args[0]!, type, videoQuality });
    print(environment.id);
    return 0;
  },
};

const update: Command = {
  summary: 'update an environment',
  args: ['<id>'],
  flags: { '--video-quality': 'basic, plus or premium: video quality of later requests that name none' },
  run: async ({ args, flags, ...context }) => {
    const videoQuality = choose(flags, '--video-quality', qualities);
    if (videoQuality === undefined) throw usageError('--video-quality is required.');
    await administer(context, 'env update', { id: args[0]!, videoQuality });
    print(`${args[0]} now has the video quality ${videoQuality}.`);
    return 0;
  },
};

const list: Command = {
  summary: 'list environments; the first one is the default',
  args: [],
  run: async (context) => {
    const environments = await administer(context, 'env list', undefined);
    printTable([
      ['ID', 'NAME', 'TYPE', 'VIDEO QUALITY', 'CREATED'],
      ...environments.map(({ id, name, type, videoQuality, createdAt }) => [id, name, type, videoQuality, createdAt]),
    ]);
    return 0;
  },
};

export const envCommands: Readonly<Record<string, Command>> = {
  'env create': create,
  'env update': update,
  'env list': list,
};
