import { LiveStates } from '../domain/live/live-states.js';
import { isKinoraError } from '../lib/errors.js';
import type { LiveServer } from '../live/live-server.js';
import { RtmpServer, type RtmpServerOptions } from '../live/rtmp/rtmp-server.js';
import type { Base, Parts } from './parts.js';
import { urlOf } from './start-http.js';

/**
 * Continues interrupted broadcasts and starts to receive encoders. A port that is not available
 * ends nothing: the rest of the server works without it.
 * @returns for each port the URL for encoders, or why there is none
 */
export const startLive = async (base: Base, { context, live, nodes }: Parts): Promise<string[]> => {
  const { config, logger, clock, phases } = base;
  const { rtmpPort, rtmpsPort, rtmpsCert: certPath, rtmpsKey: keyPath } = config;
  if (rtmpPort === 'off' && rtmpsPort === 'off') return [];
  if (nodes) {
    // Viewers would reach the broadcast only at the server that has it.
    logger.info({}, 'RTMP not started: several servers with one bucket do not receive live streams yet');
    return [];
  }
  await live.start(new LiveStates(context));
  phases.push({ name: 'live streams', end: (limitMs) => live.stop(limitMs) });
  const options = { host: config.rtmpHost ?? config.host, target: live, logger, clock };
  const isTls = rtmpsPort !== 'off' && certPath !== undefined && keyPath !== undefined;
  return [
    ...(rtmpPort === 'off' ? [] : [await startRtmp(base, live, { ...options, port: rtmpPort })]),
    ...(isTls ? [await startRtmp(base, live, { ...options, port: rtmpsPort, tls: { certPath, keyPath } })] : []),
  ];
};

const startRtmp = async ({ logger, phases }: Base, live: LiveServer, options: RtmpServerOptions): Promise<string> => {
  const name = options.tls ? 'RTMPS' : 'RTMP';
  try {
    const server = await RtmpServer.start(options);
    phases.push({ name, end: () => server.stop() });
    live.ports.set(options.tls ? 'rtmps' : 'rtmp', server.port);
    logger.info({ port: server.port }, `${name} started`);
    return `${urlOf(options.host, server).replace('http', name.toLowerCase())}/app`;
  } catch (error) {
    if (!isKinoraError(error, 'unavailable')) throw error;
    logger.error({ reason: error.message }, `${name} not started`);
    return error.message;
  }
};
