import type { AdminResult } from '../../control/admin-operations.js';
import { administer } from '../support/administer.js';
import { type Command, dataSettings, json, textOf, usageError } from '../support/command.js';
import { print, printJson, printRows } from '../support/print.js';

const types = ['development', 'production'] as const;
const qualities = ['basic', 'plus', 'premium'] as const;

const sentEnvironment = ({ id, name, type, videoQuality, createdAt }: AdminResult<'env create'>) => ({
  id,
  name,
  type,
  video_quality: videoQuality,
  created_at: createdAt,
});

const create: Command = {
  summary: 'create an environment and print its ID',
  args: ['<name>'],
  flags: {
    '--type <type>': { doc: 'only a label; production if absent', choices: types },
    '--video-quality <quality>': {
      doc: 'video quality of requests that name none; basic if absent',
      choices: qualities,
    },
    ...json,
  },
  settings: dataSettings,
  examples: ['kinora env create Staging --type development', 'kinora env create Archive --video-quality plus --json'],
  run: async ({ args, flags, ...context }) => {
    const type = types.find((value) => value === flags['--type']) ?? 'production';
    const videoQuality = qualities.find((value) => value === flags['--video-quality']) ?? 'basic';
    const environment = await administer(context, 'env create', { name: args[0]!, type, videoQuality });
    if (flags['--json']) printJson(sentEnvironment(environment));
    else print(environment.id);
    return 0;
  },
};

const update: Command = {
  summary: 'update an environment',
  args: ['<id>'],
  flags: {
    '--video-quality <quality>': {
      doc: 'video quality of later requests that name none; required',
      choices: qualities,
    },
  },
  settings: dataSettings,
  examples: ['kinora env update k3x9ab --video-quality plus'],
  run: async ({ args, flags, ...context }) => {
    const videoQuality = qualities.find((value) => value === textOf(flags, '--video-quality'));
    if (videoQuality === undefined) throw usageError('--video-quality is required.');
    await administer(context, 'env update', { id: args[0]!, videoQuality });
    print(`${args[0]} now has the video quality ${videoQuality}.`);
    return 0;
  },
};

const list: Command = {
  summary: 'list environments; the first one is the default',
  args: [],
  flags: json,
  settings: dataSettings,
  examples: ['kinora env list'],
  run: async ({ flags, ...context }) => {
    const environments = await administer(context, 'env list', undefined);
    printRows(
      flags,
      environments.map(sentEnvironment),
      ['ID', 'NAME', 'TYPE', 'VIDEO QUALITY', 'CREATED'],
      ({ id, name, type, video_quality, created_at }) => [id, name, type, video_quality, created_at],
    );
    return 0;
  },
};

export const envCommands: Readonly<Record<string, Command>> = {
  'env create': create,
  'env update': update,
  'env list': list,
};
