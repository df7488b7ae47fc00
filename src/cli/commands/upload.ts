import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { allPages, connectApi } from '../support/api-client.js';
import { apiSettings, type Command, json, textOf, wholeNumberOf } from '../support/command.js';
import { print, printJson, printRows } from '../support/print.js';

interface ApiUpload {
  readonly id: string;
  readonly status: string;
  readonly timeout: number;
  readonly url?: string;
  readonly asset_id?: string;
  readonly new_asset_settings?: { readonly meta?: { readonly title?: string } };
}

const UPLOADS = '/video/v1/uploads';

const create: Command = {
  summary: 'create a direct upload and print the URL that takes the file',
  args: [],
  flags: {
    '--title <text>': 'title of the asset',
    '--policy <policy>': { doc: 'who may play it; public if absent', choices: ['public', 'signed'] },
    '--quality <quality>': {
      doc: 'video quality; the one of the environment if absent',
      choices: ['basic', 'plus', 'premium'],
    },
    '--cors-origin <origin>': 'origin of the web page that uploads, such as https://example.org',
    '--timeout <seconds>': 'how long the URL is valid, from 60 to 604800; 3600 if absent',
    ...json,
  },
  settings: apiSettings,
  examples: ['kinora upload create --title Holiday', 'curl -T holiday.mp4 "$(kinora upload create)"'],
  run: async ({ config, flags }) => {
    const title = textOf(flags, '--title');
    const timeout = wholeNumberOf(flags, '--timeout', 60, 604_800);
    const api = await connectApi(config);
    const { data } = await api<ApiUpload>('POST', UPLOADS, {
      cors_origin: flags['--cors-origin'],
      timeout,
      new_asset_settings: {
        playback_policies: [textOf(flags, '--policy') ?? 'public'],
        video_quality: flags['--quality'],
        meta: title === undefined ? undefined : { title },
      },
    });
    if (flags['--json']) printJson(data);
    else print(data.url!);
    return 0;
  },
};

const list: Command = {
  summary: 'list direct uploads, newest first',
  args: [],
  flags: json,
  settings: apiSettings,
  examples: ['kinora upload list'],
  run: async ({ config, flags }) => {
    const uploads = await allPages<ApiUpload>(await connectApi(config), UPLOADS);
    printRows(flags, uploads, ['ID', 'STATUS', 'ASSET', 'TITLE'], ({ id, status, asset_id, new_asset_settings }) => [
      id,
      status,
      asset_id ?? '-',
      new_asset_settings?.meta?.title ?? '',
    ]);
    return 0;
  },
};

const cancel: Command = {
  summary: 'cancel a direct upload that waits for its file',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: ['kinora upload cancel zd01Pe2bNpYhxbrwYABgFE01twZdtv4M00kts2i0'],
  run: async ({ config, args, flags }) => {
    const id = args[0]!;
    const api = await connectApi(config);
    if (!isId(id)) {
      throw new KinoraError('not_found', { messages: [`There is no upload with the id ${JSON.stringify(id)}.`] });
    }
    const { data } = await api<ApiUpload>('PUT', `${UPLOADS}/${id}/cancel`);
    if (flags['--json']) printJson(data);
    else print(`${id} is cancelled.`);
    return 0;
  },
};

export const uploadCommands: Readonly<Record<string, Command>> = {
  'upload create': create,
  'upload list': list,
  'upload cancel': cancel,
};
