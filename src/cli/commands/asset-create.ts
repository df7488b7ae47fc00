import { isKinoraError } from '../../lib/errors.js';
import { type ApiCall, connectApi } from '../support/api-client.js';
import { type ApiAsset, playerUrl, problemsOf, publicPlaybackId, watchAssets } from '../support/assets.js';
import { apiSettings, type Command, type Flags, json, textOf, usageError } from '../support/command.js';
import { print, printError, printJson } from '../support/print.js';
import { Progress } from '../support/progress.js';
import { listSources, type Source } from '../support/sources.js';
import { uploadSource } from '../support/upload-source.js';

interface Started {
  readonly source: Source;
  readonly id: string;
}

/** `new_asset_settings`, or the body of an asset without its inputs. */
const settingsOf = (flags: Flags, source: Source): object => {
  const title = textOf(flags, '--title') ?? (source.kind === 'file' ? source.label : undefined);
  const passthrough = textOf(flags, '--passthrough');
  return {
    playback_policies: [textOf(flags, '--policy') ?? 'public'],
    video_quality: flags['--quality'],
    meta: title === undefined ? undefined : { title },
    passthrough,
  };
};

/** Settings of the main input. */
const inputOf = (flags: Flags): object => (flags['--embedded-tracks'] ? { embedded_tracks: true } : {});

const startAsset = async (api: ApiCall, source: Source, flags: Flags, progress: Progress): Promise<string> => {
  const settings = settingsOf(flags, source);
  if (source.kind !== 'url')
    return uploadSource(api, source, { inputs: [inputOf(flags)], ...settings }, progress).finally(() => progress.end());
  const body = { inputs: [{ url: source.url, ...inputOf(flags) }], ...settings };
  return (await api<ApiAsset>('POST', '/video/v1/assets', body)).data.id;
};

/** A failure of one of several sources, which are labeled; the others are not affected. */
const report = (label: string | undefined, messages: readonly string[]): void => {
  for (const message of messages) printError(`kinora: ${label === undefined ? '' : `${label}: `}${message}`);
};

export const createAssets: Command = {
  summary: 'create assets from files, folders or URLs and print where they play',
  args: ['<source...>'],
  flags: {
    '--title <text>': "title of the asset; the file's name if absent",
    '--policy <policy>': { doc: 'who may play it; public if absent', choices: ['public', 'signed'] },
    '--quality <quality>': {
      doc: 'video quality; the one of the environment if absent',
      choices: ['basic', 'plus', 'premium'],
    },
    '--passthrough <text>': 'your own text, stored with the asset',
    '--embedded-tracks': 'make tracks of the subtitle and further audio streams of the files',
    '--wait': 'wait until the assets are ready (default)',
    '--no-wait': 'print the IDs of the assets as soon as the files are stored',
    ...json,
  },
  settings: apiSettings,
  examples: [
    'kinora asset create ./holiday.mp4',
    'kinora asset create https://example.org/video.mp4 --title "Summer" --quality plus',
    'kinora asset create ./videos intro.mp4 --policy signed --no-wait',
    'curl -s https://example.org/video.mp4 | kinora asset create - --title Holiday --json',
  ],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const sources = await listSources(args, (folder, count) => {
      const [files, are] = count === 1 ? ['file', 'is'] : ['files', 'are'];
      printError(`${folder}: ${count} ${files} without a known extension of video or audio ${are} left out.`);
    });
    if (flags['--title'] !== undefined && sources.length > 1) throw usageError('--title needs exactly one source.');
    const isSingle = sources.length === 1;
    const progress = new Progress();
    const started: Started[] = [];
    for (const source of sources) {
      try {
        started.push({ source, id: await startAsset(api, source, flags, progress) });
      } catch (error) {
        if (isSingle || !isKinoraError(error)) throw error;
        report(source.label, error.messages);
      }
    }
    if (flags['--no-wait']) {
      if (flags['--json']) printJson(started.map(({ id, source }) => ({ id, source: source.label })));
      else for (const { id } of started) print(id);
      return started.length === sources.length ? 0 : 1;
    }
    const assets = await watchAssets(
      api,
      started.map(({ id }) => id),
      progress,
    );
    for (const [index, asset] of assets.entries()) {
      if (asset.status === 'errored') report(isSingle ? undefined : started[index]!.source.label, problemsOf(asset));
    }
    const ready = assets.filter(({ status }) => status === 'ready');
    if (flags['--json']) printJson(assets);
    else for (const asset of ready) print(playsAt(asset, (id) => playerUrl(config, id)));
    return ready.length === sources.length ? 0 : 1;
  },
};

/** The address of the player page, if everyone may open it. */
export const playsAt = (asset: ApiAsset, urlOf: (playbackId: string) => string): string => {
  const playbackId = publicPlaybackId(asset);
  return playbackId ? urlOf(playbackId.id) : `${asset.id} is ready. It has no public playback ID.`;
};
