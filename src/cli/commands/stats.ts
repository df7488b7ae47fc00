import { durationMs } from '../../config/kinds.js';
import type { AudienceStats, ServerFigures } from '../../control/server-figures.js';
import { systemClock } from '../../lib/clock.js';
import { askServer } from '../support/ask-server.js';
import { blobSettings, type Command, type Flags, json, textOf, usageError } from '../support/command.js';
import { printFields } from '../support/print.js';
import { storedSize } from '../support/stored-size.js';

const DAY_MS = 24 * 3_600_000;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/;

/**
 * The start of today if it is absent.
 * @throws KinoraError `config_invalid`
 */
const readSince = (flags: Flags): Date => {
  const nowMs = systemClock.now().getTime();
  const text = textOf(flags, '--since');
  if (text === undefined) return new Date(Math.floor(nowMs / DAY_MS) * DAY_MS);
  const time = TIME.test(text) ? Date.parse(text) : nowMs - spanOf(text);
  if (time < nowMs) return new Date(time);
  throw usageError(
    `--since must be a time in the past, such as 2026-11-30 or 2026-11-30T08:00Z, or a duration such as 24h, not ${JSON.stringify(text)}.`,
  );
};

/** Not a number if it is no duration. */
const spanOf = (text: string): number => {
  try {
    return durationMs.parse(text);
  } catch {
    return Number.NaN;
  }
};

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;

const MAX_LISTED = 5;

const audienceFields = (audience: AudienceStats): Record<string, string | undefined> => ({
  views: `${audience.views} since ${audience.since}, ${audience.playback_failures} with a failure`,
  viewers: `${audience.viewers_now} now, at most ${audience.viewers_peak} in the last 24 hours`,
  'watch time': `${(audience.watch_time_ms / 3_600_000).toFixed(2)} h`,
  'startup time':
    audience.startup_time_p95_ms === null
      ? undefined
      : `median ${audience.startup_time_median_ms} ms, 95 % within ${audience.startup_time_p95_ms} ms`,
  rebuffering:
    audience.rebuffer_percentage === null
      ? undefined
      : `${(100 * audience.rebuffer_percentage).toFixed(2)} % of the watch time`,
  'top assets':
    audience.top_assets
      .slice(0, MAX_LISTED)
      .map(({ id, title, views }) => `${title ?? id} (${views})`)
      .join(', ') || undefined,
});

export const stats: Command = {
  summary: 'print figures of the running server: viewers, assets, their size, jobs, cache, disk and memory',
  args: [],
  flags: {
    '--since <time>': 'views since this time in UTC, or since a duration such as 24h; today if absent',
    ...json,
  },
  settings: ['dataDir', ...blobSettings],
  examples: ['kinora stats', 'kinora stats --json', 'kinora stats --since 168h'],
  run: async ({ config, flags }) => {
    const since = readSince(flags).toISOString();
    const figures = {
      ...(await askServer<ServerFigures & { audience: AudienceStats }>(config.dataDir, 'stats', { since })),
      // The server may have the bucket's credentials in its environment alone.
      ...(await storedSize(config).catch(() => ({ stored_bytes: null, source_bytes: null }))),
    };
    const counts = (state: string): string =>
      figures.jobs
        .filter((job) => job.state === state)
        .map(({ queue, count }) => `${count} ${queue}`)
        .join(', ') || '0';
    printFields(flags, figures, {
      version: figures.version,
      'process ID': `${figures.pid}`,
      'running for': `${figures.uptime_seconds} s`,
      memory: gigabytes(figures.memory_bytes),
      ...audienceFields(figures.audience),
      assets: `${figures.assets.ready} ready, ${figures.assets.preparing} preparing, ${figures.assets.errored} errored`,
      'stored files':
        figures.stored_bytes === null
          ? 'unknown: the bucket cannot be listed with these settings'
          : `${gigabytes(figures.stored_bytes)}, of which ${gigabytes(figures.source_bytes)} are sources`,
      'active jobs': counts('active'),
      'queued jobs': counts('queued'),
      'webhook lag': `${Math.floor(figures.webhook_lag_seconds)} s`,
      AV1: `${gigabytes(figures.av1.delivered_bytes)} delivered in 30 days, about ${gigabytes(figures.av1.saved_bytes)} saved`,
      'segment cache': `${gigabytes(figures.cache_bytes)} of ${gigabytes(figures.cache_limit_bytes)}`,
      'free disk space': gigabytes(figures.disk_free_bytes),
    });
    return 0;
  },
};
