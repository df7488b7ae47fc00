import { administer } from '../support/administer.js';
import { type Command, print, printTable } from '../support/command.js';

const create: Command = {
  summary: 'create an access token and print it once',
  args: [],
  flags: {
    '--name': 'name of the token',
    '--environment': 'environment ID; the default environment if absent',
    '--permissions': 'comma-separated, such as video:read,video:write; all if absent',
  },
  run: async ({ flags, ...context }) => {
    const environmentId = flags['--environment']?.toString();
    const permissions = flags['--permissions']?.toString().split(',');
    const token = await administer(context, 'token create', {
      name: flags['--name']?.toString() ?? 'Access token',
      ...(environmentId !== undefined && { environmentId }),
      ...(permissions !== undefined && { permissions }),
    });
    print(token);
    return 0;
  },
};

const list: Command = {
  summary: 'list access tokens without their secrets',
  args: [],
  run: async (context) => {
    const tokens = await administer(context, 'token list', undefined);
    printTable([
      ['ID', 'NAME', 'ENVIRONMENT', 'CREATED', 'REVOKED', 'PERMISSIONS'],
      ...tokens.map((token) => [
        token.id,
        token.name,
        token.environmentId,
        token.createdAt,
        token.revokedAt ?? '-',
        token.permissions.join(','),
      ]),
    ]);
    return 0;
  },
};

const revoke: Command = {
  summary: 'revoke an access token; takes effect within five seconds',
  args: ['<id>'],
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
