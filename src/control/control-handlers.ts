import { readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/options.js';
import type { Database } from '../db/database.js';
import { consoleLinkUrl, createConsoleLink } from '../domain/access/sessions.js';
import type { DomainContext } from '../domain/context.js';
import { systemClock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { newId } from '../lib/ids.js';
import { kinoraVersion } from '../lib/version.js';
import type { MediaPool } from '../pool/media-pool.js';
import type { LogTail } from '../telemetry/log-tail.js';
import { adminOperations } from './admin-operations.js';
import type { ControlHandler } from './control-server.js';
import { importOperations } from './import-operations.js';
import {
  type AudienceStats,
  type FigureSources,
  readAv1Figures,
  readServerFigures,
  type ServerFigures,
} from './server-figures.js';
import { isSnapshot, SNAPSHOT } from './snapshot-name.js';

/** What `doctor` asks the running server. */
export interface ServerStatus {
  readonly version: string;
  readonly nodeVersion: string;
  readonly pid: number;
  /** The URL at which this machine reaches the server. */
  readonly url: string;
  readonly database: Database['engine'];
  /** The isolation of the media processes, and how to get a stronger one. */
  readonly sandbox: string;
  readonly sandboxAdvice: string | undefined;
  /** The speech recognizer; absent when there is none. */
  readonly speech: string | undefined;
  readonly av1: ServerFigures['av1'];
  readonly settings: Pick<Config, (typeof publicSettings)[number]>;
}

/** The settings that `doctor` checks; none of them is secret. */
const publicSettings = [
  'host',
  'port',
  'publicUrl',
  'allowPrivateSources',
  'rangeSources',
  'cacheSizeBytes',
  'blobs',
  's3Endpoint',
  's3Region',
  's3PathStyle',
] as const;

interface ControlDeps extends FigureSources {
  readonly context: DomainContext;
  readonly config: Config;
  /** The URL at which this machine reaches the server. */
  readonly url: string;
  readonly pool: Pick<MediaPool, 'sandbox' | 'sandboxAdvice'>;
  readonly speech: string | undefined;
  readonly readAudience: (from: Date) => Promise<AudienceStats>;
  /** Absent when the server is part of another program. */
  readonly logTail: LogTail | undefined;
}

/** The latest lines of the log, and where the next ones begin. */
export type LogLines = ReturnType<LogTail['read']>;

/** A table of handlers by name, without state. */
export const createControlHandlers = (deps: ControlDeps): Readonly<Record<string, ControlHandler>> => {
  const { database, context, config, url, pool, speech, logTail } = deps;
  const { dataDir } = config;
  // Left by a server that was killed.
  for (const name of readdirSync(dataDir)) if (isSnapshot(name)) rmSync(join(dataDir, name), { recursive: true });
  const admin = Object.entries(adminOperations).map(([name, operation]): [string, ControlHandler] => [
    name,
    (params) => operation(database, params),
  ]);
  const imports = Object.entries(importOperations).map(([name, operation]): [string, ControlHandler] => [
    name,
    (params) => operation(context, params),
  ]);
  return {
    ...Object.fromEntries([...admin, ...imports]),
    status: async (): Promise<ServerStatus> => ({
      version: kinoraVersion(),
      nodeVersion: process.versions.node,
      pid: process.pid,
      url,
      database: database.engine,
      sandbox: pool.sandbox,
      sandboxAdvice: pool.sandboxAdvice,
      speech,
      av1: await readAv1Figures(database),
      settings: Object.fromEntries(publicSettings.map((name) => [name, config[name]])) as ServerStatus['settings'],
    }),
    /** The URL of a new link that signs in to the console once. */
    'console link': async (): Promise<string> =>
      consoleLinkUrl(config.publicUrl ?? url, await createConsoleLink(database, systemClock)),
    stats: async ({ since }: { since: string }): Promise<ServerFigures & { audience: AudienceStats }> => ({
      ...(await readServerFigures(deps)),
      audience: await deps.readAudience(new Date(since)),
    }),
    /** Lines of the log after a position; with `wait` it answers once there are some. */
    logs: async ({ after, wait }: { after: number; wait: boolean }, closed): Promise<LogLines> => {
      if (!logTail) throw new KinoraError('unavailable', { messages: ['The log of this server cannot be read.'] });
      if (wait) await logTail.wait(after, closed);
      return logTail.read(after);
    },
    /** A copy of the embedded database at one moment. */
    snapshot: async (_params, closed): Promise<{ directory: string }> => {
      if (!database.snapshot) throw new KinoraError('invalid_parameters', { messages: ['The database is external.'] });
      const directory = join(dataDir, `${SNAPSHOT}${newId()}`);
      const remove = () => rm(directory, { recursive: true, force: true });
      try {
        await database.snapshot(directory);
      } catch (error) {
        await remove();
        throw error;
      }
      void closed.then(remove);
      return { directory };
    },
  };
};
