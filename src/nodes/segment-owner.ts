import { throwIfAborted } from '../lib/abort.js';
import { GENERATION } from '../media/plan/generation.js';
import type { NodeClient } from '../net/node-client.js';
import type { PeerSegment, SegmentPeers } from '../packager/segment-peers.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type InternalSignature, SIGNATURE_HEADER } from './internal-signature.js';
import type { Membership } from './membership.js';
import { MESSAGE_TYPE, SEGMENT_PATH, writeSegmentMessage } from './segment-message.js';

interface SegmentOwnerOptions {
  readonly client: Pick<NodeClient, 'getFile'>;
  readonly nodes: Pick<Membership, 'self' | 'owners' | 'avoid'>;
  readonly signature: Pick<InternalSignature, 'sign'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'nodeAsked'>;
}

/**
 * All renditions and the audio of so many segments are created by one server, which fetches their
 * part of the source once.
 */
const WINDOW_SEGMENTS = 8;

const keyOf = (assetId: string, number: number): string => `${assetId} ${Math.floor(number / WINDOW_SEGMENTS)}`;

/** Asks the server that owns a segment for it, so that each one is created once. */
export class SegmentOwner implements SegmentPeers {
  readonly #options: SegmentOwnerOptions;

  constructor(options: SegmentOwnerOptions) {
    this.#options = options;
  }

  isRemote(assetId: string, placedBy: number): boolean {
    const { nodes } = this.#options;
    return nodes.owners(keyOf(assetId, placedBy), GENERATION)[0]!.id !== nodes.self.id;
  }

  async get(
    segment: PeerSegment,
    placedBy: number,
    { signal, priority }: Parameters<SegmentPeers['get']>[2],
  ): Promise<Uint8Array | undefined> {
    const { client, nodes, signature, logger, metrics } = this.#options;
    const body = writeSegmentMessage({ ...segment, priority, generation: GENERATION });
    for (const { id, internalUrl } of nodes.owners(keyOf(segment.asset.id, placedBy), GENERATION)) {
      // Those after this server would only be asked for what it can create itself.
      if (id === nodes.self.id) break;
      const headers = { [SIGNATURE_HEADER]: signature.sign(SEGMENT_PATH, body), 'content-type': MESSAGE_TYPE };
      try {
        const url = internalUrl + SEGMENT_PATH;
        const { status, bytes } = await client.getFile(url, { headers, body }, signal);
        metrics.nodeAsked(bytes ? 'sent' : 'refused');
        if (bytes) return bytes;
        logger.info({ node: id, status, asset_id: segment.asset.id }, 'segment not sent by its server');
      } catch (error) {
        throwIfAborted(signal);
        metrics.nodeAsked('failed');
        nodes.avoid(id);
        logger.warn({ err: error, node: id }, 'server not reached');
      }
    }
    return undefined;
  }
}
