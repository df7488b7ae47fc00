import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/options.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { type ApiAsset, type ApiCall, connectApi, serverUrl } from '../support/api-client.js';
import { type Command, print, printTable } from '../support/command.js';
import { uploadFile } from '../support/upload-file.js';

/** Only for valid IDs: an empty one, or `..`, would change the path. */
const assetPath = (id: string): string => {
  if (isId(id)) return `/video/v1/assets/${id}`;
  throw new KinoraError('not_found', { messages: [`There is no asset with the id ${JSON.stringify(id)}.`] });
};

const describe = (asset: ApiAsset): string => {
  if (asset.status !== 'preparing') return asset.status;
  const { state, progress } = asset.progress;
  return state === 'transcoding' ? `${state} ${Math.floor(progress)} %` : state;
};

/** On a terminal, one line that is updated in place; elsewhere, a line for each new state. */
const progressLine = () => {
  const terminal = process.stderr.isTTY;
  let last = '';
  return {
    show: (text: string) => {
      if (text !== last) process.stderr.write(terminal ? `\r\x1b[K${text}` : `${text}\n`);
      last = text;
    },
    end: () => {
      if (terminal && last !== '') process.stderr.write('\n');
    },
  };
};

/** Follows an asset until it is ready and prints where it plays. */
const watchAsset = async (api: ApiCall, config: Config, id: string): Promise<number> => {
  const line = progressLine();
  let asset: ApiAsset;
  for (;;) {
    asset = (await api<ApiAsset>('GET', assetPath(id))).data;
    line.show(`${id}  ${describe(asset)}`);
    if (asset.status !== 'preparing') break;
    await delay(500);
  }
  line.end();
  if (asset.status === 'errored') {
    const messages = [...(asset.errors?.messages ?? [])];
    if (messages.includes('The input URL is not allowed.'))
      messages.push('To import from a private address, start the server with --allow-private-sources.');
    throw new KinoraError('invalid_input', {
      messages: messages.length > 0 ? messages : ['The asset failed.'],
    });
  }
  const playbackId = asset.playback_ids?.find(({ policy }) => policy === 'public');
  print(
    playbackId
      ? `${config.streamUrl ?? serverUrl(config)}/${playbackId.id}`
      : `${id} is ready. It has no public playback ID.`,
  );
  return 0;
};

const create: Command = {
  summary: 'create an asset, wait until it is ready and print its playback URL',
  args: ['<url or file>'],
  run: async ({ config, args }) => {
    const source = args[0]!;
    const api = await connectApi(config);
    const settings = { playback_policies: ['public'] };
    if (/^https?:\/\//i.test(source)) {
      const { data } = await api<ApiAsset>('POST', '/video/v1/assets', { inputs: [{ url: source }], ...settings });
      return watchAsset(api, config, data.id);
    }
    const line = progressLine();
    const id = await uploadFile(api, source, settings, line.show).finally(line.end);
    return watchAsset(api, config, id);
  },
};

const list: Command = {
  summary: 'list all assets, newest first',
  args: [],
  run: async ({ config }) => {
    const api = await connectApi(config);
    const assets: ApiAsset[] = [];
    let cursor: string | null | undefined = '';
    while (typeof cursor === 'string') {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await api<ApiAsset[]>('GET', `/video/v1/assets?limit=100${query}`);
      assets.push(...page.data);
      cursor = page.next_cursor;
    }
    printTable([
      ['ID', 'STATUS', 'CREATED', 'SECONDS', 'TITLE'],
      ...assets.map((asset) => [
        asset.id,
        describe(asset),
        new Date(Number(asset.created_at) * 1000).toISOString(),
        asset.duration?.toFixed(3) ?? '-',
        asset.meta?.title ?? '',
      ]),
    ]);
    return 0;
  },
};

const show: Command = {
  summary: 'print an asset as JSON',
  args: ['<id>'],
  run: async ({ config, args }) => {
    const api = await connectApi(config);
    print(JSON.stringify((await api<ApiAsset>('GET', assetPath(args[0]!))).data, null, 2));
    return 0;
  },
};

const watch: Command = {
  summary: 'wait until an asset is ready',
  args: ['<id>'],
  run: async ({ config, args }) => watchAsset(await connectApi(config), config, args[0]!),
};

const remove: Command = {
  summary: 'delete an asset',
  args: ['<id>'],
  run: async ({ config, args }) => {
    const api = await connectApi(config);
    await api('DELETE', assetPath(args[0]!));
    print(`${args[0]} is deleted.`);
    return 0;
  },
};

export const assetCommands: Readonly<Record<string, Command>> = {
  'asset create': create,
  'asset list': list,
  'asset show': show,
  'asset watch': watch,
  'asset delete': remove,
};
