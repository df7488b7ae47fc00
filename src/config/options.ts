import { availableParallelism } from 'node:os';
import type { Kind } from './kinds.js';
import {
  accessToken,
  addressBlocks,
  baseUrl,
  bearerToken,
  blobs,
  boolean,
  databaseUrl,
  directory,
  durationMs,
  host,
  nameOrPath,
  oneOf,
  programCall,
  rate,
  s3Setting,
  signingSecret,
  sizeBytes,
  sizeBytesFrom,
  text,
  textList,
  webhookUrl,
  wholeNumber,
} from './kinds.js';

/**
 * The one table of everything that can be set: validation, flags, `docs/configuration.md` and `.env.example` come from it.
 * `KINORA_DATA_DIR` is the environment variable, the line of `.env` and, as `--data-dir`, the flag.
 */
export interface Option<T = unknown> {
  readonly variable: `KINORA_${string}`;
  readonly section: 'Server' | 'Access' | 'Sources' | 'Webhooks' | 'Storage' | 'Media' | 'Speech' | 'Robots' | 'Logs';
  readonly kind: Kind<T>;
  /** In the form that a person would write it. */
  readonly default?: string;
  /** A default that depends on the machine, and how the documentation calls it. */
  readonly computed?: { readonly value: () => T; readonly doc: string };
  readonly doc: string;
  readonly secret?: boolean;
}

export const options = {
  dataDir: {
    kind: directory,
    variable: 'KINORA_DATA_DIR',
    section: 'Server',
    default: './kinora-data',
    doc: 'Everything that the embedded default keeps: database, sources, cache, secrets.',
  },
  host: {
    kind: host,
    variable: 'KINORA_HOST',
    section: 'Server',
    default: '127.0.0.1',
    doc: 'Address to listen on; `0.0.0.0` for every network.',
  },
  port: {
    kind: wholeNumber(0, 65_535),
    variable: 'KINORA_PORT',
    section: 'Server',
    default: '8080',
    doc: 'Port to listen on; 0 picks a free one, the real address is printed and logged.',
  },
  publicUrl: {
    kind: baseUrl,
    variable: 'KINORA_PUBLIC_URL',
    section: 'Server',
    doc: 'Origin for API, console and upload addresses in answers; `http://<host>:<port>` when not set.',
  },
  streamUrl: {
    kind: baseUrl,
    variable: 'KINORA_STREAM_URL',
    section: 'Server',
    doc: 'Base of playback addresses; the public URL when not set. Requests are accepted on any host name.',
  },
  imageUrl: {
    kind: baseUrl,
    variable: 'KINORA_IMAGE_URL',
    section: 'Server',
    doc: 'Base of image URLs in storyboards; the public URL when not set. With neither, the URLs are relative.',
  },
  trustedProxies: {
    kind: addressBlocks,
    variable: 'KINORA_TRUSTED_PROXIES',
    section: 'Server',
    default: 'false',
    doc: 'Proxies whose `X-Forwarded-For`, `-Host` and `-Proto` headers count: all, or a comma list of CIDR blocks.',
  },
  shutdownLimitMs: {
    kind: durationMs,
    variable: 'KINORA_SHUTDOWN_LIMIT',
    section: 'Server',
    default: '30s',
    doc: 'How long a stop may take before running work is cut off; it is taken up again at the next start.',
  },
  token: {
    kind: accessToken,
    variable: 'KINORA_TOKEN',
    section: 'Access',
    secret: true,
    doc: 'A token with every permission that is made at start if absent, for automation and tests.',
  },
  rateLimitPost: {
    kind: rate,
    variable: 'KINORA_RATE_LIMIT_POST',
    section: 'Access',
    doc: 'POST requests to the API that each environment may make; without limit when not set.',
  },
  rateLimitOther: {
    kind: rate,
    variable: 'KINORA_RATE_LIMIT_OTHER',
    section: 'Access',
    doc: 'Requests to the API by any other method that each environment may make; without limit when not set.',
  },
  metricsHost: {
    kind: host,
    variable: 'KINORA_METRICS_HOST',
    section: 'Server',
    default: '127.0.0.1',
    doc: 'Address on which `/metrics` is served.',
  },
  metricsPort: {
    kind: wholeNumber(0, 65_535),
    variable: 'KINORA_METRICS_PORT',
    section: 'Server',
    doc: 'Port of its own for `/metrics`, which asks for no credentials; not served when not set. 0 picks a free one, which is logged.',
  },
  riskyUserAgents: {
    kind: textList,
    variable: 'KINORA_RISKY_USER_AGENTS',
    section: 'Access',
    default: 'curl,wget,python-requests,go-http-client,ffmpeg,lavf,youtube-dl,yt-dlp,aria2',
    doc: 'Parts of the `User-Agent` of programs that playback restrictions may forbid as high-risk; letter case does not matter.',
  },
  sample: {
    kind: boolean,
    variable: 'KINORA_SAMPLE',
    section: 'Server',
    default: 'true',
    doc: 'On the first start of a fresh data directory make the sample asset.',
  },
  allowPrivateSources: {
    kind: addressBlocks,
    variable: 'KINORA_ALLOW_PRIVATE_SOURCES',
    section: 'Sources',
    default: 'false',
    doc: 'Addresses that imports and webhooks may reach although not public: all of them, or a comma list of CIDR blocks.',
  },
  maxSourceBytes: {
    kind: sizeBytes,
    variable: 'KINORA_MAX_SOURCE_SIZE',
    section: 'Sources',
    default: '100GiB',
    doc: 'The largest source file that is taken in.',
  },
  userAgent: {
    kind: text,
    variable: 'KINORA_USER_AGENT',
    section: 'Sources',
    default: 'Kinora/0.1',
    doc: 'The `User-Agent` of downloads.',
  },
  webhookUrl: {
    kind: webhookUrl,
    variable: 'KINORA_WEBHOOK_URL',
    section: 'Webhooks',
    secret: true,
    doc: 'A webhook of the default environment that is kept as long as this is set; needs `KINORA_WEBHOOK_SECRET`.',
  },
  webhookSecret: {
    kind: signingSecret,
    variable: 'KINORA_WEBHOOK_SECRET',
    section: 'Webhooks',
    secret: true,
    doc: 'Signing secret of the webhook that `KINORA_WEBHOOK_URL` names.',
  },
  eventRetentionMs: {
    kind: durationMs,
    variable: 'KINORA_EVENT_RETENTION',
    section: 'Webhooks',
    default: '720h',
    doc: 'How long events and their deliveries stay readable; what is still to be delivered stays longer.',
  },
  databaseUrl: {
    kind: databaseUrl,
    variable: 'KINORA_DATABASE_URL',
    section: 'Storage',
    secret: true,
    doc: 'A PostgreSQL database (version 15 or newer) instead of the embedded one.',
  },
  blobs: {
    kind: blobs,
    variable: 'KINORA_BLOBS',
    section: 'Storage',
    default: 'file',
    doc: 'Where sources are kept: `file` is the data directory. `s3://bucket/prefix` is not supported yet.',
  },
  s3Endpoint: {
    kind: s3Setting,
    variable: 'KINORA_S3_ENDPOINT',
    section: 'Storage',
    doc: 'Reserved for S3 storage.',
  },
  s3Region: {
    kind: s3Setting,
    variable: 'KINORA_S3_REGION',
    section: 'Storage',
    doc: 'Reserved for S3 storage.',
  },
  s3AccessKeyId: {
    kind: s3Setting,
    variable: 'KINORA_S3_ACCESS_KEY_ID',
    section: 'Storage',
    doc: 'Reserved for S3 storage.',
  },
  s3SecretAccessKey: {
    kind: s3Setting,
    variable: 'KINORA_S3_SECRET_ACCESS_KEY',
    section: 'Storage',
    secret: true,
    doc: 'Reserved for S3 storage.',
  },
  s3PathStyle: {
    kind: s3Setting,
    variable: 'KINORA_S3_PATH_STYLE',
    section: 'Storage',
    doc: 'Reserved for S3 storage.',
  },
  cacheSizeBytes: {
    kind: sizeBytes,
    variable: 'KINORA_CACHE_SIZE',
    section: 'Storage',
    default: '10GiB',
    doc: 'Bound of the segment, image and file cache on disk; the least recently used files go first.',
  },
  mediaProcesses: {
    kind: wholeNumber(1, 256),
    variable: 'KINORA_MEDIA_PROCESSES',
    section: 'Media',
    computed: { value: availableParallelism, doc: 'number of cores' },
    doc: 'Media processes kept.',
  },
  mediaMemoryBytes: {
    // Measured: with 100 MiB the process can't load FFmpeg, with 128 MiB it encodes.
    kind: sizeBytesFrom('128MiB'),
    variable: 'KINORA_MEDIA_MEMORY',
    section: 'Media',
    default: '2GiB',
    doc: 'Memory that one media process may take before it is stopped.',
  },
  ingestConcurrency: {
    kind: wholeNumber(1, 64),
    variable: 'KINORA_INGEST_CONCURRENCY',
    section: 'Media',
    default: '2',
    doc: 'Assets that are prepared at the same time; downloads are not counted. As many more may be transcoded before they are ready.',
  },
  defaultVideoQuality: {
    kind: oneOf('basic', 'plus', 'premium'),
    variable: 'KINORA_DEFAULT_VIDEO_QUALITY',
    section: 'Media',
    default: 'basic',
    doc: 'On the first start: the `video_quality` that assets of the first environment get when the request names none. `kinora env update` changes it later.',
  },
  speechModel: {
    kind: nameOrPath,
    variable: 'KINORA_SPEECH_MODEL',
    section: 'Speech',
    doc: 'Recognizes speech on this machine: a model that `kinora speech install` has stored, by its name, or the path of a file in the format of whisper.cpp. With `KINORA_SPEECH_URL`: how the service calls its model, `whisper-1` when not set.',
  },
  speechUrl: {
    kind: baseUrl,
    variable: 'KINORA_SPEECH_URL',
    section: 'Speech',
    doc: 'Recognizes speech with an OpenAI-compatible service: the base of its API, such as `http://127.0.0.1:8000/v1`. Private addresses are allowed here.',
  },
  speechKey: {
    kind: bearerToken,
    variable: 'KINORA_SPEECH_KEY',
    section: 'Speech',
    secret: true,
    doc: 'Sent to the service of `KINORA_SPEECH_URL` as a bearer token.',
  },
  speechCommand: {
    kind: programCall,
    variable: 'KINORA_SPEECH_COMMAND',
    section: 'Speech',
    doc: 'Recognizes speech with a program that writes SRT, WebVTT or JSON to its standard output or to `{output}`. Replaced are `{audio}` (a WAV file of at most 30 seconds), `{language}` (a code, or `auto`), `{phrases}` and `{output}`. No shell is involved.',
  },
  speechTimeoutMs: {
    kind: durationMs,
    variable: 'KINORA_SPEECH_TIMEOUT',
    section: 'Speech',
    default: '10m',
    doc: 'How long the service or the program may take for 30 seconds of speech.',
  },
  aiUrl: {
    kind: baseUrl,
    variable: 'KINORA_AI_URL',
    section: 'Robots',
    doc: 'A server with an OpenAI-compatible `/v1/chat/completions`, for workflows that need a language model. It may be at an internal address.',
  },
  aiKey: {
    kind: text,
    variable: 'KINORA_AI_KEY',
    section: 'Robots',
    secret: true,
    doc: 'Sent to that server as a bearer token.',
  },
  aiModel: {
    kind: text,
    variable: 'KINORA_AI_MODEL',
    section: 'Robots',
    doc: 'Name of the model that reads captions; without it such jobs end with `provider_unavailable`.',
  },
  aiVisionModel: {
    kind: text,
    variable: 'KINORA_AI_VISION_MODEL',
    section: 'Robots',
    doc: 'Name of the model that looks at frames; may be the same.',
  },
  logLevel: {
    kind: oneOf('debug', 'info', 'warn', 'error'),
    variable: 'KINORA_LOG_LEVEL',
    section: 'Logs',
    default: 'info',
    doc: 'The least serious lines that are logged.',
  },
  logFormat: {
    kind: oneOf('pretty', 'json'),
    variable: 'KINORA_LOG_FORMAT',
    section: 'Logs',
    computed: { value: () => (process.stderr.isTTY ? 'pretty' : 'json'), doc: '`pretty` on a terminal, else `json`' },
    doc: 'Form of the log, which goes to standard error.',
  },
} as const satisfies Record<string, Option>;

type Table = typeof options;
type Value<O> = O extends { readonly kind: Kind<infer T> } ? T : never;
type Settable = { [K in keyof Table]: [Value<Table[K]>] extends [never] ? never : K }[keyof Table];
type WithDefault = {
  [K in Settable]: Table[K] extends { readonly default: string } | { readonly computed: object } ? K : never;
}[Settable];

/** Every option in its final form: sizes in bytes, times in milliseconds, paths absolute, addresses without a slash at the end. */
export type Config = { readonly [K in WithDefault]: Value<Table[K]> } & {
  readonly [K in Exclude<Settable, WithDefault>]?: Value<Table[K]>;
};

/** `KINORA_DATA_DIR` is `--data-dir`. */
export const flagOf = (variable: string): string =>
  `--${variable.slice('KINORA_'.length).toLowerCase().replaceAll('_', '-')}`;
