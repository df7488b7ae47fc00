import { administer } from '../support/administer.js';
import { type Command, print, printTable } from '../support/command.js';

const create: Command = {
  summary: 'makes an access token and prints it, once',
  args: [],
  flags: {
    '--name': 'what the token is for',
    '--environment': 'id of its environment; the default environment when absent',
    '--permissions': 'comma list such as video:read,video:write; all when absent',
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
  summary: 'lists the access tokens, without their secrets',
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
  summary: 'makes an access token invalid within five seconds',
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
