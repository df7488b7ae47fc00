import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '../../db/database.js';
import type { EmbeddedSubtitles, LiveSubtitles, NewRow, Row } from '../../db/schema.js';
import { listExistingVocabularies } from '../../db/tables/assets/vocabulary.js';
import {
  findLiveStreamView,
  findLiveStreamViewById,
  insertLiveStream,
  insertSimulcastTargets,
  type ListLiveStreamsQuery,
  type LiveStreamView,
  listLiveStreamViews,
  lockLiveStream,
  updateLiveStreamRow,
} from '../../db/tables/live/live-stream.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId, newUuid } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import { hashSecret } from '../access/secret-hash.js';
import { checkBucket, checkReferences } from '../assets/check-references.js';
import type { DomainContext } from '../context.js';
import { checkDrmConfiguration } from '../drm/configurations.js';
import { makePlaybackIds } from '../playback/playback-ids.js';
import type { NewStaticRendition } from '../requests/asset-request.js';
import type { LiveStreamRequest, LiveStreamUpdate } from '../requests/live-stream-request.js';
import { recordLiveEvent, recordSimulcastEvent } from './record-live-event.js';
import { targetRow } from './simulcast-targets.js';

type Change = Partial<NewRow<'live_stream'>>;

/**
 * Creates an idle live stream with a new stream key.
 * @throws KinoraError `invalid_parameters` when something it refers to does not exist
 */
export const createLiveStream = (
  context: DomainContext,
  environmentId: string,
  request: LiveStreamRequest,
): Promise<LiveStreamView> => {
  checkBucket(context.sourceBuckets, request.asset);
  return context.database.transaction(async (tx) => {
    await checkReferences(context, tx, environmentId, request.asset);
    const problems = new Problems();
    for (const [index, entry] of request.playbackPolicies.entries()) {
      const path = ['advanced_playback_policies', index - request.advancedOffset];
      await checkDrmConfiguration(tx, environmentId, entry, path, problems);
    }
    await checkVocabularies(tx, environmentId, request.generatedSubtitles, problems);
    problems.throwIfAny(request.body);
    const id = newId();
    const createdAt = context.clock.now();
    await insertLiveStream(tx, {
      id,
      environment_id: environmentId,
      created_at: createdAt,
      srt_passphrase: newId(),
      audio_only: request.audioOnly,
      is_test: request.test,
      embedded_subtitles: JSON.stringify(request.embeddedSubtitles),
      generated_subtitles: JSON.stringify(request.generatedSubtitles),
      ingest_protocol: null,
      active_asset_id: null,
      disconnected_at: null,
      node_id: null,
      use_slate_for_standard_latency: false,
      max_continuous_duration: 0,
      ...newKey(),
      ...changeOf(request, { meta: null, new_asset_settings: null }),
      latency_mode: request.latencyMode,
    });
    await makePlaybackIds(tx, { environmentId, liveStreamId: id, createdAt }, request.playbackPolicies);
    const targets = await insertSimulcastTargets(
      tx,
      request.simulcastTargets.map((target) => targetRow(id, target)),
    );
    await recordLiveEvent(context, tx, 'created', id);
    for (const target of targets) await recordSimulcastEvent(context, tx, environmentId, 'created', target);
    return (await findLiveStreamViewById(tx, id))!;
  });
};

const newKey = () => {
  const key = newUuid();
  return { stream_key: key, stream_key_hash: hashSecret(key) };
};

/**
 * @throws KinoraError `not_found` for unknown and malformed IDs and for those of other environments
 */
export const getLiveStream = async (
  context: DomainContext,
  environmentId: string,
  id: string,
): Promise<LiveStreamView> => {
  const view = isId(id) ? await findLiveStreamView(context.database.queryable, environmentId, id) : undefined;
  if (!view) throw new KinoraError('not_found');
  return view;
};

/** Newest first. */
export const listLiveStreams = (
  context: DomainContext,
  environmentId: string,
  { streamKey, ...query }: Omit<ListLiveStreamsQuery, 'streamKeyHash'> & { readonly streamKey?: string | undefined },
): Promise<LiveStreamView[]> =>
  listLiveStreamViews(context.database.queryable, environmentId, {
    ...query,
    streamKeyHash: streamKey === undefined ? undefined : hashSecret(streamKey),
  });

/**
 * Changes the given fields and keeps the rest; an empty string clears a field.
 * @throws KinoraError `not_found`, `invalid_parameters` for settings that contradict stored ones
 */
export const updateLiveStream = (
  context: DomainContext,
  environmentId: string,
  id: string,
  update: LiveStreamUpdate,
): Promise<LiveStreamView> =>
  changeLiveStream(context, environmentId, id, (stream) => {
    const settings = { ...stream.new_asset_settings, ...update.newAssetSettings };
    const { mp4_support: support = 'none', static_renditions: renditions = [] } = settings;
    if (update.newAssetSettings?.mp4_support !== undefined && support !== 'none' && (renditions as object[]).length > 0)
      throw new KinoraError('invalid_parameters', {
        messages: ['new_asset_settings.mp4_support and new_asset_settings.static_renditions cannot be used together'],
      });
    return changeOf(update, stream);
  });

/** @throws KinoraError `not_found` */
export const updateEmbeddedSubtitles = (
  context: DomainContext,
  environmentId: string,
  id: string,
  entries: readonly EmbeddedSubtitles[],
): Promise<LiveStreamView> =>
  changeLiveStream(context, environmentId, id, () => ({ embedded_subtitles: JSON.stringify(entries) }));

/** @throws KinoraError `not_found`, `invalid_parameters` for an unknown vocabulary */
export const updateGeneratedSubtitles = (
  context: DomainContext,
  environmentId: string,
  id: string,
  entries: readonly LiveSubtitles[],
): Promise<LiveStreamView> =>
  changeLiveStream(context, environmentId, id, async (_, tx) => {
    const problems = new Problems();
    await checkVocabularies(tx, environmentId, entries, problems);
    problems.throwIfAny({ generated_subtitles: entries });
    return { generated_subtitles: JSON.stringify(entries) };
  });

/**
 * The static renditions of later assets; undefined removes the setting.
 * @throws KinoraError `not_found`, `invalid_parameters` together with `mp4_support`
 */
export const updateLiveStaticRenditions = (
  context: DomainContext,
  environmentId: string,
  id: string,
  renditions: readonly NewStaticRendition[] | undefined,
): Promise<LiveStreamView> =>
  changeLiveStream(context, environmentId, id, ({ new_asset_settings: settings }) => {
    const { static_renditions: _, ...others } = settings ?? {};
    if (renditions?.length && (others.mp4_support ?? 'none') !== 'none')
      throw new KinoraError('invalid_parameters', {
        messages: ['static_renditions and mp4_support cannot be used together'],
      });
    return { new_asset_settings: JSON.stringify({ ...others, ...(renditions && { static_renditions: renditions }) }) };
  });

/**
 * The old key stops working at once: its encoder is disconnected.
 * @throws KinoraError `not_found`
 */
export const resetStreamKey = async (
  context: DomainContext,
  environmentId: string,
  id: string,
): Promise<LiveStreamView> => {
  await changeLiveStream(context, environmentId, id, newKey);
  await context.live.disconnect(id, 'stream key reset');
  return getLiveStream(context, environmentId, id);
};

/** Writes the change and records its event only if something differs. */
const changeLiveStream = async (
  context: DomainContext,
  environmentId: string,
  id: string,
  changeOf: (stream: Row<'live_stream'>, tx: Transaction) => Change | Promise<Change>,
): Promise<LiveStreamView> => {
  if (!isId(id)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const stream = await lockLiveStream(tx, id);
    if (stream?.environment_id !== environmentId) throw new KinoraError('not_found');
    await updateLiveStreamRow(tx, id, await changeOf(stream, tx));
    if (!isDeepStrictEqual(await lockLiveStream(tx, id), stream)) await recordLiveEvent(context, tx, 'updated', id);
    return (await findLiveStreamViewById(tx, id))!;
  });
};

/** What a request says about the columns, as it is stored. */
const changeOf = (
  update: LiveStreamUpdate,
  stored: Pick<Row<'live_stream'>, 'meta' | 'new_asset_settings'>,
): Change &
  Pick<
    NewRow<'live_stream'>,
    'reconnect_window' | 'reconnect_slate_url' | 'passthrough' | 'meta' | 'new_asset_settings'
  > => ({
  ...(update.latencyMode && { latency_mode: update.latencyMode }),
  ...(update.reconnectWindow !== undefined && { reconnect_window: update.reconnectWindow }),
  ...(update.useSlate !== undefined && { use_slate_for_standard_latency: update.useSlate }),
  ...(update.slateUrl !== undefined && { reconnect_slate_url: update.slateUrl || null }),
  ...(update.maxContinuousDuration !== undefined && { max_continuous_duration: update.maxContinuousDuration }),
  ...(update.passthrough !== undefined && { passthrough: update.passthrough || null }),
  ...(update.meta && { meta: mergeMeta(stored.meta, update.meta) }),
  ...(update.newAssetSettings && {
    new_asset_settings: JSON.stringify({ ...stored.new_asset_settings, ...update.newAssetSettings }),
  }),
});

const mergeMeta = (stored: Record<string, string> | null, update: Readonly<Record<string, string>>): string | null => {
  const entries = Object.entries({ ...stored, ...update }).filter(([, value]) => value !== '');
  return entries.length > 0 ? JSON.stringify(Object.fromEntries(entries)) : null;
};

const checkVocabularies = async (
  tx: Transaction,
  environmentId: string,
  entries: readonly LiveSubtitles[],
  problems: Problems,
): Promise<void> => {
  for (const [index, { transcription_vocabulary_ids: ids = [] }] of entries.entries()) {
    const existing = new Set(await listExistingVocabularies(tx, environmentId, ids));
    ids.forEach((id, at) => {
      const path = ['generated_subtitles', index, 'transcription_vocabulary_ids', at];
      if (!existing.has(id)) problems.add(path, 'does not refer to an existing transcription vocabulary');
    });
  }
};
