import { networkInterfaces } from 'node:os';
import { LRUCache } from 'lru-cache';
import type { Database } from '../db/database.js';
import { newUuid } from '../lib/ids.js';
import { GENERATION } from '../media/plan/generation.js';
import type { Origin } from '../net/fetch-origin.js';
import { createOriginClient } from '../net/origin-client.js';
import { createInternalSignature } from '../nodes/internal-signature.js';
import { type LiveNodes, startLiveNodes } from '../nodes/live-nodes.js';
import { createSegmentPeers } from '../nodes/segment-peers.js';
import type { Base, Nodes } from './parts.js';

/** To servers that play what this one can't; each keeps its connections open. */
const MAX_CLIENTS = 16;
const NODES = { name: 'kinora_nodes', help: 'Servers on this database that this one sees, itself included' } as const;

/** A server that listens on every interface is reached at the first address of its machine. */
const reachableUrl = (localUrl: string, host: string): string => {
  if (host !== '0.0.0.0' && host !== '::') return localUrl;
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((found) => found?.family === 'IPv4' && !found.internal);
  return outside ? localUrl.replace('localhost', outside.address) : localUrl;
};

/** Undefined when files are on the disk of this server: then it is the only one. */
export const connectNodes = (
  base: Base,
  database: Database,
  { installationSecret, early }: { readonly installationSecret: string; readonly early: () => readonly string[] },
): Nodes | undefined => {
  const { config, clock, logger, metrics } = base;
  if (config.blobs === 'file' || !config.databaseUrl) return undefined;
  const signature = createInternalSignature(installationSecret, clock);
  let live: LiveNodes | undefined;
  const clients = new LRUCache<string, Origin>({ max: MAX_CLIENTS, dispose: (client) => client.stop() });
  const clientOf = (url: string): Origin => {
    const client = clients.get(url) ?? createOriginClient(url);
    clients.set(url, client);
    return client;
  };
  base.phases.push({ name: 'connections to other servers', end: async () => clients.clear() });
  const self = { id: newUuid(), internalUrl: '', roles: config.roles, generation: GENERATION };
  const nodes = {
    self,
    owners: (key: string, generation: number) => live?.owners(key, generation) ?? [self],
    avoid: (id: string) => live?.avoid(id),
  };
  return {
    signature,
    peers: createSegmentPeers({ nodes, signature, logger, metrics }),
    announce: () => live?.announce(),
    elsewhere: {
      generation: (generation, key) => {
        const server = live?.owners(key, generation)[0];
        return server && clientOf(server.internalUrl);
      },
      hasEarly: () => live?.others().some((other) => other.early.length > 0) ?? false,
      early: (id) => {
        const server = live?.others().find((other) => other.early.includes(id));
        return server && clientOf(server.internalUrl);
      },
    },
    count: (role) =>
      [self, ...(live?.others() ?? [])].filter(({ roles }: { roles: readonly string[] }) => roles.includes(role))
        .length,
    start: async (localUrl) => {
      const internalUrl = config.internalUrl ?? reachableUrl(localUrl, config.host);
      const options = { database, clock, logger, early, drainMs: config.drainMs };
      live = await startLiveNodes({ ...options, self: { ...self, internalUrl } });
      const { others } = live;
      metrics.watch(NODES, async () => [{ value: others().length + 1 }]);
      logger.info({ node: self.id, internal_url: internalUrl, others: live.others().length }, 'server joined');
      return live;
    },
  };
};
