import { administer } from '../support/administer.js';
import { type Command, dataSettings, json } from '../support/command.js';
import { drmFlags, readDrmFlags } from '../support/drm-settings.js';
import { print, printFields, printJson, printRows } from '../support/print.js';

const create: Command = {
  summary: 'create a DRM configuration and print its ID',
  args: [],
  flags: {
    ...Object.fromEntries(Object.entries(drmFlags).map(([name, doc]) => [`${name} <value>`, doc])),
    ...json,
  },
  settings: dataSettings,
  examples: ['kinora drm create --name Test --key-source local', 'kinora drm create --settings drm.json --json'],
  run: async ({ flags: { '--json': asJson, ...flags }, ...context }) => {
    const id = await administer(context, 'drm create', readDrmFlags(flags));
    if (asJson) printJson({ id });
    else print(id);
    return 0;
  },
};

const list: Command = {
  summary: 'list DRM configurations, newest first',
  args: [],
  flags: json,
  settings: dataSettings,
  examples: ['kinora drm list'],
  run: async ({ flags, ...context }) => {
    const configurations = await administer(context, 'drm list', undefined);
    printRows(
      flags,
      configurations.map(({ id, name, keySource, environmentId, createdAt }) => ({
        id,
        name,
        key_source: keySource,
        environment_id: environmentId,
        created_at: createdAt,
      })),
      ['ID', 'KEY SOURCE', 'ENVIRONMENT', 'CREATED', 'NAME'],
      ({ id, key_source, environment_id, created_at, name }) => [id, key_source, environment_id, created_at, name],
    );
    return 0;
  },
};

const show: Command = {
  summary: 'print a DRM configuration without its secrets',
  args: ['<id>'],
  flags: json,
  settings: dataSettings,
  examples: ['kinora drm show 1fVtnk9hBXbu4Ct7PQnKGO00VGzPsnSknAbCdEfG'],
  run: async ({ args, flags, ...context }) => {
    printFields(flags, await administer(context, 'drm show', { id: args[0]! }));
    return 0;
  },
};

const remove: Command = {
  summary: 'delete a DRM configuration that no playback ID uses, and its keys',
  args: ['<id>'],
  settings: dataSettings,
  examples: ['kinora drm delete 1fVtnk9hBXbu4Ct7PQnKGO00VGzPsnSknAbCdEfG'],
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
