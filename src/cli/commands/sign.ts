import { writeFile } from 'node:fs/promises';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { allPages, connectApi } from '../support/api-client.js';
import { playerUrl, timeOf } from '../support/assets.js';
import { apiSettings, type Command, json, textOf, usageError } from '../support/command.js';
import { print, printJson, printRows } from '../support/print.js';
import { type Audience, audiences, signFlags, signToken } from '../support/sign-token.js';

interface ApiSigningKey {
  readonly id: string;
  readonly created_at: string;
  /** PEM as Base64; only in the response to its creation. */
  readonly private_key?: string;
}

const KEYS = '/system/v1/signing-keys';
const A_KEY = 'b3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfGuPS';

/**
 * What is behind the playback ID in the URL that needs the token; a DRM token goes with the URL of
 * a license.
 */
const paths: Readonly<Record<Audience, string | undefined>> = {
  video: '.m3u8',
  thumbnail: '/thumbnail.jpg',
  gif: '/animated.gif',
  storyboard: '/storyboard.jpg',
  drm: undefined,
};

const readParameters = (text: string | undefined): Record<string, string> => {
  if (text === undefined) return {};
  const entries = text.split(',').map((pair) => /^([^=]+)=(.+)$/.exec(pair)?.slice(1) as [string, string] | undefined);
  if (entries.every((entry) => entry !== undefined)) return Object.fromEntries(entries);
  throw usageError('--params must be of the form name=value,name=value.');
};

const sign: Command = {
  summary: 'sign a link to a playback ID with the policy signed',
  args: ['<playback-id>'],
  flags: {
    ...signFlags,
    '--type <type>': { doc: 'what the link leads to; video if absent', choices: Object.keys(audiences) },
    '--params <list>': 'parameters of an image, such as time=3,width=640',
    ...json,
  },
  settings: apiSettings,
  examples: [
    'kinora sign 4nN01ZFDgrCJKGquPSf3Kx9ePh5ZxzXPsdKKAbCd --key key.json --expires 7d',
    'kinora sign 4nN01ZFDgrCJKGquPSf3Kx9ePh5ZxzXPsdKKAbCd --key key.json --type thumbnail --params time=1 --json',
  ],
  run: async ({ config, args, flags }) => {
    const playbackId = args[0]!;
    if (!isId(playbackId)) throw usageError(`${JSON.stringify(playbackId)} is not a playback ID.`);
    const type = (textOf(flags, '--type') ?? 'video') as Audience;
    const { token, expiresAt } = await signToken(flags, playbackId, type, readParameters(textOf(flags, '--params')));
    const path = paths[type];
    const url = path === undefined ? undefined : `${playerUrl(config, playbackId)}${path}?token=${token}`;
    if (flags['--json']) printJson({ token, url, expires_at: expiresAt.toISOString() });
    else print(url ?? token);
    return 0;
  },
};

const create: Command = {
  summary: 'create a signing key and write it to a file, or print it once',
  args: [],
  flags: { '--output <file>': 'new file for the key; printed as JSON if absent' },
  settings: apiSettings,
  examples: ['kinora signing-key create --output key.json'],
  run: async ({ config, flags }) => {
    const api = await connectApi(config);
    const path = textOf(flags, '--output');
    // Before the key is made, which can't be read again.
    if (path !== undefined) await createFile(path);
    const { data } = await api<ApiSigningKey>('POST', KEYS);
    if (path === undefined) printJson(data);
    else {
      await writeFile(path, `${JSON.stringify(data, null, 2)}\n`);
      print(`${data.id} is written to ${path}. Keep the file secret.`);
    }
    return 0;
  },
};

const createFile = async (path: string): Promise<void> => {
  try {
    await writeFile(path, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError(`--output: ${path} ${code === 'EEXIST' ? 'exists' : `cannot be written (${code})`}.`);
  }
};

const list: Command = {
  summary: 'list signing keys',
  args: [],
  flags: json,
  settings: apiSettings,
  examples: ['kinora signing-key list'],
  run: async ({ config, flags }) => {
    const keys = await allPages<ApiSigningKey>(await connectApi(config), KEYS);
    printRows(flags, keys, ['ID', 'CREATED'], ({ id, created_at }) => [id, timeOf(created_at)]);
    return 0;
  },
};

const remove: Command = {
  summary: 'delete a signing key; links signed with it stop working',
  args: ['<id>'],
  settings: apiSettings,
  examples: [`kinora signing-key delete ${A_KEY}`],
  run: async ({ config, args }) => {
    const api = await connectApi(config);
    const id = args[0]!;
    if (!isId(id)) {
      throw new KinoraError('not_found', { messages: [`There is no signing key with the id ${JSON.stringify(id)}.`] });
    }
    await api('DELETE', `${KEYS}/${id}`);
    print(`${id} is deleted.`);
    return 0;
  },
};

export const signCommands: Readonly<Record<string, Command>> = {
  sign,
  'signing-key create': create,
  'signing-key list': list,
  'signing-key delete': remove,
};
