import { administer } from '../support/administer.js';
import { type Command, dataSettings, json, textOf } from '../support/command.js';
import { print, printJson, printRows } from '../support/print.js';

const create: Command = {
  summary: 'create an access token and print it once',
  args: [],
  flags: {
    '--name <name>': 'name of the token',
    '--environment <id>': 'environment ID; the default environment if absent',
    '--permissions <list>': 'comma-separated, such as video:read,video:write; all if absent',
    ...json,
  },
  settings: dataSettings,
  examples: [
    'kinora token create --name ci',
    'kinora token create --name uploader --permissions video:read,video:write --json',
  ],
  run: async ({ flags, ...context }) => {
    const environmentId = textOf(flags, '--environment');
    const permissions = textOf(flags, '--permissions')?.split(',');
    const token = await administer(context, 'token create', {
      name: textOf(flags, '--name') ?? 'Access token',
      environmentId,
      permissions,
    });
    const [id, secret] = token.split(/:(.*)/, 2);
    if (flags['--json']) printJson({ id, secret });
    else print(token);
    return 0;
  },
};

const list: Command = {
  summary: 'list access tokens without their secrets',
  args: [],
  flags: json,
  settings: dataSettings,
  examples: ['kinora token list'],
  run: async ({ flags, ...context }) => {
    const tokens = await administer(context, 'token list', undefined);
    printRows(
      flags,
      tokens.map(({ id, name, environmentId, createdAt, revokedAt, permissions }) => ({
        id,
        name,
        environment_id: environmentId,
        created_at: createdAt,
        revoked_at: revokedAt,
        permissions,
      })),
      ['ID', 'NAME', 'ENVIRONMENT', 'CREATED', 'REVOKED', 'PERMISSIONS'],
      (token) => [
        token.id,
        token.name,
        token.environment_id,
        token.created_at,
        token.revoked_at ?? '-',
        token.permissions.join(','),
      ],
    );
    return 0;
  },
};

const revoke: Command = {
  summary: 'revoke an access token; takes effect within five seconds',
  args: ['<id>'],
  settings: dataSettings,
  examples: ['kinora token revoke 6f0a2a3e-3b0e-4a8c-9b1d-2d5a6c7e8f90'],
  run: async ({ args, ...context }) => {
    await administer(context, 'token revoke', { id: args[0]! });
    print(`${args[0]} is revoked.`);
    return 0;
  },
};

export const tokenCommands: Readonly<Record<string, Command>> = {
  'token create': create,
  'token list': list,
  'token revoke': revoke,
};
