import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ServerStatus } from '../../control/control-handlers.js';
import { findLooseModes } from '../../db/data-dir.js';
import { systemClock } from '../../lib/clock.js';
import { isKinoraError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/loopback.js';
import { kinoraVersion } from '../../lib/version.js';
import { chooseSandbox } from '../../pool/sandbox.js';
import { findListenProblem } from '../../server/listen-problem.js';
import { openBucket, readBucket, s3ServiceOf, s3SettingsOf } from '../../server/open-blobs.js';
import { isProgram } from '../../speech/command-transcriber.js';
import { describeTranscriber, localModelPath } from '../../speech/create-transcriber.js';
import { readWhisperModel } from '../../speech/whisper-transcriber.js';
import { describeBucket } from '../../storage/s3/check-bucket.js';
import { administer } from './administer.js';
import type { CommandContext } from './command.js';
import { withDataDirLock, withOpenDatabase } from './with-database.js';

export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

export interface CheckContext extends Pick<CommandContext, 'config'> {
  /**
   * The status of the server on the data directory; absent when none runs. With a server, `config`
   * has its settings.
   */
  readonly server?: ServerStatus;
}

/** Checks one part of the setup; never throws and never leaves anything behind. */
type Check = (context: CheckContext) => Promise<readonly Finding[]>;

const ok = (text: string): Finding => ({ level: 'ok', text });
const warn = (text: string, fix: string): Finding => ({ level: 'warn', text, fix });
const fail = (text: string, fix: string): Finding => ({ level: 'fail', text, fix });

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const inGiB = (sizeBytes: number): string => `${(sizeBytes / 2 ** 30).toFixed(1)} GiB`;

const node: Check = async () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return [ok(`Node.js ${process.versions.node}`)];
  return [fail(`Node.js ${process.versions.node} is too old`, 'install Node.js 20.19 or newer')];
};

const runningServer: Check = async ({ server }) => {
  if (!server) return [];
  const text = `Server: version ${server.version} on Node.js ${server.nodeVersion}, process ID ${server.pid}`;
  if (server.version === kinoraVersion()) return [ok(text)];
  return [warn(`${text}, while this command is version ${kinoraVersion()}`, 'restart the server to run this version')];
};

const av1: Check = async ({ server }) => {
  // A server of an older version does not tell.
  const { delivered_bytes: delivered, saved_bytes: saved } = server?.av1 ?? { delivered_bytes: 0, saved_bytes: 0 };
  if (delivered === 0) return [];
  return [ok(`AV1: ${inGiB(delivered)} delivered in 30 days, about ${inGiB(saved)} less than in H.264`)];
};

/** The directory itself or, before the first start, the one in which it will be created. */
const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

const LEAST_FREE_BYTES = 2 ** 30;

const dataDirectory: Check = async ({ config: { dataDir, cacheSizeBytes } }) => {
  const directory = nearestExisting(dataDir);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch {
    return [
      fail(
        `Data directory ${dataDir}: ${directory} can't be written to`,
        `give this user write permission, or set KINORA_DATA_DIR`,
      ),
    ];
  }
  const { bavail, bsize } = await statfs(directory);
  const freeBytes = bavail * bsize;
  const text = `Data directory ${dataDir}${directory === dataDir ? '' : ' (created at the first start)'}, ${inGiB(freeBytes)} free`;
  if (freeBytes < LEAST_FREE_BYTES) return [fail(text, 'free disk space: sources and segments will not fit')];
  if (freeBytes < cacheSizeBytes) {
    return [
      warn(
        `${text}, less than the cache limit (${inGiB(cacheSizeBytes)})`,
        'free disk space or set a smaller KINORA_CACHE_SIZE',
      ),
    ];
  }
  return [ok(text)];
};

const privacy: Check = async ({ config: { dataDir } }) => {
  const loose = existsSync(dataDir) ? findLooseModes(dataDir) : [];
  if (loose.length === 0) return [];
  return [
    warn(
      `Other users of this machine can read or change ${loose.length} entries of ${dataDir}, such as ${loose.at(-1)!.path}`,
      `start the server, which repairs this, or run chmod -R go= ${dataDir}`,
    ),
  ];
};

const bucket: Check = async ({ config, server }) => {
  const settings = s3SettingsOf(config);
  if (!settings) return [];
  const text = `Blobs: ${describeBucket(settings)}`;
  // Its credentials may be in its environment alone.
  if (server && !settings.credentials) return [ok(`${text}, tried at the start of the server`)];
  try {
    (await openBucket(settings)).close();
    return [ok(`${text}, readable and writable`)];
  } catch (error) {
    return [fail(reasonOf(error), 'docs/operating/storage.md describes what the bucket must allow')];
  }
};

const sourceBuckets: Check = async ({ config, server }) => {
  const findings: Finding[] = [];
  for (const bucketPath of config.sourceBuckets ?? []) {
    const settings = { ...bucketPath, ...s3ServiceOf(config) };
    const text = `Source bucket: ${describeBucket(settings)}`;
    // Its credentials may be in its environment alone.
    if (server && !settings.credentials) findings.push(ok(`${text}, not tried without the credentials of the server`));
    else
      findings.push(
        await readBucket(settings).then(
          () => ok(`${text}, readable`),
          (error) => fail(reasonOf(error), 'allow listing and reading it, or remove it from KINORA_SOURCE_BUCKETS'),
        ),
      );
  }
  return findings;
};

const lockAndPort: Check = async ({ config: { dataDir, host, port }, server }) => {
  if (server) return [ok('Data directory is in use by a running server')];
  try {
    if (existsSync(dataDir)) await withDataDirLock(dataDir, async () => undefined);
  } catch (error) {
    if (isKinoraError(error, 'data_dir_in_use'))
      return [warn(reasonOf(error), 'wait if a server is starting or stopping; otherwise end that process')];
    return [fail(`The data directory can't be locked: ${reasonOf(error)}`, 'install util-linux (flock)')];
  }
  const problem = await findListenProblem(host, port);
  return [problem ? fail(problem.text, problem.fix) : ok(`${host}:${port} is free`)];
};

/**
 * Without a server, starts a media process that encodes a frame, which also shows that the FFmpeg
 * addon loads.
 */
const media: Check = async ({ config, server }) => {
  if (server) {
    const text = `Media processes of the server: ${server.sandbox}`;
    return [server.sandboxAdvice === undefined ? ok(text) : warn(text, `${server.sandboxAdvice} Then restart it.`)];
  }
  const { createLogger } = await import('../../telemetry/logger.js');
  const directory = await mkdtemp(join(tmpdir(), 'kinora-doctor-'));
  try {
    const { sandbox, child } = await chooseSandbox({
      readDirs: [],
      writeDir: directory,
      memoryBytes: config.mediaMemoryBytes,
      logger: createLogger(config.logLevel, config.logFormat),
      clock: systemClock,
    });
    await child.kill();
    const text = `Media processes: ${sandbox.description}`;
    return [ok('FFmpeg works'), sandbox.advice === undefined ? ok(text) : warn(text, sandbox.advice)];
  } catch (error) {
    const reasons = isKinoraError(error) ? JSON.stringify(error.details) : '';
    return [
      fail(
        `${reasonOf(error)} ${reasons}`,
        'run npm ci on this machine, so that npm installs the FFmpeg build for its platform',
      ),
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

/** Signed URLs and tokens differ from server to server by as much. */
const MAX_CLOCK_DIFFERENCE_MS = 2000;

const database: Check = async (context) => {
  const { dataDir, databaseUrl } = context.config;
  if (context.server && databaseUrl === undefined)
    return [ok(`Database: ${context.server.database}, open in the server`)];
  if (databaseUrl === undefined && !existsSync(join(dataDir, 'db')))
    return [ok('Database: created at the first start')];
  try {
    const { engine, differenceMs } = await withOpenDatabase(context, async (opened) => ({
      engine: opened.engine,
      differenceMs:
        databaseUrl === undefined
          ? 0
          : await (await import('../../db/clock-difference.js')).clockDifferenceMs(opened, systemClock),
    }));
    const finding = ok(`Database: ${engine}, reachable`);
    if (Math.abs(differenceMs) <= MAX_CLOCK_DIFFERENCE_MS) return [finding];
    const seconds = Math.round(Math.abs(differenceMs) / 1000);
    return [
      finding,
      warn(
        `Clock: ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} that of the database`,
        'set both clocks; use NTP. Leases of jobs have the time of the database, signatures that of this machine',
      ),
    ];
  } catch (error) {
    if (isKinoraError(error, 'data_dir_in_use')) return [ok('Database: not checked while the server uses it')];
    const fix =
      databaseUrl === undefined
        ? 'restore a backup, or use the version of Kinora that created it'
        : 'docs/operating/postgresql.md describes what the server must allow';
    return [fail(`Database: ${reasonOf(error)}`, fix)];
  }
};

/**
 * What is in the database is not checked when it can't be opened: that has one cause and one
 * remedy.
 */
const databaseAndContents: Check = async (context) => {
  const findings = await database(context);
  return findings.some(({ level }) => level === 'fail') ? findings : [...findings, ...(await drm(context))];
};

/** Opens the settings of each configuration, which shows that they belong to this installation. */
const drm: Check = async (context) => {
  const { dataDir, databaseUrl } = context.config;
  if (!context.server && databaseUrl === undefined && !existsSync(join(dataDir, 'db'))) return [];
  try {
    const configurations = await administer(context, 'drm list', undefined);
    const findings: Finding[] = [];
    for (const { id } of configurations) {
      const { urls, clear_key: hasClearKey } = await administer(context, 'drm show', { id });
      const open = Object.values(urls).filter((url) => url.startsWith('http:') && !isLoopback(new URL(url).hostname));
      if (open.length > 0)
        findings.push(
          warn(`DRM configuration ${id}: ${open.join(', ')} is not encrypted`, 'use https for key services'),
        );
      if (hasClearKey && Object.keys(urls).some((name) => name !== 'cpix'))
        findings.push(
          warn(
            `DRM configuration ${id}: ClearKey reveals the keys that its license servers protect`,
            'create one without --clear-key',
          ),
        );
    }
    return configurations.length > 0 ? [ok(`DRM configurations: ${configurations.length}`), ...findings] : [];
  } catch (error) {
    // The check of the database reports this.
    if (isKinoraError(error, 'data_dir_in_use') || isKinoraError(error, 'unavailable')) return [];
    return [fail(`DRM configurations can't be read: ${reasonOf(error)}`, 'restore a backup of the whole database')];
  }
};

const clock: Check = async () => {
  // Signed URLs and webhook signatures depend on the time. A clock that is before the build time is
  // certainly wrong.
  const builtAt = statSync(new URL(import.meta.url)).mtime;
  const now = systemClock.now();
  if (now >= builtAt) return [ok(`Clock: ${now.toISOString()}`)];
  return [fail(`Clock: ${now.toISOString()} is before the time of this build`, 'set the clock; use NTP')];
};

const publicUrl: Check = async ({ config }) => {
  const { publicUrl: url, host, port } = config;
  if (url === undefined) {
    if (isLoopback(host)) return [ok('Public URL: this machine only')];
    return [
      warn(
        `Public URL is not set while the server listens on ${host}`,
        'set KINORA_PUBLIC_URL to the URL that clients use',
      ),
    ];
  }
  const findings: Finding[] = [];
  if (isLoopback(new URL(url).hostname) && !isLoopback(host)) {
    findings.push(warn(`Public URL ${url} is this machine only`, 'set KINORA_PUBLIC_URL to the URL that clients use'));
  } else if (url.startsWith('http:') && !isLoopback(new URL(url).hostname)) {
    findings.push(
      warn(
        `Public URL ${url} is not encrypted`,
        'put a TLS proxy in front of the server; browsers block http video on https pages',
      ),
    );
  }
  if (port === 0)
    findings.push(warn('Port 0 selects a new port at every start', 'set KINORA_PORT to keep the public URL valid'));
  return findings.length > 0 ? findings : [ok(`Public URL: ${url}`)];
};

const privateSources: Check = async ({ config: { allowPrivateSources } }) => {
  if (typeof allowPrivateSources === 'object')
    return [ok(`Imports from private addresses: allowed from ${allowPrivateSources.join(', ')}`)];
  if (!allowPrivateSources) return [ok('Imports from private addresses: refused')];
  return [
    warn('Imports may reach every private address', 'list only the required blocks in KINORA_ALLOW_PRIVATE_SOURCES'),
  ];
};

const earlyPlay: Check = async ({ config: { rangeSources } }) => [
  ok(
    rangeSources
      ? 'Imports and uploads play before they are stored, if the origin and the file allow it; the log gives the reason otherwise'
      : 'Imports and uploads play when they are stored (KINORA_RANGE_SOURCES is false)',
  ),
];

const responses: Check = async ({ server }) => {
  if (!server) return [];
  const url = `${server.url}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    if (response.ok) return [ok(`${url} answers`)];
    return [fail(`${url} answers with status ${response.status}`, 'check the server log')];
  } catch (error) {
    return [fail(`The running server does not answer at ${url}: ${reasonOf(error)}`, 'check the server log')];
  }
};

const speech: Check = async ({ config, server }) => {
  const described = server ? server.speech : describeTranscriber(config);
  if (described === undefined) return [ok('Speech recognition: none; generated subtitles will fail')];
  const text = `Speech recognition: ${described}`;
  // A server that was started with other settings is not checked against those of this command.
  if (described !== describeTranscriber(config)) return [ok(text)];
  const [program] = config.speechCommand ?? [];
  if (program !== undefined && !isProgram(program))
    return [fail(`${text}, which does not exist or is not executable`, 'install it or correct its path')];
  const path = localModelPath(config);
  if (path === undefined) return [ok(text)];
  try {
    const { isMultilingual, sizeBytes } = await readWhisperModel(path);
    return [ok(`${text} (${inGiB(sizeBytes)}, ${isMultilingual ? 'many languages' : 'English only'})`)];
  } catch {
    return [fail(`${text}, which is not a readable model`, 'run kinora speech install <model>, or correct the path')];
  }
};

export const checks: readonly Check[] = [
  node,
  runningServer,
  dataDirectory,
  bucket,
  sourceBuckets,
  privacy,
  lockAndPort,
  media,
  databaseAndContents,
  clock,
  publicUrl,
  privateSources,
  earlyPlay,
  speech,
  av1,
  responses,
];
