import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/options.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { type ApiAsset, type ApiCall, connectApi, serverUrl } from '../support/api-client.js';
import { apiSettings, type Command, json } from '../support/command.js';
import { print, printFields, printRows } from '../support/print.js';
import { createProgress } from '../support/progress.js';
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

/** Follows an asset until it is ready and prints where it plays. */
const watchAsset = async (api: ApiCall, config: Config, id: string): Promise<number> => {
  const line = createProgress();
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
  args: ['<source>'],
  settings: apiSettings,
  examples: ['kinora asset create ./holiday.mp4'],
  run: async ({ config, args }) => {
    const source = args[0]!;
    const api = await connectApi(config);
    const settings = { playback_policies: ['public'] };
    if (/^https?:\/\//i.test(source)) {
      const { data } = await api<ApiAsset>('POST', '/video/v1/assets', { inputs: [{ url: source }], ...settings });
      return watchAsset(api, config, data.id);
    }
    const line = createProgress();
    const id = await uploadFile(api, source, settings, line.show).finally(line.end);
    return watchAsset(api, config, id);
  },
};

const list: Command = {
  summary: 'list all assets, newest first',
  args: [],
  flags: json,
  settings: apiSettings,
  examples: ['kinora asset list'],
  run: async ({ config, flags }) => {
    const api = await connectApi(config);
    const assets: ApiAsset[] = [];
    let cursor: string | null | undefined = '';
    while (typeof cursor === 'string') {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await api<ApiAsset[]>('GET', `/video/v1/assets?limit=100${query}`);
      assets.push(...page.data);
      cursor = page.next_cursor;
    }
    printRows(flags, assets, ['ID', 'STATUS', 'CREATED', 'SECONDS', 'TITLE'], (asset) => [
      asset.id,
      describe(asset),
      new Date(Number(asset.created_at) * 1000).toISOString(),
      asset.duration?.toFixed(3) ?? '-',
      asset.meta?.title ?? '',
    ]);
    return 0;
  },
};

const show: Command = {
  summary: 'print an asset',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: ['kinora asset show uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGq'],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    printFields(flags, (await api<ApiAsset>('GET', assetPath(args[0]!))).data);
    return 0;
  },
};

const watch: Command = {
  summary: 'wait until an asset is ready',
  args: ['<id>'],
  settings: apiSettings,
  examples: ['kinora asset watch uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGq'],
  run: async ({ config, args }) => watchAsset(await connectApi(config), config, args[0]!),
};

const remove: Command = {
  summary: 'delete an asset',
  args: ['<id>'],
  settings: apiSettings,
  examples: ['kinora asset delete uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGq'],
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
