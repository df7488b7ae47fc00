import type { WhipIngest, WhipPublication } from '../../domain/live/whip-ingest.js';
import { type ErrorCode, KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { AttemptLimit } from '../attempt-limit.js';
import type { IngestTarget, Refusal } from '../ingest.js';
import { addressGroup } from '../rtmp/peer-address.js';
import type { WhipSession, WhipSessionDeps } from './whip-session.js';

export interface WhipServerDeps extends WhipSessionDeps {
  readonly target: IngestTarget;
}

const MAX_CONNECTIONS = 128;
const MAX_CONNECTIONS_PER_ADDRESS = 16;
const FAILED_KEYS_PER_MINUTE = 60;
/** Offers of browsers have about 8 kB. */
const MAX_OFFER_CHARACTERS = 64 * 1024;

const CODES: Record<Refusal['reason'], ErrorCode> = {
  unknown_key: 'not_found',
  wrong_passphrase: 'forbidden',
  disabled: 'forbidden',
  in_use: 'conflict',
  rate_limited: 'too_many_requests',
  unavailable: 'unavailable',
};

interface Connection {
  /** See `addressGroup`. */
  readonly group: string;
  /** Absent while the offer is read. */
  session?: WhipSession;
}

/** Receives streams over WebRTC (WHIP, RFC 9725). */
export class WhipServer implements WhipIngest {
  readonly #deps: WhipServerDeps;
  readonly #failedKeys: AttemptLimit;
  readonly #connections = new Map<string, Connection>();
  #isStopped = false;

  constructor(deps: WhipServerDeps) {
    this.#deps = deps;
    this.#failedKeys = new AttemptLimit(FAILED_KEYS_PER_MINUTE, deps.clock);
  }

  async publish(streamKey: string, offer: string, peer: string): Promise<WhipPublication> {
    const group = addressGroup(peer);
    if (this.#isStopped) throw new KinoraError('unavailable');
    if (this.#failedKeys.isReached(group)) throw new KinoraError('too_many_requests');
    const ofGroup = [...this.#connections.values()].filter((other) => other.group === group).length;
    if (this.#connections.size >= MAX_CONNECTIONS || ofGroup >= MAX_CONNECTIONS_PER_ADDRESS)
      throw new KinoraError('too_many_requests', { messages: ['Too many encoders are connected'] });
    if (offer.length > MAX_OFFER_CHARACTERS)
      throw new KinoraError('invalid_parameters', { messages: ['The SDP offer is too long'] });
    const id = newId();
    const connection: Connection = { group };
    this.#connections.set(id, connection);
    try {
      // WebRTC takes half a second of processor time to load, and 30 MB.
      const { WhipSession } = await import('./whip-session.js');
      const session = await WhipSession.open(offer, this.#deps);
      connection.session = session;
      const disconnect = (reason: string): void => session.end(reason);
      const accepted = await this.#deps.target.publish({ streamKey, protocol: 'whip', peer, disconnect });
      if ('reason' in accepted) {
        if (accepted.reason === 'unknown_key') this.#failedKeys.add(group);
        throw new KinoraError(CODES[accepted.reason], { messages: [accepted.message] });
      }
      if (session.hasEnded) {
        accepted.end('The connection has ended.');
        throw new KinoraError('unavailable', { messages: ['The connection has ended'] });
      }
      session.start(accepted, () => this.#connections.delete(id));
      return { liveStreamId: accepted.liveStreamId, id, sdp: session.sdp };
    } catch (error) {
      this.#connections.delete(id);
      connection.session?.end('The encoder was refused.');
      throw error;
    }
  }

  end(id: string): boolean {
    const session = this.#connections.get(id)?.session;
    session?.end('The encoder has ended the stream.');
    return session !== undefined;
  }

  stop(): void {
    this.#isStopped = true;
    for (const { session } of this.#connections.values()) session?.end('The server is stopping.');
  }
}
