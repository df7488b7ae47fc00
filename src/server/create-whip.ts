import { isLoopback } from '../lib/loopback.js';
import { WhipServer } from '../live/whip/whip-server.js';
import type { Base, Parts } from './parts.js';

/** Undefined if this server receives nothing by WebRTC. */
export const createWhip = ({ config, clock, logger, phases }: Base, parts: Parts): WhipServer | undefined => {
  const { whipPorts, whipAddresses, host } = config;
  if (whipPorts === 'off') return undefined;
  const whip = new WhipServer({
    ...{ pool: parts.pool, target: parts.live, clock, logger },
    // WebRTC leaves loopback out, on which the server listens by default.
    hostAddresses: isLoopback(host) ? ['127.0.0.1'] : [],
    outerAddresses: whipAddresses ?? [],
    ports: whipPorts === 'any' ? undefined : whipPorts,
  });
  phases.push({ name: 'WebRTC', end: async () => whip.stop() });
  return whip;
};
