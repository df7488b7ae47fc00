import { networkInterfaces } from 'node:os';
import { LRUCache } from 'lru-cache';
import type { Config } from '../config/options.js';
import type { Database } from '../db/database.js';
import type { Owners } from '../http/internal/proxy-to-owner.js';
import type { Clock } from '../lib/clock.js';
import { newUuid } from '../lib/ids.js';
import { GENERATION } from '../media/plan/generation.js';
import type { Origin } from '../net/fetch-origin.js';
import { NodeClient } from '../net/node-client.js';
import { OriginClient } from '../net/origin-client.js';
import { InternalSignature } from '../nodes/internal-signature.js';
import { type LiveNode, Membership, type OtherNode } from '../nodes/membership.js';
import { SegmentOwner } from '../nodes/segment-owner.js';
import type { SegmentPeers } from '../packager/segment-peers.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Phases } from './phases.js';

/** To servers that play what this one can't; each keeps its connections open. */
const MAX_CLIENTS = 16;
const NODES = { name: 'kinora_nodes', help: 'Servers on this database that this one sees, itself included' } as const;

interface NodesOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly phases: Phases;
  readonly installationSecret: string;
  /** What plays early here. */
  readonly early: () => readonly string[];
}

/** A server that listens on every interface is reached at the first address of its machine. */
const reachableUrl = (localUrl: string, host: string): string => {
  if (host !== '0.0.0.0' && host !== '::') return localUrl;
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal);
  return outside ? localUrl.replace('localhost', outside.address) : localUrl;
};

/**
 * How this server works with others on the same database and bucket: before it listens, it knows
 * itself alone.
 */
export class Nodes {
  readonly signature: InternalSignature;
  /** Asks other servers for segments. */
  readonly peers: SegmentPeers;
  readonly owners: Owners;
  readonly #options: NodesOptions;
  readonly #self: LiveNode;
  readonly #clients = new LRUCache<string, Origin>({ max: MAX_CLIENTS, dispose: (client) => client.stop() });
  #membership: Membership | undefined;

  constructor(options: NodesOptions) {
    const { config, clock, logger, metrics, phases, installationSecret } = options;
    this.#options = options;
    this.#self = { id: newUuid(), internalUrl: '', roles: config.roles, generation: GENERATION };
    this.signature = new InternalSignature(installationSecret, clock);
    const nodes = {
      self: this.#self,
      owners: (key: string, generation: number) => this.#membership?.owners(key, generation) ?? [this.#self],
      avoid: (id: string) => this.#membership?.avoid(id),
    };
    const client = new NodeClient();
    this.peers = new SegmentOwner({ client, nodes, signature: this.signature, logger, metrics });
    this.owners = {
      ofGeneration: (generation, key) => this.#clientOf(this.#membership?.owners(key, generation)[0]),
      hasEarly: () => this.#others().some((other) => other.early.length > 0),
      refresh: async () => this.#membership?.refresh(),
      ofEarly: (id) => this.#clientOf(this.#others().find((other) => other.early.includes(id))),
    };
    const end = async (): Promise<void> => {
      this.#clients.clear();
      client.stop();
    };
    phases.push({ name: 'connections to other servers', end });
  }

  /** Announces this server at this URL, unless another one is configured. */
  async start(localUrl: string): Promise<Membership> {
    const { config, database, clock, logger, metrics, early } = this.#options;
    const internalUrl = config.internalUrl ?? reachableUrl(localUrl, config.host);
    this.#membership = await Membership.join({
      database,
      clock,
      logger,
      early,
      drainMs: config.drainMs,
      self: { ...this.#self, internalUrl },
    });
    metrics.watch(NODES, async () => [{ value: this.#others().length + 1 }]);
    const others = this.#others().length;
    logger.info({ node: this.#self.id, internal_url: internalUrl, others }, 'server joined');
    return this.#membership;
  }

  /** Tells the others what plays early here. */
  announce(): void {
    this.#membership?.announce();
  }

  /** How many servers have this role, this one included. */
  count(role: string): number {
    return [this.#self, ...this.#others()].filter(({ roles }) => roles.includes(role)).length;
  }

  #others(): readonly OtherNode[] {
    return this.#membership?.others() ?? [];
  }

  #clientOf(node: LiveNode | undefined): Origin | undefined {
    if (!node) return undefined;
    const client = this.#clients.get(node.internalUrl) ?? new OriginClient(node.internalUrl);
    this.#clients.set(node.internalUrl, client);
    return client;
  }
}
