import type { Config } from '../../config/options.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { allPages, connectApi, serverUrl } from '../support/api-client.js';
import { type PlaybackId, playerUrl, timeOf } from '../support/assets.js';
import { apiSettings, type Command, json, textOf, wholeNumberOf } from '../support/command.js';
import { followEvents } from '../support/follow-events.js';
import { print, printError, printFields, printJson, printJsonLine, printRows } from '../support/print.js';

/** The fields of a live stream that the command line reads. */
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
}

const STREAMS = '/video/v1/live-streams';
const AN_ID = 'gN5qTx8WbK1vJ6yHf0ZpR4uLdE2mC7aBgN5qTx8W';
const settings = [...apiSettings, 'rtmpPort', 'rtmpsPort'] as const;

/** Only for valid IDs: an empty one, or `..`, would change the path. */
const pathOf = (id: string): string => {
  if (isId(id)) return `${STREAMS}/${id}`;
  throw new KinoraError('not_found', { messages: [`There is no live stream with the id ${JSON.stringify(id)}.`] });
};

/** Where an encoder sends; undefined when the server receives none. */
const ingestUrl = (config: Config): string | undefined => {
  const { rtmpPort, rtmpsPort } = config;
  const { hostname } = new URL(serverUrl(config));
  if (rtmpsPort !== 'off') return `rtmps://${hostname}:${rtmpsPort}/app`;
  return rtmpPort === 'off' ? undefined : `rtmp://${hostname}:${rtmpPort}/app`;
};

const fieldsOf = (config: Config, stream: ApiLiveStream): Record<string, string | undefined> => ({
  id: stream.id,
  title: stream.meta?.title,
  status: stream.status,
  created: timeOf(stream.created_at),
  latency: stream.latency_mode,
  'reconnect window': `${stream.reconnect_window} s`,
  'send to': ingestUrl(config),
  'stream key': stream.stream_key,
  ...Object.fromEntries(
    (stream.playback_ids ?? []).map(({ id, policy }) => [`${policy} playback`, playerUrl(config, id)]),
  ),
  'recorded asset': stream.active_asset_id ?? stream.recent_asset_ids?.at(-1),
});

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
  settings,
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
    printFields(flags, data, fieldsOf(config, data));
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
    const all = await allPages<ApiLiveStream>(await connectApi(config), STREAMS);
    const streams = status === undefined ? all : all.filter((stream) => stream.status === status);
    printRows(flags, streams, ['ID', 'STATUS', 'CREATED', 'LATENCY', 'TITLE'], (stream) => [
      stream.id,
      stream.status,
      timeOf(stream.created_at),
      stream.latency_mode,
      stream.meta?.title ?? '',
    ]);
    return 0;
  },
};

const show: Command = {
  summary: 'print a live stream, its stream key and where it plays',
  args: ['<id>'],
  flags: json,
  settings,
  examples: [`kinora live show ${AN_ID}`, `kinora live show ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const { data } = await (await connectApi(config))<ApiLiveStream>('GET', pathOf(args[0]!));
    printFields(flags, data, fieldsOf(config, data));
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
    const { data: stream } = await api<ApiLiveStream>('GET', pathOf(args[0]!));
    const events = followEvents(api, {
      onReady: () => printError(`The live stream is ${stream.status}. Press Ctrl-C to stop.`),
      onWaiting: () => printError('The server does not answer; waiting for it.'),
    });
    for await (const event of events) {
      const { object, data } = event;
      if (object.id !== stream.id && data.live_stream_id !== stream.id) continue;
      if (flags['--json']) printJsonLine(JSON.stringify(event));
      else print(`${event.created_at}  ${event.type}  ${object.id}`);
    }
    return 0;
  },
};

/** A command that changes a live stream and prints a sentence about it. */
const change = (
  summary: string,
  words: string,
  { method, path }: { readonly method: 'PUT' | 'DELETE'; readonly path: string },
  state: string,
): Command => ({
  summary,
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: [`kinora live ${words} ${AN_ID}`, `kinora live ${words} ${AN_ID} --json`],
  run: async ({ config, args, flags }) => {
    const id = args[0]!;
    await (await connectApi(config))(method, `${pathOf(id)}${path}`);
    if (flags['--json']) printJson({ id });
    else print(`${id} is ${state}.`);
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
    const path = `${pathOf(args[0]!)}/reset-stream-key`;
    const { data } = await (await connectApi(config))<ApiLiveStream>('POST', path);
    if (flags['--json']) printJson(data);
    else print(data.stream_key);
    return 0;
  },
};

export const liveCommands: Readonly<Record<string, Command>> = {
  'live create': create,
  'live list': list,
  'live show': show,
  'live watch': watch,
  'live complete': change('end the broadcast', 'complete', { method: 'PUT', path: '/complete' }, 'complete'),
  'live disable': change(
    'end the broadcast and refuse encoders',
    'disable',
    { method: 'PUT', path: '/disable' },
    'disabled',
  ),
  'live enable': change('accept encoders again', 'enable', { method: 'PUT', path: '/enable' }, 'enabled'),
  'live reset-key': resetKey,
  'live delete': change(
    'end the broadcast and delete the live stream; recordings stay',
    'delete',
    { method: 'DELETE', path: '' },
    'deleted',
  ),
};
