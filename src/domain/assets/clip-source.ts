import type { Transaction } from '../../db/database.js';
import { findAsset } from '../../db/tables/assets/asset.js';
import {
  findClipSource,
  insertSourceUses,
  listSourceUses,
  saveClip,
  saveLiveClip,
} from '../../db/tables/assets/clip.js';
import { isId } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import { type ClipSource, type LiveClip, originOf } from '../../media/plan/clip.js';
import type { Plan } from '../../media/plan/plan.js';
import type { DomainContext } from '../context.js';
import type { AssetRequest } from '../requests/asset-request.js';
import { assetIdOfUrl } from '../requests/inputs.js';
import type { BroadcastRef } from './recording-cutter.js';

/** The asset that the request clips; undefined when it is not a clip. */
export const clippedAssetId = ({ inputs }: AssetRequest): string | undefined => assetIdOfUrl(inputs[0]!.url ?? '');

/** A source that is recorded while the request is served. */
export interface RecordedSource extends BroadcastRef {
  /** So much could be seen when the request came. */
  readonly seconds: number;
}

/**
 * What is recorded of the asset that the request clips; undefined unless it is being recorded.
 * @throws KinoraError `unavailable` while the server that has the broadcast is away
 */
export const findRecordedSource = async (
  { database, live }: Pick<DomainContext, 'database' | 'live'>,
  environmentId: string,
  request: AssetRequest,
): Promise<RecordedSource | undefined> => {
  const sourceId = clippedAssetId(request);
  const source = isId(sourceId ?? '') ? await findAsset(database.queryable, environmentId, sourceId!) : undefined;
  if (!source?.is_live || source.live_stream_id === null) return undefined;
  const broadcast = { liveStreamId: source.live_stream_id, assetId: source.id };
  const seconds = await live.recordedSeconds(broadcast);
  return seconds === undefined ? undefined : { ...broadcast, seconds };
};

/** What the request says about its clip. */
export interface ClipCut {
  readonly startSeconds: number;
  readonly endSeconds?: number | undefined;
  readonly copyOverlays: boolean;
}

/**
 * Links a clip to the files of its source, which are kept even when the source is deleted. The
 * ingest cuts a clip of a recording that has no plan yet.
 * @throws KinoraError `invalid_parameters` when the source has been deleted since the request was
 * checked
 */
export const attachClip = async (
  tx: Transaction,
  environmentId: string,
  clip: { readonly id: string; readonly sourceId: string },
  request: AssetRequest,
  recorded: RecordedSource | undefined,
): Promise<void> => {
  const { start_time: startSeconds = 0, end_time: endSeconds } = request.inputs[0]!;
  const { copyOverlays } = request;
  const state = await linkSource(tx, environmentId, clip, { startSeconds, endSeconds, copyOverlays });
  if (state === 'linked') return;
  if (recorded && state === 'unplanned') {
    const { liveStreamId, assetId: liveAssetId, seconds } = recorded;
    const cut = { startSeconds, endSeconds: Math.min(endSeconds ?? seconds, seconds), copyOverlays };
    const live: LiveClip = { liveStreamId, liveAssetId, ...cut };
    await saveLiveClip(tx, clip.id, live);
    return;
  }
  const problems = new Problems(request.base);
  problems.add([request.inputsField, 0, 'url'], 'does not refer to an existing asset');
  problems.throwIfAny(request.body);
};

/** Links a clip to the files of its source as soon as that has a plan. */
export const linkSource = async (
  tx: Transaction,
  environmentId: string,
  clip: { readonly id: string; readonly sourceId: string },
  { startSeconds, endSeconds, copyOverlays }: ClipCut,
): Promise<'linked' | 'unplanned' | 'missing'> => {
  const source = await findClipSource(tx, environmentId, clip.sourceId);
  if (!source) return 'missing';
  if (!source.plan || !source.facts) return 'unplanned';
  const plan = source.plan as Plan;
  const sourceOwner = source.source_owner ?? clip.sourceId;
  const cut: ClipSource = {
    startSeconds,
    endSeconds: Math.min(endSeconds ?? plan.durationSeconds, plan.durationSeconds),
    zero: originOf(plan),
    mezzanineTier: plan.video?.access === 'mezzanine' ? source.max_resolution_tier : undefined,
    concatenated: plan.concatenated ? true : undefined,
    overlays: copyOverlays ? (plan.video?.filters.overlays ?? []) : [],
  };
  await saveClip(tx, clip.id, { facts: source.facts, sourceOwner, clip: cut });
  const uses = new Set([clip.sourceId, sourceOwner, ...(await listSourceUses(tx, clip.sourceId))]);
  await insertSourceUses(tx, clip.id, [...uses]);
  return 'linked';
};
