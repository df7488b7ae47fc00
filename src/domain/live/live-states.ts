import type { Database, Queryable, Transaction } from '../../db/database.js';
import type { RecordingTime, Row } from '../../db/schema.js';
import { findAssetById, updateAssetRow } from '../../db/tables/assets/asset.js';
import { updatePreparing } from '../../db/tables/assets/asset-ingest.js';
import { insertTracks, listTracks } from '../../db/tables/assets/track.js';
import {
  findLiveStream,
  findLiveStreamByKeyHash,
  findSimulcastTarget,
  listBroadcasts,
  listSimulcastTargets,
  lockLiveStream,
  updateLiveStreamRow,
  updateSimulcastTarget,
} from '../../db/tables/live/live-stream.js';
import { readDatabaseMs } from '../../db/tables/server/node.js';
import { newId } from '../../lib/ids.js';
import { describeLiveAsset, type LiveFacts } from '../../media/plan/asset-properties.js';
import { hashSecret } from '../access/secret-hash.js';
import { recordAssetEvent, recordAssetWarning } from '../asset-view/record-asset-event.js';
import { type IngestProtocol, insertNewAsset } from '../assets/create-asset.js';
import { assetColumns, mainTrackRows } from '../assets/main-tracks.js';
import type { DomainContext } from '../context.js';
import { recordEvent } from '../events/record-event.js';
import type { LiveSubtitles } from '../playback/live-feed.js';
import { insertCaptionTracks } from '../tracks/caption-tracks.js';
import { publishText } from '../tracks/publish-text.js';
import { type EndedBroadcast, endBroadcast, stopSimulcast } from './end-broadcast.js';
import { hasLiveLease } from './live-lease.js';
import { captionsOf, type LiveSettings, liveSettingsOf, nextSequenceOf, ownerOf } from './live-settings.js';
import { readNewAsset } from './new-asset.js';
import { recordLiveEvent, recordSimulcastEvent } from './record-live-event.js';

/** A broadcast that has not ended, as a stopped server has left it. */
export interface InterruptedBroadcast {
  readonly settings: LiveSettings;
  /** Undefined when the encoder had connected, but nothing was recorded yet. */
  readonly assetId: string | undefined;
  readonly protocol: IngestProtocol;
  readonly startedAt: Date;
  /** Segments could be played; `active` was recorded. */
  readonly isActive: boolean;
  /** Since when the encoder is away; undefined when it was connected. */
  readonly disconnectedAt: Date | undefined;
  readonly recordingTimes: readonly RecordingTime[];
  /** See `RecordingReplica`. */
  readonly term: number;
  /** The track of what was recognized while live. */
  readonly subtitlesId: string | undefined;
}

/** A broadcast as its server has it. */
export interface OwnBroadcast {
  readonly liveStreamId: string;
  /** Of its recording, once there is one. */
  readonly assetId: string | undefined;
}

/** What a server has left that does not run any more. */
export interface AbandonedBroadcast {
  readonly liveStreamId: string;
  readonly ownerId: string;
}

/** A service that gets a copy of each broadcast. */
export interface SimulcastTarget {
  readonly id: string;
  readonly url: string;
  readonly streamKey: string | null;
}

/** Owns what was handed over; nobody has its lease. */
export const HANDED_OVER = 'handed over';

/** The first server that the encoder reaches continues what was handed over; then any does. */
const CHOOSE_MS = 4000;

type Context = Omit<Pick<DomainContext, keyof DomainContext>, 'live'>;

/** What a recording is written to. */
export interface StartedRecording {
  readonly assetId: string;
  readonly isNew: boolean;
  /** Numbers with which the broadcast begins. */
  readonly nextSequence: number;
  readonly nextDiscontinuity: number;
  /** See `RecordingReplica`. */
  readonly term: number;
}

/**
 * The states of live streams, as whoever receives an encoder changes them. Each method is one
 * transaction with its events, and does nothing when the live stream was deleted meanwhile, or when
 * its broadcast belongs to another server: only that one writes its recording. The order is
 * `connected`, `recording`, `active`, `disconnected`, and from there either `connected` and
 * `recording` again or `ended`. A change that is saved already is not told again: its caller may
 * repeat it, because it could not know whether the database had committed it. One file, because
 * these rules hold for all methods.
 */
export class LiveStates {
  readonly #context: Context;
  readonly #database: Database;
  readonly #nodeId: string | null;

  /** `nodeId` names this server among several, also after a restart. */
  constructor(context: Context, nodeId?: string) {
    this.#context = context;
    this.#database = context.database;
    this.#nodeId = nodeId ?? null;
  }

  /** Undefined when no live stream has this key. */
  async findByKey(streamKey: string): Promise<LiveSettings | undefined> {
    const row = await findLiveStreamByKeyHash(this.#database.queryable, hashSecret(streamKey));
    return row && liveSettingsOf(row);
  }

  /**
   * Makes this server the owner of a live stream whose owner has no lease any more. Returns what is
   * to be continued, or `free` when there is nothing; undefined while another server has it.
   */
  async takeOver({ liveStreamId, ownerId }: AbandonedBroadcast): Promise<InterruptedBroadcast | 'free' | undefined> {
    const taken = await this.#database.transaction(async (tx) => {
      const stream = await lockLiveStream(tx, liveStreamId);
      // Deleted, ended, or taken over meanwhile.
      if (!stream || ownerOf(stream) !== ownerId) return stream && this.#mayChange(stream) ? 'free' : undefined;
      if (await hasLiveLease(tx, ownerId)) return undefined;
      const disconnectedAt = stream.disconnected_at ?? this.#context.clock.now();
      const change = { connected: false, recording: false, disconnected_at: disconnectedAt, node_id: this.#nodeId };
      await updateLiveStreamRow(tx, liveStreamId, change);
      if (stream.connected) await recordLiveEvent(this.#context, tx, 'disconnected', liveStreamId);
      await stopSimulcast(this.#context, tx, liveStreamId, stream.environment_id);
      if (stream.active_asset_id === null) return 'free';
      return this.#interrupted(tx, { ...stream, ...change });
    });
    return taken;
  }

  /** The asset of the broadcast, if there is one. */
  async activeAsset(liveStreamId: string): Promise<string | undefined> {
    return (await findLiveStream(this.#database.queryable, liveStreamId))?.active_asset_id ?? undefined;
  }

  /** Broadcasts of servers without a lease; not those whose encoders choose a server just now. */
  async abandoned(): Promise<AbandonedBroadcast[]> {
    const db = this.#database.queryable;
    const sinceMs = this.#context.clock.now().getTime() - CHOOSE_MS;
    const others = (await listBroadcasts(db, null)).flatMap((stream) => {
      const ownerId = ownerOf(stream);
      if (ownerId === undefined || ownerId === this.#nodeId) return [];
      const isAwaited = ownerId === HANDED_OVER && (stream.disconnected_at?.getTime() ?? 0) > sinceMs;
      return isAwaited ? [] : [{ liveStreamId: stream.id, ownerId }];
    });
    const owners = [...new Set(others.map(({ ownerId }) => ownerId))];
    const running = new Set<string>();
    for (const ownerId of owners) if (await hasLiveLease(db, ownerId)) running.add(ownerId);
    return others.filter(({ ownerId }) => !running.has(ownerId));
  }

  /** The live streams whose broadcasts other servers have taken over, and may have ended. */
  async lost(broadcasts: Iterable<OwnBroadcast>): Promise<string[]> {
    const nodeId = this.#nodeId;
    if (nodeId === null) return [];
    const db = this.#database.queryable;
    const lost: string[] = [];
    for (const { liveStreamId, assetId } of broadcasts) {
      const row = await findLiveStream(db, liveStreamId);
      const isOver = assetId !== undefined && row?.active_asset_id !== assetId;
      // The owner of a broadcast that has ended stays until the next one.
      const isOthers = row ? row.node_id !== nodeId : !(await findAssetById(db, assetId ?? ''))?.is_live;
      if ((row && !this.#mayChange(row)) || (isOver && isOthers)) lost.push(liveStreamId);
    }
    return lost;
  }

  /** Lets any server take a broadcast of this one over at once. */
  handOver(liveStreamId: string): Promise<boolean> {
    return this.#change(liveStreamId, async (tx) => {
      await updateLiveStreamRow(tx, liveStreamId, { node_id: HANDED_OVER });
      return true;
    });
  }

  /** Ends a broadcast of this server that can't be continued; its asset becomes an error. */
  giveUp(liveStreamId: string): Promise<boolean> {
    return this.#change(liveStreamId, (tx, stream) => endBroadcast(this.#context, tx, stream));
  }

  /** False when the live stream was deleted or disabled: the encoder must be refused. */
  connected(liveStreamId: string, protocol: IngestProtocol): Promise<boolean> {
    return this.#change(liveStreamId, async (tx, stream) => {
      if (stream.status === 'disabled') return false;
      if (stream.connected) return true;
      await updateLiveStreamRow(tx, liveStreamId, {
        connected: true,
        disconnected_at: null,
        // The field of the API has no value for WebRTC.
        ingest_protocol: protocol === 'whip' ? null : protocol,
        node_id: this.#nodeId,
      });
      await recordLiveEvent(this.#context, tx, 'connected', liveStreamId);
      return true;
    });
  }

  /**
   * The first frames are valid. Creates the asset of the broadcast, or finds that of an earlier
   * connection (`isNew` is false), whose times become `recordingTimes`. Undefined when the live
   * stream was deleted or disabled.
   */
  async recording(
    liveStreamId: string,
    { startedAt, recordingTimes }: { readonly startedAt: Date; readonly recordingTimes?: readonly RecordingTime[] },
  ): Promise<StartedRecording | undefined> {
    const recorded = await this.#change(liveStreamId, async (tx, stream) => {
      if (stream.status === 'disabled') return false;
      const assetId = stream.active_asset_id ?? newId();
      const isNew = stream.active_asset_id === null;
      const numbers = { nextSequence: nextSequenceOf(stream), nextDiscontinuity: stream.next_discontinuity };
      const started = { assetId, isNew, ...numbers, term: await readDatabaseMs(tx) };
      if (stream.recording && !isNew) return started;
      if (isNew) await this.#createAsset(tx, stream, assetId, startedAt);
      else if (recordingTimes) await this.#setTimes(tx, assetId, recordingTimes);
      else await this.#addRecordingTime(tx, assetId, startedAt);
      await updateLiveStreamRow(tx, liveStreamId, { recording: true, active_asset_id: assetId });
      await recordLiveEvent(this.#context, tx, 'recording', liveStreamId);
      return started;
    });
    return recorded || undefined;
  }

  /**
   * The broadcast can be played: its asset is ready, and so is the track of what is recognized
   * while live. Only the first call of a broadcast counts.
   */
  async active(liveStreamId: string, facts: LiveFacts, subtitles?: LiveSubtitles): Promise<boolean> {
    let assetId: string | null = null;
    const changed = await this.#change(liveStreamId, async (tx, stream) => {
      assetId = stream.active_asset_id;
      if (assetId === null) return false;
      const properties = describeLiveAsset(facts);
      const asset = await updatePreparing(tx, assetId, {
        ...assetColumns(properties),
        status: 'ready',
        ready_at: this.#context.clock.now(),
      });
      if (!asset) return false;
      await insertTracks(tx, mainTrackRows(assetId, properties));
      if (stream.status !== 'disabled') await updateLiveStreamRow(tx, liveStreamId, { status: 'active' });
      await recordLiveEvent(this.#context, tx, 'active', liveStreamId);
      await recordAssetEvent(this.#context, tx, 'video.asset.ready', assetId);
      if (subtitles) await this.#addSubtitles(tx, stream, assetId, subtitles);
      return true;
    });
    if (changed) this.#context.onPlayableChanged(assetId!);
    return changed;
  }

  /** The encoder is lost. `recordingTimes` are those of the whole broadcast. */
  disconnected(
    liveStreamId: string,
    { recordingTimes }: { readonly recordingTimes: readonly RecordingTime[] },
  ): Promise<boolean> {
    return this.#change(liveStreamId, async (tx, stream) => {
      if (!stream.connected) return false;
      const { active_asset_id: assetId, environment_id: environmentId } = stream;
      await updateLiveStreamRow(tx, liveStreamId, {
        connected: false,
        recording: false,
        disconnected_at: this.#context.clock.now(),
      });
      if (assetId !== null) await this.#setTimes(tx, assetId, recordingTimes);
      await stopSimulcast(this.#context, tx, liveStreamId, environmentId);
      await recordLiveEvent(this.#context, tx, 'disconnected', liveStreamId);
      return true;
    });
  }

  /** A slate is being recorded. `recordingTimes` are those of the whole broadcast. */
  slate(
    liveStreamId: string,
    { recordingTimes }: { readonly recordingTimes: readonly RecordingTime[] },
  ): Promise<boolean> {
    return this.#change(liveStreamId, async (tx, { active_asset_id: assetId }) => {
      if (assetId === null) return false;
      await this.#setTimes(tx, assetId, recordingTimes);
      return true;
    });
  }

  /**
   * The broadcast is over, and its recording is stored: an ordinary ingest plans it. With
   * `disables`, the live stream accepts no further encoder (test streams, at their limit).
   */
  async ended(
    liveStreamId: string,
    ended: EndedBroadcast,
    { disables = false }: { readonly disables?: boolean } = {},
  ): Promise<boolean> {
    let assetId: string | null = null;
    const changed = await this.#change(liveStreamId, async (tx, stream) => {
      assetId = stream.active_asset_id;
      if (!(await endBroadcast(this.#context, tx, stream, ended))) return false;
      if (disables && stream.status !== 'disabled') {
        await updateLiveStreamRow(tx, liveStreamId, { status: 'disabled' });
        await recordLiveEvent(this.#context, tx, 'disabled', liveStreamId);
      }
      return true;
    });
    if (changed) this.#context.onPlayableChanged(assetId!);
    return changed;
  }

  /** Tells the owner about a problem of a recording, such as key frames that are too far apart. */
  async warn(assetId: string, warning: { readonly type: string; readonly message: string }): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const asset = await findAssetById(tx, assetId);
      if (asset) await recordAssetWarning(this.#context, tx, asset, warning);
    });
  }

  /** The same for a problem of the live stream itself, such as a slate that can't be fetched. */
  async warnStream(liveStreamId: string, warning: { readonly type: string; readonly message: string }): Promise<void> {
    await this.#change(liveStreamId, async (tx, stream) => {
      await recordEvent(this.#context, tx, {
        environmentId: stream.environment_id,
        type: 'video.live_stream.warning',
        object: { type: 'live', id: liveStreamId },
        data: this.#context.wire.liveStreamWarning(stream, warning),
      });
      const asset = stream.active_asset_id === null ? undefined : await findAssetById(tx, stream.active_asset_id);
      if (asset) await recordAssetWarning(this.#context, tx, asset, warning);
      return true;
    });
  }

  /** In order of creation. They do not change while an encoder is connected. */
  async simulcastTargets(liveStreamId: string): Promise<SimulcastTarget[]> {
    const rows = await listSimulcastTargets(this.#database.queryable, liveStreamId);
    return rows.map(({ id, url, stream_key: streamKey }) => ({ id, url, streamKey }));
  }

  /** The state of a simulcast target; `severity` belongs to `errored`. */
  simulcast(
    liveStreamId: string,
    targetId: string,
    status: Row<'simulcast_target'>['status'],
    severity?: 'normal' | 'fatal',
  ): Promise<boolean> {
    return this.#change(liveStreamId, async (tx, { environment_id: environmentId }) => {
      if (!(await findSimulcastTarget(tx, liveStreamId, targetId))) return false;
      const changed = await updateSimulcastTarget(tx, targetId, { status, error_severity: severity ?? null });
      if (changed) await recordSimulcastEvent(this.#context, tx, environmentId, status, changed);
      return changed !== undefined;
    });
  }

  /** Broadcasts of this server that a stop of it has interrupted. */
  async interrupted(): Promise<InterruptedBroadcast[]> {
    const db = this.#database.queryable;
    return Promise.all((await listBroadcasts(db, this.#nodeId)).map((stream) => this.#interrupted(db, stream)));
  }

  async #interrupted(db: Queryable, stream: Row<'live_stream'>): Promise<InterruptedBroadcast> {
    const asset = stream.active_asset_id === null ? undefined : await findAssetById(db, stream.active_asset_id);
    const tracks = asset ? await listTracks(db, [asset.id]) : [];
    return {
      settings: liveSettingsOf(stream),
      assetId: asset?.id,
      protocol: stream.ingest_protocol ?? 'whip',
      startedAt: asset?.created_at ?? stream.created_at,
      isActive: asset?.status === 'ready',
      disconnectedAt: stream.connected ? undefined : (stream.disconnected_at ?? undefined),
      recordingTimes: asset?.recording_times ?? [],
      term: await readDatabaseMs(db),
      subtitlesId: tracks.find(({ text_source }) => text_source === 'generated_live')?.id,
    };
  }

  async #createAsset(tx: Transaction, stream: Row<'live_stream'>, assetId: string, startedAt: Date): Promise<void> {
    const { request, warning } = await readNewAsset(this.#context, tx, stream);
    const { asset } = await insertNewAsset(this.#context, tx, {
      id: assetId,
      environmentId: stream.environment_id,
      uploadId: null,
      request,
      live: { liveStreamId: stream.id, protocol: stream.ingest_protocol ?? 'whip', startedAt },
    });
    await insertCaptionTracks(this.#context, tx, asset, captionsOf(stream));
    if (warning) await recordAssetWarning(this.#context, tx, asset, warning);
  }

  async #addSubtitles(
    tx: Transaction,
    { generated_subtitles: generated }: Row<'live_stream'>,
    assetId: string,
    { trackId, name, languageCode }: LiveSubtitles,
  ): Promise<void> {
    const asset = await findAssetById(tx, assetId);
    const audio = (await listTracks(tx, [assetId])).find(({ type }) => type === 'audio');
    if (!asset) return;
    await publishText(this.#context, tx, asset, {
      ...{ id: trackId, name, languageCode, closedCaptions: false },
      passthrough: generated?.[0]?.passthrough ?? null,
      source: 'generated_live',
      recognized: { audioTrackId: audio?.id ?? null },
    });
  }

  async #setTimes(tx: Transaction, assetId: string, times: readonly RecordingTime[]): Promise<void> {
    await updateAssetRow(tx, assetId, { recording_times: JSON.stringify(times) });
  }

  async #addRecordingTime(tx: Transaction, assetId: string, startedAt: Date): Promise<void> {
    const asset = await findAssetById(tx, assetId);
    const times = [...(asset?.recording_times ?? []), { started_at: startedAt.toISOString(), type: 'content' }];
    await updateAssetRow(tx, assetId, { recording_times: JSON.stringify(times) });
  }

  #mayChange(stream: Row<'live_stream'>): boolean {
    const ownerId = ownerOf(stream);
    return ownerId === undefined || this.#nodeId === null || ownerId === this.#nodeId;
  }

  /** False when the live stream is not there, or belongs to another server. */
  #change<T>(
    liveStreamId: string,
    change: (tx: Transaction, stream: Row<'live_stream'>) => Promise<T>,
  ): Promise<T | false> {
    return this.#database.transaction(async (tx) => {
      const stream = await lockLiveStream(tx, liveStreamId);
      return stream && this.#mayChange(stream) ? change(tx, stream) : false;
    });
  }
}
