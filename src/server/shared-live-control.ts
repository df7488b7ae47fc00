import { json } from 'node:stream/consumers';
import type { Database } from '../db/database.js';
import { findLiveStream } from '../db/tables/live/live-stream.js';
import type { BroadcastRef, RecordedRange } from '../domain/assets/recording-cutter.js';
import {
  type DisconnectReason,
  LIVE_CALL_PATH,
  LIVE_CALL_TYPE,
  type LiveCall,
  type LiveControl,
} from '../domain/live/live-control.js';
import { hasLiveLease } from '../domain/live/live-lease.js';
import { ownerOf } from '../domain/live/live-settings.js';
import { KinoraError } from '../lib/errors.js';
import type { LiveServer } from '../live/live-server.js';
import { SIGNATURE_HEADER } from '../nodes/internal-signature.js';
import type { Nodes } from './start-nodes.js';

interface SharedLiveControlDeps {
  /** The broadcasts of this server. */
  readonly live: LiveServer;
  readonly nodes: Pick<Nodes, 'owners' | 'signature'>;
  readonly database: Database;
}

/**
 * Reaches each broadcast on the server that has it. All methods fail with `unavailable` while that
 * server is away and may come back with the recording.
 */
export class SharedLiveControl implements LiveControl {
  readonly #deps: SharedLiveControlDeps;

  constructor(deps: SharedLiveControlDeps) {
    this.#deps = deps;
  }

  complete(liveStreamId: string): Promise<boolean> {
    const { live } = this.#deps;
    return live.has(liveStreamId) ? live.complete(liveStreamId) : this.#call({ liveStreamId });
  }

  disconnect(liveStreamId: string, reason: DisconnectReason): Promise<boolean> {
    const { live } = this.#deps;
    return live.has(liveStreamId) ? live.disconnect(liveStreamId, reason) : this.#call({ liveStreamId, reason });
  }

  recordedSeconds(broadcast: BroadcastRef): Promise<number | undefined> {
    const { liveStreamId, assetId } = broadcast;
    return this.#cut(broadcast, { liveStreamId, recordedAssetId: assetId }, (live) => live.recordedSeconds(broadcast));
  }

  copyRange(range: RecordedRange): Promise<number | undefined> {
    const { liveStreamId } = range;
    return this.#cut(range, { liveStreamId, copies: range }, (live) => live.copyRange(range));
  }

  async #cut(
    { liveStreamId, assetId }: BroadcastRef,
    call: LiveCall,
    cut: (live: LiveServer) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    const { live, nodes, database } = this.#deps;
    if (live.ofAsset(assetId)) return cut(live);
    const stream = await findLiveStream(database.queryable, liveStreamId);
    const ownerId = stream && ownerOf(stream);
    if (ownerId === undefined) return undefined;
    const seconds = await callOwner(nodes, ownerId, call);
    if (seconds === undefined) throw ownerAway();
    return typeof seconds === 'number' ? seconds : undefined;
  }

  #run({ liveStreamId, reason }: LiveCall): Promise<boolean> {
    const { live } = this.#deps;
    return reason ? live.disconnect(liveStreamId, reason) : live.complete(liveStreamId);
  }

  async #call(call: LiveCall): Promise<boolean> {
    const { nodes, database } = this.#deps;
    const stream = await findLiveStream(database.queryable, call.liveStreamId);
    const ownerId = stream && ownerOf(stream);
    if (ownerId === undefined) return true;
    const isDone = await callOwner(nodes, ownerId, call);
    if (isDone !== undefined) return isDone === true;
    // Its encoder is not connected, and finds out by itself that its key has changed.
    if (call.reason === 'stream key reset') return true;
    const { live } = this.#deps;
    if (!(await hasLiveLease(database.queryable, ownerId))) {
      if (await live.takeOver({ liveStreamId: call.liveStreamId, ownerId })) return this.#run(call);
    }
    throw ownerAway();
  }
}

const ownerAway = (): KinoraError =>
  new KinoraError('unavailable', { details: { reason: 'the server that has the broadcast is away' } });

/**
 * Asks the server that owns live streams as `ownerId`; undefined when it is away.
 * @throws KinoraError `unavailable` when it refuses
 */
export const callOwner = async (
  { owners, signature }: Pick<Nodes, 'owners' | 'signature'>,
  ownerId: string,
  call: LiveCall,
): Promise<boolean | number | null | undefined> => {
  if (!owners.ofEarly(ownerId)) await owners.refresh();
  const owner = owners.ofEarly(ownerId);
  if (!owner) return undefined;
  const body = JSON.stringify(call);
  const headers = { 'content-type': LIVE_CALL_TYPE, [SIGNATURE_HEADER]: signature.sign(LIVE_CALL_PATH, body) };
  const response = await owner.fetch({ method: 'POST', path: LIVE_CALL_PATH, headers, body: Buffer.from(body) });
  if (response.status === 200) return (await json(response.body)) as boolean | number | null;
  response.body.destroy();
  throw new KinoraError('unavailable', { details: { reason: 'the server that has the broadcast has refused' } });
};
