import { createInterface } from 'node:readline/promises';
import { isKinoraError } from '../../lib/errors.js';
import { terminalLine } from '../../lib/terminal-text.js';
import { type ApiCall, connectApi } from '../support/api-client.js';
import {
  type ApiAsset,
  assetFilters,
  assetPath,
  describeState,
  findAssets,
  getAsset,
  playerUrl,
  problemsOf,
  timeOf,
  watchAssets,
} from '../support/assets.js';
import {
  apiSettings,
  type Command,
  type CommandContext,
  type Flags,
  json,
  usageError,
  wholeNumberOf,
} from '../support/command.js';
import { print, printError, printFields, printJson, printRows } from '../support/print.js';
import { Progress } from '../support/progress.js';
import { createAssets, playsAt } from './asset-create.js';
import { openAsset } from './asset-open.js';

const AN_ID = 'uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG';

const list: Command = {
  summary: 'list assets, newest first',
  args: [],
  flags: { ...assetFilters, '--limit <number>': 'at most so many', ...json },
  settings: apiSettings,
  examples: [
    'kinora asset list',
    'kinora asset list --status errored --limit 20',
    'kinora asset list --title summer --json',
  ],
  run: async ({ config, flags }) => {
    const limit = wholeNumberOf(flags, '--limit', 1, 1_000_000);
    const assets = await findAssets(await connectApi(config), flags, limit);
    printRows(flags, assets, ['ID', 'STATUS', 'CREATED', 'SECONDS', 'TITLE'], (asset) => [
      asset.id,
      describeState(asset),
      timeOf(asset.created_at),
      asset.duration?.toFixed(3) ?? '-',
      asset.meta?.title ?? '',
    ]);
    return 0;
  },
};

const show: Command = {
  summary: 'print an asset and where it plays',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: [`kinora asset show ${AN_ID}`, `kinora asset show ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const asset = await getAsset(await connectApi(config), args[0]!);
    printFields(flags, asset, {
      id: asset.id,
      title: asset.meta?.title,
      status: describeState(asset),
      created: timeOf(asset.created_at),
      seconds: asset.duration?.toFixed(3),
      resolution: asset.resolution_tier,
      'aspect ratio': asset.aspect_ratio,
      'video quality': asset.video_quality,
      passthrough: asset.passthrough,
      ...Object.fromEntries(
        (asset.playback_ids ?? []).map(({ id, policy }) => [`${policy} playback`, playerUrl(config, id)]),
      ),
      problem: asset.status === 'errored' ? problemsOf(asset).join(' ') : undefined,
    });
    return 0;
  },
};

const watch: Command = {
  summary: 'wait until assets are ready and print where they play',
  args: ['<id...>'],
  flags: json,
  settings: apiSettings,
  examples: [`kinora asset watch ${AN_ID}`],
  run: async ({ config, args, flags }) => {
    const assets = await watchAssets(await connectApi(config), args, new Progress());
    if (flags['--json']) printJson(assets);
    let failed = false;
    for (const asset of assets) {
      if (asset.status === 'ready') {
        if (!flags['--json']) print(playsAt(asset, (id) => playerUrl(config, id)));
        continue;
      }
      failed = true;
      for (const message of problemsOf(asset)) printError(`kinora: ${asset.id}: ${message}`);
    }
    return failed ? 1 : 0;
  },
};

/** The assets with these IDs, or those that the filters choose. */
const chooseAssets = async (api: ApiCall, { args, flags }: Pick<CommandContext, 'args' | 'flags'>) => {
  const hasFilter = flags['--status'] !== undefined || flags['--title'] !== undefined;
  if (hasFilter === args.length > 0)
    throw usageError('Name the IDs of assets, or choose them with --status or --title.');
  if (hasFilter) return findAssets(api, flags);
  const assets: ApiAsset[] = [];
  for (const id of args) assets.push(await getAsset(api, id));
  return assets;
};

/** @throws KinoraError `config_invalid` when nobody can be asked */
const confirm = async (assets: readonly ApiAsset[], flags: Flags): Promise<boolean> => {
  if (flags['--yes']) return true;
  if (!process.stdin.isTTY) throw usageError('Nobody can confirm this without a terminal: add --yes.');
  for (const { id, status, meta } of assets) printError(terminalLine(`${id}  ${status}  ${meta?.title ?? ''}`));
  const question = createInterface({ input: process.stdin, output: process.stderr });
  const response = await question.question(
    `Delete ${assets.length === 1 ? 'this asset' : `these ${assets.length} assets`} and the files? [y/N] `,
  );
  question.close();
  return /^y(es)?$/i.test(response.trim());
};

const remove: Command = {
  summary: 'delete assets by ID or filter, after confirmation',
  args: ['[id...]'],
  flags: { ...assetFilters, '--yes': 'delete without asking', ...json },
  settings: apiSettings,
  examples: [`kinora asset delete ${AN_ID} --yes`, 'kinora asset delete --status errored --yes'],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const assets = await chooseAssets(api, { args, flags });
    if (assets.length > 0 && !(await confirm(assets, flags))) {
      printError('Nothing is deleted.');
      return 1;
    }
    const deleted: string[] = [];
    for (const { id } of assets) {
      try {
        await api('DELETE', assetPath(id));
        deleted.push(id);
        if (!flags['--json']) print(`${id} is deleted.`);
      } catch (error) {
        if (assets.length === 1 || !isKinoraError(error, 'not_found')) throw error;
        printError(`kinora: ${id} was already deleted.`);
      }
    }
    if (flags['--json']) printJson(deleted.map((id) => ({ id })));
    else if (assets.length === 0) print('No asset matches.');
    return 0;
  },
};

export const assetCommands: Readonly<Record<string, Command>> = {
  'asset create': createAssets,
  'asset list': list,
  'asset show': show,
  'asset watch': watch,
  'asset open': openAsset,
  'asset delete': remove,
};
