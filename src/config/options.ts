import { availableParallelism } from 'node:os';
import type { Kind } from './kinds.js';
import {
  accessToken,
  addressBlocks,
  baseUrl,
  bearerToken,
  blobs,
  boolean,
  bucketPaths,
  databaseUrl,
  directory,
  durationMs,
  factorOrNever,
  file,
  headerName,
  host,
  ingestUrl,
  nameOrPath,
  oneOf,
  portOrOff,
  portRange,
  programCall,
  rate,
  roleList,
  signingSecret,
  sizeBytes,
  sizeBytesFrom,
  sizeBytesOrZero,
  text,
  textList,
  timeLimitMs,
  webhookUrl,
  wholeNumber,
} from './kinds.js';

/**
 * The only table of options. Validation, flags, `docs/configuration.md` and `.env.example` are
 * derived from it. `KINORA_DATA_DIR` names both the environment variable and the line in `.env`;
 * its flag is `--data-dir`.
 */
export interface Option<T = unknown> {
  readonly variable: `KINORA_${string}`;
  readonly section:
    | 'Server'
    | 'Access'
    | 'Sources'
    | 'Webhooks'
    | 'Storage'
    | 'Media'
    | 'Live'
    | 'Speech'
    | 'Robots'
    | 'Audience'
    | 'Logs';
  readonly kind: Kind<T>;
  /** As a user would write it. */
  readonly default?: string;
  /** A default that depends on the machine, and its description in the documentation. */
  readonly computed?: { readonly value: () => T; readonly doc: string };
  readonly doc: string;
  readonly secret?: boolean;
}

/**
 * One table, and therefore one file. Documentation, flags and `.env.example` are derived from it.
 */
export const options = {
  dataDir: {
    kind: directory,
    variable: 'KINORA_DATA_DIR',
    section: 'Server',
    default: './kinora-data',
    doc: 'Directory for the embedded database, sources, cache and first token.',
  },
  host: {
    kind: host,
    variable: 'KINORA_HOST',
    section: 'Server',
    default: '127.0.0.1',
    doc: 'Address to listen on; `0.0.0.0` listens on every interface.',
  },
  port: {
    kind: wholeNumber(0, 65_535),
    variable: 'KINORA_PORT',
    section: 'Server',
    default: '8080',
    doc: 'Port to listen on; 0 picks a free port, which is printed and logged.',
  },
  publicUrl: {
    kind: baseUrl,
    variable: 'KINORA_PUBLIC_URL',
    section: 'Server',
    doc: 'Base of API and upload URLs in responses; `http://<host>:<port>` if not set.',
  },
  streamUrl: {
    kind: baseUrl,
    variable: 'KINORA_STREAM_URL',
    section: 'Server',
    doc: 'Base of playback URLs; the public URL if not set. Requests are accepted for any host name.',
  },
  edgeOrigin: {
    kind: baseUrl,
    variable: 'KINORA_EDGE_ORIGIN',
    section: 'Server',
    doc: 'The server whose playback an edge caches. Needs `KINORA_ROLES=edge` and `KINORA_EDGE_SECRET`.',
  },
  edgeSecret: {
    kind: signingSecret,
    variable: 'KINORA_EDGE_SECRET',
    section: 'Server',
    doc: 'What edges and their origin share: set the same value on all servers. URLs in signed playlists are then signed with it; signed playlists that are already loaded stop working. `openssl rand -hex 32` makes one.',
    secret: true,
  },
  cacheTag: {
    kind: headerName,
    variable: 'KINORA_CACHE_TAG',
    section: 'Server',
    doc: 'Name of a header, such as `Cache-Tag` or `Surrogate-Key`: playback responses then have it with the ID of their asset, so that a CDN can purge a deleted asset. Choose one that your CDN does not pass on to viewers.',
  },
  imageUrl: {
    kind: baseUrl,
    variable: 'KINORA_IMAGE_URL',
    section: 'Server',
    doc: 'Base of image URLs in storyboards; the public URL if not set. Without either, the URLs are relative.',
  },
  trustedProxies: {
    kind: addressBlocks,
    variable: 'KINORA_TRUSTED_PROXIES',
    section: 'Server',
    default: 'false',
    doc: 'Proxies whose `X-Forwarded-For`, `-Host` and `-Proto` headers are trusted: all, or a comma-separated list of CIDR blocks.',
  },
  shutdownLimitMs: {
    kind: timeLimitMs,
    variable: 'KINORA_SHUTDOWN_LIMIT',
    section: 'Server',
    default: '30s',
    doc: 'Time limit for a shutdown. Work that is still running is interrupted and continues at the next start.',
  },
  roles: {
    kind: roleList,
    variable: 'KINORA_ROLES',
    section: 'Server',
    default: 'api,stream,upload,jobs',
    doc: 'What this server does, of several that share a database and a bucket: answers the API, serves playback, receives uploads, runs background jobs. `edge` alone makes it an edge, which has no database and caches the playback of `KINORA_EDGE_ORIGIN`.',
  },
  internalUrl: {
    kind: baseUrl,
    variable: 'KINORA_INTERNAL_URL',
    section: 'Server',
    doc: 'URL at which other servers of the installation reach this one; `http://<host>:<port>` if not set, with the first address of the machine where the host is `0.0.0.0`.',
  },
  drainMs: {
    kind: timeLimitMs,
    variable: 'KINORA_DRAIN',
    section: 'Server',
    default: '5s',
    doc: 'How long a server that stops still answers while `/readyz` is 503, so that load balancers notice. A server that is alone stops at once.',
  },
  token: {
    kind: accessToken,
    variable: 'KINORA_TOKEN',
    section: 'Access',
    secret: true,
    doc: 'A token with every permission, for automation and tests. The server creates it at startup if it does not exist.',
  },
  strictFields: {
    kind: boolean,
    variable: 'KINORA_STRICT_FIELDS',
    section: 'Access',
    default: 'false',
    doc: 'Refuse API requests with fields that do not exist. Otherwise they are ignored, and the response has the header `Kinora-Warning`.',
  },
  rateLimitPost: {
    kind: rate,
    variable: 'KINORA_RATE_LIMIT_POST',
    section: 'Access',
    doc: 'Limit of POST requests to the API for each environment; unlimited if not set.',
  },
  rateLimitOther: {
    kind: rate,
    variable: 'KINORA_RATE_LIMIT_OTHER',
    section: 'Access',
    doc: 'Limit of API requests with any other method for each environment; unlimited if not set.',
  },
  metricsHost: {
    kind: host,
    variable: 'KINORA_METRICS_HOST',
    section: 'Server',
    default: '127.0.0.1',
    doc: 'Address on which `/metrics` listens.',
  },
  metricsPort: {
    kind: wholeNumber(0, 65_535),
    variable: 'KINORA_METRICS_PORT',
    section: 'Server',
    doc: 'Separate port for `/metrics`, which needs no credentials; disabled if not set. 0 picks a free port, which is logged.',
  },
  riskyUserAgents: {
    kind: textList,
    variable: 'KINORA_RISKY_USER_AGENTS',
    section: 'Access',
    default: 'curl,wget,python-requests,go-http-client,ffmpeg,lavf,youtube-dl,yt-dlp,aria2',
    doc: 'Parts of `User-Agent` headers that playback restrictions can deny as high-risk; case-insensitive.',
  },
  sample: {
    kind: boolean,
    variable: 'KINORA_SAMPLE',
    section: 'Server',
    default: 'true',
    doc: 'Create the sample asset on the first start with a new data directory.',
  },
  allowPrivateSources: {
    kind: addressBlocks,
    variable: 'KINORA_ALLOW_PRIVATE_SOURCES',
    section: 'Sources',
    default: 'false',
    doc: 'Private addresses that imports, webhooks and simulcast targets may have: all, or a comma-separated list of CIDR blocks.',
  },
  maxSourceBytes: {
    kind: sizeBytes,
    variable: 'KINORA_MAX_SOURCE_SIZE',
    section: 'Sources',
    default: '100GiB',
    doc: 'Maximum size of a source file.',
  },
  rangeSources: {
    kind: boolean,
    variable: 'KINORA_RANGE_SOURCES',
    section: 'Sources',
    default: 'true',
    doc: 'Play imports and uploads before the whole file is stored, if it is an MP4, MOV, Matroska or WebM, or for uploads also MPEG-TS. The origin of an import must answer range requests.',
  },
  embeddedTracks: {
    kind: boolean,
    variable: 'KINORA_EMBEDDED_TRACKS',
    section: 'Sources',
    default: 'false',
    doc: 'Make tracks of the subtitle and further audio streams that main files contain, when a request does not set `embedded_tracks`.',
  },
  userAgent: {
    kind: text,
    variable: 'KINORA_USER_AGENT',
    section: 'Sources',
    default: 'Kinora/0.1',
    doc: '`User-Agent` header of downloads.',
  },
  webhookUrl: {
    kind: webhookUrl,
    variable: 'KINORA_WEBHOOK_URL',
    section: 'Webhooks',
    secret: true,
    doc: 'URL of a webhook of the default environment. The webhook exists while this is set. Requires `KINORA_WEBHOOK_SECRET`.',
  },
  webhookSecret: {
    kind: signingSecret,
    variable: 'KINORA_WEBHOOK_SECRET',
    section: 'Webhooks',
    secret: true,
    doc: 'Signing secret of the webhook at `KINORA_WEBHOOK_URL`.',
  },
  eventRetentionMs: {
    kind: durationMs,
    variable: 'KINORA_EVENT_RETENTION',
    section: 'Webhooks',
    default: '720h',
    doc: 'How long events and deliveries are kept. Events with pending deliveries are kept longer.',
  },
  databaseUrl: {
    kind: databaseUrl,
    variable: 'KINORA_DATABASE_URL',
    section: 'Storage',
    secret: true,
    doc: 'PostgreSQL database (version 15 or newer) to use instead of the embedded one.',
  },
  blobs: {
    kind: blobs,
    variable: 'KINORA_BLOBS',
    section: 'Storage',
    default: 'file',
    doc: 'Where sources and everything else that must not be lost are stored: `file` is the data directory, `s3://bucket/prefix` a bucket with the S3 protocol.',
  },
  sourceBuckets: {
    kind: bucketPaths,
    variable: 'KINORA_SOURCE_BUCKETS',
    section: 'Storage',
    doc: 'Buckets whose objects inputs may name as `s3://bucket/key`. They are played in place, without a copy. The options of S3 below apply to them as well.',
  },
  s3Endpoint: {
    kind: baseUrl,
    variable: 'KINORA_S3_ENDPOINT',
    section: 'Storage',
    doc: 'URL of the S3 service; the one of AWS if not set.',
  },
  s3Region: {
    kind: text,
    variable: 'KINORA_S3_REGION',
    section: 'Storage',
    default: 'us-east-1',
    doc: 'Region of the bucket.',
  },
  s3AccessKeyId: {
    kind: text,
    variable: 'KINORA_S3_ACCESS_KEY_ID',
    section: 'Storage',
    doc: 'Access key for the bucket. If not set, the AWS credentials of the environment or the machine are used.',
  },
  s3SecretAccessKey: {
    kind: bearerToken,
    variable: 'KINORA_S3_SECRET_ACCESS_KEY',
    section: 'Storage',
    secret: true,
    doc: 'Secret of the access key.',
  },
  s3PathStyle: {
    kind: boolean,
    variable: 'KINORA_S3_PATH_STYLE',
    section: 'Storage',
    doc: 'Whether the bucket is in the path of URLs instead of the host name; `true` if `KINORA_S3_ENDPOINT` is set.',
  },
  copySizeBytes: {
    kind: sizeBytes,
    variable: 'KINORA_COPY_SIZE',
    section: 'Storage',
    default: '20GiB',
    doc: 'Maximum disk space for local copies of what is read from S3. Files in use may exceed it.',
  },
  cacheSizeBytes: {
    kind: sizeBytes,
    variable: 'KINORA_CACHE_SIZE',
    section: 'Storage',
    default: '10GiB',
    doc: 'Maximum size of the disk cache for segments, images and files. The least recently used files are removed first.',
  },
  hotSizeBytes: {
    kind: sizeBytesOrZero,
    variable: 'KINORA_HOT_SIZE',
    section: 'Storage',
    default: '64MiB',
    doc: 'Maximum memory for copies of segments that are requested repeatedly, in addition to the disk cache. A segment that viewers with DRM request has one more for each configuration, in its encrypted form. They are released a minute after their last use. 0 keeps none.',
  },
  planSizeBytes: {
    kind: sizeBytes,
    variable: 'KINORA_PLAN_SIZE',
    section: 'Storage',
    default: '128MiB',
    doc: 'Maximum memory for what playback IDs lead to. A two-hour asset takes about 100 kB, one of five minutes 5 kB; what is in memory needs no database query.',
  },
  mediaProcesses: {
    kind: wholeNumber(1, 256),
    variable: 'KINORA_MEDIA_PROCESSES',
    section: 'Media',
    computed: { value: availableParallelism, doc: 'number of cores' },
    doc: 'Number of media processes.',
  },
  mediaMemoryBytes: {
    // Measured: with 100 MiB the process can't load FFmpeg, with 128 MiB it encodes.
    kind: sizeBytesFrom('128MiB'),
    variable: 'KINORA_MEDIA_MEMORY',
    section: 'Media',
    default: '2GiB',
    doc: 'Maximum memory of one media process. A process that exceeds it is stopped.',
  },
  ingestConcurrency: {
    kind: wholeNumber(1, 64),
    variable: 'KINORA_INGEST_CONCURRENCY',
    section: 'Media',
    default: '2',
    doc: 'Number of assets ingested at the same time, not counting downloads. The same number of long ingests can be transcoded in addition.',
  },
  defaultVideoQuality: {
    kind: oneOf('basic', 'plus', 'premium'),
    variable: 'KINORA_DEFAULT_VIDEO_QUALITY',
    section: 'Media',
    default: 'basic',
    doc: 'Default `video_quality` of the first environment. Used only when the database is created; change it later with `kinora env update`.',
  },
  av1After: {
    kind: factorOrNever,
    variable: 'KINORA_AV1_AFTER',
    section: 'Media',
    default: '10',
    doc: 'When playlists also list a ladder in AV1, which takes about half the bytes: once an asset was delivered so many times its duration within seven days. 0 lists it always, `never` not at all.',
  },
  liveRungs: {
    kind: wholeNumber(0, 8),
    variable: 'KINORA_LIVE_RUNGS',
    section: 'Live',
    computed: { value: () => Math.min(2 * availableParallelism() - 1, 8), doc: 'two for each core, less one' },
    doc: 'Maximum number of lower resolutions of a live stream. Each is encoded only while somebody watches it. 0 offers what the encoder sends alone, unless browsers cannot play it.',
  },
  rtmpPort: {
    kind: portOrOff,
    variable: 'KINORA_RTMP_PORT',
    section: 'Live',
    default: '1935',
    doc: 'Port on which live streams are received over RTMP; 0 picks a free port, which is logged. RTMP sends stream keys unencrypted.',
  },
  rtmpHost: {
    kind: host,
    variable: 'KINORA_RTMP_HOST',
    section: 'Live',
    doc: 'Address on which RTMP, RTMPS and SRT listen; that of `KINORA_HOST` if not set. Encoders need no proxy, so `0.0.0.0` is usual behind one for HTTPS.',
  },
  rtmpUrl: {
    kind: ingestUrl,
    variable: 'KINORA_RTMP_URL',
    section: 'Live',
    doc: 'URL to which encoders send, as the console and `kinora live` show it: if it has another host name than the public URL, or another port than the server.',
  },
  rtmpsPort: {
    kind: portOrOff,
    variable: 'KINORA_RTMPS_PORT',
    section: 'Live',
    default: 'off',
    doc: 'Port on which live streams are received over RTMPS, which is RTMP over TLS. Needs `KINORA_RTMPS_CERT` and `KINORA_RTMPS_KEY`.',
  },
  rtmpsCert: {
    kind: file,
    variable: 'KINORA_RTMPS_CERT',
    section: 'Live',
    doc: 'File with the certificate of RTMPS and those that vouch for it, in PEM. A renewed certificate is used for new connections within a minute.',
  },
  rtmpsKey: {
    kind: file,
    variable: 'KINORA_RTMPS_KEY',
    section: 'Live',
    doc: 'File with the private key of the certificate, in PEM.',
  },
  srtPort: {
    kind: portOrOff,
    variable: 'KINORA_SRT_PORT',
    section: 'Live',
    default: '6001',
    doc: 'UDP port on which live streams are received over SRT; 0 picks a free port, which is logged.',
  },
  whipPorts: {
    kind: portRange,
    variable: 'KINORA_WHIP_PORTS',
    section: 'Live',
    default: 'any',
    doc: 'UDP ports on which media of WebRTC encoders (WHIP) are received; `off` refuses them. Each connection uses one port for each address of the server.',
  },
  whipAddresses: {
    kind: textList,
    variable: 'KINORA_WHIP_ADDRESSES',
    section: 'Live',
    doc: 'IP addresses at which WebRTC encoders reach the server, if they are not those of its network interfaces: behind NAT, or in a container.',
  },
  speechModel: {
    kind: nameOrPath,
    variable: 'KINORA_SPEECH_MODEL',
    section: 'Speech',
    doc: 'Model for speech recognition on this machine: the name of a model installed with `kinora speech install`, or the path of a file in whisper.cpp format. With `KINORA_SPEECH_URL`: the model name sent to the service, `whisper-1` if not set.',
  },
  speechUrl: {
    kind: baseUrl,
    variable: 'KINORA_SPEECH_URL',
    section: 'Speech',
    doc: 'Base URL of an OpenAI-compatible service for speech recognition, such as `http://127.0.0.1:8000/v1`. It may be on a private network.',
  },
  speechKey: {
    kind: bearerToken,
    variable: 'KINORA_SPEECH_KEY',
    section: 'Speech',
    secret: true,
    doc: 'Bearer token for `KINORA_SPEECH_URL`.',
  },
  speechCommand: {
    kind: programCall,
    variable: 'KINORA_SPEECH_COMMAND',
    section: 'Speech',
    doc: 'Program for speech recognition. It writes SRT, WebVTT or JSON to standard output or to `{output}`. Kinora replaces `{audio}` (a WAV file of at most 30 seconds), `{language}` (a code or `auto`), `{phrases}` and `{output}`. The program runs without a shell.',
  },
  speechTimeoutMs: {
    kind: timeLimitMs,
    variable: 'KINORA_SPEECH_TIMEOUT',
    section: 'Speech',
    default: '10m',
    doc: 'Time limit of the service or the program for 30 seconds of speech.',
  },
  aiUrl: {
    kind: baseUrl,
    variable: 'KINORA_AI_URL',
    section: 'Robots',
    doc: 'Server with an OpenAI-compatible `/v1/chat/completions`, for workflows that need a language model. It may be on a private network.',
  },
  aiKey: {
    kind: text,
    variable: 'KINORA_AI_KEY',
    section: 'Robots',
    secret: true,
    doc: 'Bearer token for `KINORA_AI_URL`.',
  },
  aiModel: {
    kind: text,
    variable: 'KINORA_AI_MODEL',
    section: 'Robots',
    doc: 'Model that reads captions. Without it, jobs that need it end with `provider_unavailable`.',
  },
  aiVisionModel: {
    kind: text,
    variable: 'KINORA_AI_VISION_MODEL',
    section: 'Robots',
    doc: 'Model that looks at frames; can be the same model.',
  },
  dataHost: {
    kind: host,
    variable: 'KINORA_DATA_HOST',
    section: 'Audience',
    doc: 'Host name at which players report what viewers watch; every host name of the server if not set.',
  },
  viewRetentionMs: {
    kind: durationMs,
    variable: 'KINORA_VIEW_RETENTION',
    section: 'Audience',
    default: '2160h',
    doc: 'How long views and their daily sums are kept.',
  },
  countryHeader: {
    kind: headerName,
    variable: 'KINORA_COUNTRY_HEADER',
    section: 'Audience',
    doc: 'Name of a header, such as `CF-IPCountry`, in which a trusted proxy names the country of a viewer by its two letters. Views have no country if it is not set.',
  },
  playerTracking: {
    kind: boolean,
    variable: 'KINORA_PLAYER_TRACKING',
    section: 'Audience',
    default: 'true',
    doc: 'Whether the player page reports to this server how its video plays. It sets no cookie, and reports nothing for viewers whose browsers ask for that with Do Not Track or Global Privacy Control.',
  },
  logLevel: {
    kind: oneOf('debug', 'info', 'warn', 'error'),
    variable: 'KINORA_LOG_LEVEL',
    section: 'Logs',
    default: 'info',
    doc: 'Minimum level of logged lines.',
  },
  logFormat: {
    kind: oneOf('pretty', 'json'),
    variable: 'KINORA_LOG_FORMAT',
    section: 'Logs',
    computed: { value: () => (process.stderr.isTTY ? 'pretty' : 'json'), doc: '`pretty` on a terminal, else `json`' },
    doc: 'Format of the log, which is written to standard error.',
  },
} as const satisfies Record<string, Option>;

type Table = typeof options;
type Value<O> = O extends { readonly kind: Kind<infer T> } ? T : never;
type Settable = { [K in keyof Table]: [Value<Table[K]>] extends [never] ? never : K }[keyof Table];
type WithDefault = {
  [K in Settable]: Table[K] extends { readonly default: string } | { readonly computed: object } ? K : never;
}[Settable];

/**
 * Every option, parsed: sizes in bytes, times in milliseconds, absolute paths, URLs without a
 * trailing slash.
 */
export type Config = { readonly [K in WithDefault]: Value<Table[K]> } & {
  readonly [K in Exclude<Settable, WithDefault>]?: Value<Table[K]>;
};

/** `KINORA_DATA_DIR` is `--data-dir`. */
export const flagOf = (variable: string): string =>
  `--${variable.slice('KINORA_'.length).toLowerCase().replaceAll('_', '-')}`;
