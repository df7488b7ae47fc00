import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RENEW_LIVE_LEASE_MS, releaseLiveLease, renewLiveLease } from '../domain/live/live-lease.js';
import { type AbandonedBroadcast, LiveStates } from '../domain/live/live-states.js';
import { isKinoraError } from '../lib/errors.js';
import { newUuid } from '../lib/ids.js';
import type { LiveServer } from '../live/live-server.js';
import { RtmpServer, type RtmpServerOptions } from '../live/rtmp/rtmp-server.js';
import { SrtServer, type SrtServerOptions } from '../live/srt/srt-server.js';
import type { Base, Parts } from './parts.js';
import { callOwner } from './shared-live-control.js';
import { urlOf } from './start-http.js';

/**
 * Continues interrupted broadcasts and starts to receive encoders. A port that is not available
 * ends nothing: the rest of the server works without it.
 * @returns for each port the URL for encoders, or why there is none
 */
export const startLive = async (base: Base, parts: Parts): Promise<string[]> => {
  const { context, live, nodes } = parts;
  const { config, logger, clock, phases } = base;
  const { rtmpPort, rtmpsPort, rtmpsCert: certPath, rtmpsKey: keyPath, srtPort, whipPorts } = config;
  if ([rtmpPort, rtmpsPort, srtPort, whipPorts].every((port) => port === 'off')) return [];
  const ownerId = nodes && (await keepLiveLease(base, parts));
  const askToHandOver = async ({ liveStreamId, ownerId: otherId }: AbandonedBroadcast): Promise<boolean> =>
    (await callOwner(nodes!, otherId, { liveStreamId, handsOver: true })) === true;
  const owner = ownerId === undefined ? undefined : { id: ownerId, askToHandOver };
  await live.start(new LiveStates(context, ownerId), owner);
  if (owner) await live.follow();
  phases.push({ name: 'live streams', end: (limitMs) => live.stop(limitMs) });
  const options = { host: config.rtmpHost ?? config.host, target: live, logger, clock };
  const isTls = rtmpsPort !== 'off' && certPath !== undefined && keyPath !== undefined;
  return [
    ...(rtmpPort === 'off' ? [] : [await startRtmp(base, live, { ...options, port: rtmpPort })]),
    ...(isTls ? [await startRtmp(base, live, { ...options, port: rtmpsPort, tls: { certPath, keyPath } })] : []),
    ...(srtPort === 'off' ? [] : [await startSrt(base, live, { ...options, port: srtPort })]),
  ];
};

/**
 * The ID with which this server owns live streams. It belongs to the data directory, where their
 * recordings are until they end.
 */
const readOwnerId = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, 'live-owner');
  const storedId = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  if (storedId !== '') return storedId;
  const id = newUuid();
  await writeFile(`${path}.new`, id, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  return id;
};

/**
 * Other servers leave the broadcasts of this one alone while it has its lease, and it leaves theirs
 * alone.
 */
const keepLiveLease = async ({ config, logger, phases }: Base, { live, database }: Parts): Promise<string> => {
  const db = database.queryable;
  const ownerId = await readOwnerId(config.dataDir);
  await renewLiveLease(db, ownerId);
  const renew = async (): Promise<void> => {
    await renewLiveLease(db, ownerId);
    await live.follow();
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => logger.warn({ err: error }, 'live lease not renewed'));
  }, RENEW_LIVE_LEASE_MS).unref();
  const end = async (): Promise<void> => {
    clearInterval(timer);
    // A lease that is not given back ends by itself.
    if (live.isIdle || live.isHandedOver) await releaseLiveLease(db, ownerId).catch(() => undefined);
  };
  phases.push({ name: 'lease of live streams', end });
  return ownerId;
};

const startRtmp = (base: Base, live: LiveServer, options: RtmpServerOptions): Promise<string> => {
  const name = options.tls ? 'RTMPS' : 'RTMP';
  return startPort(base, name, async () => {
    const server = await RtmpServer.start(options);
    live.ports.set(options.tls ? 'rtmps' : 'rtmp', server.port);
    return { server, url: `${urlOf(options.host, server).replace('http', name.toLowerCase())}/app` };
  });
};

const startSrt = (base: Base, live: LiveServer, options: SrtServerOptions): Promise<string> =>
  startPort(base, 'SRT', async () => {
    const server = await SrtServer.start(options);
    live.ports.set('srt', server.port);
    return { server, url: urlOf(options.host, server).replace('http', 'srt') };
  });

/** @returns the URL, or why there is none */
const startPort = async (
  { logger, phases }: Base,
  name: string,
  start: () => Promise<{ readonly server: { readonly port: number; stop(): Promise<void> }; readonly url: string }>,
): Promise<string> => {
  try {
    const { server, url } = await start();
    phases.push({ name, end: () => server.stop() });
    logger.info({ port: server.port }, `${name} started`);
    return url;
  } catch (error) {
    if (!isKinoraError(error, 'unavailable')) throw error;
    logger.error({ reason: error.message }, `${name} not started`);
    return error.message;
  }
};
