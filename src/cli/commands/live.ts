import type { Config } from '../../config/options.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { type ApiCall, connectApi, PAGE } from '../support/api-client.js';
import { type PlaybackId, playerUrl, timeOf } from '../support/assets.js';
import { apiSettings, type Command, json, textOf, wholeNumberOf } from '../support/command.js';
import { type ApiEvent, followEvents } from '../support/follow-events.js';
import { print, printError, printFields, printJson, printJsonLine, printRows } from '../support/print.js';

/** The fields of a live stream that the command line reads, those of the console among them. */
interface ApiLiveStream {
  readonly id: string;
  readonly status: string;
  readonly created_at: string;
  readonly stream_key: string;
  readonly latency_mode: string;
  readonly reconnect_window: number;
  readonly active_asset_id?: string;
  readonly recent_asset_ids?: readonly string[];
  readonly playback_ids?: readonly PlaybackId[];
  readonly meta?: { readonly title?: string };
  readonly connected: boolean;
  readonly simulcast_targets?: readonly SimulcastTarget[];
}

interface SimulcastTarget {
  readonly url: string;
  readonly status: string;
  readonly error_severity?: 'normal' | 'fatal';
}

interface LiveStreamDetails extends ApiLiveStream {
  /** RTMPS first; empty when the server receives no encoders. */
  readonly ingest_urls: readonly string[];
  /** With the stream key and the passphrase; absent when the server does not receive SRT. */
  readonly srt_url?: string;
}

const STREAMS = '/video/v1/live-streams';
const AN_ID = 'gN5qTx8WbK1vJ6yHf0ZpR4uLdE2mC7aBgN5qTx8W';
/** What the console is told beyond the API: where encoders send, and whether one is connected. */
const CONSOLE_STREAMS = '/console/api/live-streams';

/**
 * A request about a live stream; its ID stands between the two parts of the path.
 * @throws KinoraError `not_found`, with advice
 */
const callOf = async <T>(
  api: ApiCall,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  base: string,
  id: string,
  rest = '',
): Promise<T> => {
  const unknown = new KinoraError('not_found', {
    messages: [`There is no live stream with the id ${JSON.stringify(id)}.`, 'kinora live list shows them.'],
  });
  // An empty one, or `..`, would change the path.
  if (!isId(id)) throw unknown;
  const { data } = await api<T>(method, `${base}/${id}${rest}`).catch((error: unknown) => {
    throw isKinoraError(error, 'not_found') ? unknown : error;
  });
  return data;
};

const getDetails = (api: ApiCall, id: string): Promise<LiveStreamDetails> =>
  callOf<LiveStreamDetails>(api, 'GET', CONSOLE_STREAMS, id);

/** The status of the API, and whether an encoder is connected. */
const statusOf = ({ status, connected }: ApiLiveStream): string => {
  if (status === 'active') return connected ? 'live' : 'live, encoder lost';
  return connected ? `${status}, encoder connected` : status;
};

const targetOf = ({ url, status, error_severity: severity }: SimulcastTarget): string => {
  const next = severity === 'fatal' ? ', gets no more of this broadcast' : ', is tried again';
  return `${url} (${status}${severity === undefined ? '' : next})`;
};

const fieldsOf = (config: Config, stream: LiveStreamDetails): Record<string, string | undefined> => {
  const { ingest_urls: servers, srt_url: srtUrl } = stream;
  const [url, ...others] = servers;
  return {
    id: stream.id,
    title: stream.meta?.title,
    status: statusOf(stream),
    created: timeOf(stream.created_at),
    latency: stream.latency_mode,
    'reconnect window': `${stream.reconnect_window} s`,
    server: url ?? (srtUrl === undefined ? 'none: this server receives no encoders, and its log says why' : undefined),
    'or server': others[0],
    'stream key': stream.stream_key,
    'or by SRT': srtUrl,
    ...Object.fromEntries(
      (stream.playback_ids ?? []).map(({ id, policy }) => [`${policy} playback`, playerUrl(config, id)]),
    ),
    ...Object.fromEntries(
      (stream.simulcast_targets ?? []).map((target, at) => [`simulcast target ${at + 1}`, targetOf(target)]),
    ),
    'recorded as': stream.active_asset_id,
    'latest recording': stream.active_asset_id === undefined ? stream.recent_asset_ids?.at(-1) : undefined,
  };
};

const create: Command = {
  summary: 'create a live stream and print where to send it and where it plays',
  args: [],
  flags: {
    '--title <text>': 'title of the live stream',
    '--policy <policy>': { doc: 'who may play it and its recordings; public if absent', choices: ['public', 'signed'] },
    '--latency <mode>': { doc: 'latency mode; standard if absent', choices: ['standard', 'reduced', 'low'] },
    '--reconnect-window <seconds>': 'how long to wait for an encoder that is lost, from 0 to 1800',
    '--test': 'make a test stream',
    ...json,
  },
  settings: apiSettings,
  examples: ['kinora live create --title Harbor --latency low', 'kinora live create --policy signed --json'],
  run: async ({ config, flags }) => {
    const title = textOf(flags, '--title');
    const policies = [textOf(flags, '--policy') ?? 'public'];
    const window = wholeNumberOf(flags, '--reconnect-window', 0, 1800);
    const api = await connectApi(config);
    const { data } = await api<ApiLiveStream>('POST', STREAMS, {
      playback_policies: policies,
      new_asset_settings: { playback_policies: policies },
      latency_mode: flags['--latency'],
      reconnect_window: window,
      test: flags['--test'],
      meta: title === undefined ? undefined : { title },
    });
    const details = await getDetails(api, data.id);
    printFields(flags, details, fieldsOf(config, details));
    return 0;
  },
};

const list: Command = {
  summary: 'list live streams, newest first',
  args: [],
  flags: {
    '--status <status>': { doc: 'only those with this status', choices: ['active', 'idle', 'disabled'] },
    ...json,
  },
  settings: apiSettings,
  examples: ['kinora live list', 'kinora live list --status active --json'],
  run: async ({ config, flags }) => {
    const status = textOf(flags, '--status');
    const streams = await listAll(await connectApi(config), status);
    printRows(flags, streams, ['ID', 'STATUS', 'CREATED', 'LATENCY', 'TITLE'], (stream) => [
      stream.id,
      statusOf(stream),
      timeOf(stream.created_at),
      stream.latency_mode,
      stream.meta?.title ?? '',
    ]);
    return 0;
  },
};

/** Newest first. */
const listAll = async (api: ApiCall, status: string | undefined): Promise<ApiLiveStream[]> => {
  const filter = status === undefined ? '' : `&status=${status}`;
  // A live stream that is created meanwhile moves others to the next page.
  const byId = new Map<string, ApiLiveStream>();
  for (let page = 1, length = PAGE; length === PAGE; page++) {
    const { data } = await api<ApiLiveStream[]>('GET', `${CONSOLE_STREAMS}?limit=${PAGE}&page=${page}${filter}`);
    for (const stream of data) byId.set(stream.id, stream);
    length = data.length;
  }
  return [...byId.values()];
};

const show: Command = {
  summary: 'print a live stream, its stream key and where it plays',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: [`kinora live show ${AN_ID}`, `kinora live show ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const details = await getDetails(await connectApi(config), args[0]!);
    printFields(flags, details, fieldsOf(config, details));
    return 0;
  },
};

const watch: Command = {
  summary: 'print what happens to a live stream and its recordings, until Ctrl-C is pressed',
  args: ['<id>'],
  flags: { '--json': 'print the events as JSON, one object each' },
  settings: apiSettings,
  examples: [`kinora live watch ${AN_ID}`, `kinora live watch ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const stream = await getDetails(api, args[0]!);
    const events = followEvents(api, {
      onReady: () => printError(`The live stream is ${statusOf(stream)}. Press Ctrl-C to stop.`),
      onWaiting: () => printError('The server does not answer; waiting for it.'),
    });
    for await (const event of events) {
      const { object, data } = event;
      if (object.id !== stream.id && data.live_stream_id !== stream.id) continue;
      if (flags['--json']) printJsonLine(JSON.stringify(event));
      else print([event.created_at, event.type, detailOf(event)].join('  ').trimEnd());
      if (event.type === 'video.live_stream.deleted') break;
    }
    return 0;
  },
};

/** What an event says beyond its type: a warning, or which recording or target it is about. */
const detailOf = ({ object, data }: ApiEvent): string => {
  if (data.warning) return data.warning.message;
  if (object.type === 'simulcast_target') return data.url ?? '';
  return object.type === 'live' ? '' : object.id;
};

/** A command that changes a live stream and prints a sentence about it. */
const change = (
  summary: string,
  words: string,
  { method, path }: { readonly method: 'PUT' | 'DELETE'; readonly path: string },
  sentence: (id: string) => string,
): Command => ({
  summary,
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: [`kinora live ${words} ${AN_ID}`, `kinora live ${words} ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const id = args[0]!;
    await callOf(await connectApi(config), method, STREAMS, id, path);
    if (flags['--json']) printJson({ id });
    else print(sentence(id));
    return 0;
  },
});

const resetKey: Command = {
  summary: 'replace the stream key, disconnect the encoder that uses it, and print the new one',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: [`kinora live reset-key ${AN_ID}`, `kinora live reset-key ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const stream = await callOf<ApiLiveStream>(api, 'POST', STREAMS, args[0]!, '/reset-stream-key');
    if (flags['--json']) printJson(stream);
    else print(stream.stream_key);
    return 0;
  },
};

export const liveCommands: Readonly<Record<string, Command>> = {
  'live create': create,
  'live list': list,
  'live show': show,
  'live watch': watch,
  'live complete': change(
    'end the broadcast',
    'complete',
    { method: 'PUT', path: '/complete' },
    (id) => `The broadcast of ${id} has ended.`,
  ),
  'live disable': change(
    'end the broadcast and refuse encoders',
    'disable',
    { method: 'PUT', path: '/disable' },
    (id) => `${id} is disabled.`,
  ),
  'live enable': change(
    'accept encoders again',
    'enable',
    { method: 'PUT', path: '/enable' },
    (id) => `${id} is enabled.`,
  ),
  'live reset-key': resetKey,
  'live delete': change(
    'end the broadcast and delete the live stream; recordings stay',
    'delete',
    { method: 'DELETE', path: '' },
    (id) => `${id} is deleted.`,
  ),
};
