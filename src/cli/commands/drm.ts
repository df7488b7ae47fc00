import { administer } from '../support/administer.js';
import { type Command, print, printTable } from '../support/command.js';
import { drmFlags, readDrmFlags } from '../support/drm-settings.js';

const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

const create: Command = {
  summary: 'create a DRM configuration and print its ID',
  args: [],
  flags: drmFlags,
  run: async ({ flags, ...context }) => {
    print(await administer(context, 'drm create', readDrmFlags(flags)));
    return 0;
  },
};

const list: Command = {
  summary: 'list DRM configurations, newest first',
  args: [],
  switches: { '--json': 'prints JSON' },
  run: async ({ flags, ...context }) => {
    const configurations = await administer(context, 'drm list', undefined);
    if (flags['--json']) {
      printJson(
        configurations.map(({ id, name, keySource, environmentId, createdAt }) => ({
          id,
          name,
          key_source: keySource,
          environment_id: environmentId,
          created_at: createdAt,
        })),
      );
      return 0;
    }
    printTable([
      ['ID', 'KEY SOURCE', 'ENVIRONMENT', 'CREATED', 'NAME'],
      ...configurations.map(({ id, keySource, environmentId, createdAt, name }) => [
        id,
        keySource,
        environmentId,
        createdAt,
        name,
      ]),
    ]);
    return 0;
  },
};

const show: Command = {
  summary: 'print a DRM configuration without its secrets',
  args: ['<id>'],
  switches: { '--json': 'prints JSON' },
  run: async ({ args, flags, ...context }) => {
    const shown = await administer(context, 'drm show', { id: args[0]! });
    if (flags['--json']) printJson(shown);
    else {
      const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
      printTable(Object.entries(shown).map(([name, value]) => [name, textOf(value)]));
    }
    return 0;
  },
};

const remove: Command = {
  summary: 'delete a DRM configuration that no playback ID uses, and its keys',
  args: ['<id>'],
  run: async ({ args, ...context }) => {
    await administer(context, 'drm delete', { id: args[0]! });
    print(`${args[0]} is deleted.`);
    return 0;
  },
};

export const drmCommands: Readonly<Record<string, Command>> = {
  'drm create': create,
  'drm list': list,
  'drm show': show,
  'drm delete': remove,
};
