import type { Queryable, Transaction } from '../../db/database.js';
import { findAssetById, insertAsset, lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { saveSourceValidator } from '../../db/tables/assets/asset-ingest.js';
import { insertAssetInputs } from '../../db/tables/assets/asset-input.js';
import {
  findImport,
  replaceInput,
  resetErroredAsset,
  restartTrack,
  saveImport,
} from '../../db/tables/assets/import-asset.js';
import { findTrackById, insertTracks } from '../../db/tables/assets/track.js';
import { findPlaybackIdOwner } from '../../db/tables/playback/playback-id.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import { limitTestAsset } from '../assets/create-asset.js';
import type { DomainContext } from '../context.js';
import { checkDrmConfiguration } from '../drm/configurations.js';
import { makePlaybackIds } from '../playback/playback-ids.js';
import { queues } from '../queues.js';
import { insertRequestedRenditions, recordRenditionEvent } from '../renditions/static-renditions.js';
import { isWebUrl } from '../requests/inputs.js';
import type { ImportedTrack, ImportOrder } from './import-order.js';
import { playlistUrl } from './playlist-url.js';

type Context = Pick<DomainContext, 'database' | 'queue' | 'clock' | 'wire' | 'artifactUrls'>;

/**
 * Makes an asset with the IDs that it has on another server, and queues its ingest, in one
 * transaction. Only the operator's commands reach this. An asset that an earlier order has made is
 * kept: what failed of it is fetched again from the new URLs.
 * @throws KinoraError `conflict` when one of the IDs belongs to something else here,
 * `invalid_parameters`
 */
export const importAsset = (context: Context, order: ImportOrder): Promise<void> =>
  context.database.transaction(async (tx) => {
    checkIds(order);
    checkUrls(order);
    const { id, environmentId, sourceUrl } = order;
    const earlierImport = await findImport(tx, id);
    const existing = await findAssetById(tx, id);
    if (existing && !isOurs(earlierImport, order))
      throw conflict(`An asset with the ID ${id} exists here, and it is not from this source.`);
    if (existing) await restart(context, tx, order);
    else await insert(context, tx, order);
    const now = context.clock.now();
    const row = { asset_id: id, environment_id: environmentId, source_url: sourceUrl, updated_at: now };
    await saveImport(tx, { ...row, state: 'started', main_tracks: order.mainTracks });
  });

const conflict = (message: string): KinoraError => new KinoraError('conflict', { messages: [message] });

const isOurs = (earlierImport: Awaited<ReturnType<typeof findImport>>, order: ImportOrder): boolean =>
  earlierImport !== undefined &&
  earlierImport.state !== 'prepared' &&
  earlierImport.source_url === order.sourceUrl &&
  earlierImport.environment_id === order.environmentId;

const idsOf = ({ id, playbackIds, mainTracks, tracks, renditions }: ImportOrder): string[] => [
  id,
  ...Object.values(mainTracks),
  ...[...playbackIds, ...tracks, ...renditions].map((entry) => entry.id),
];

/** IDs become names of files, so no other form may pass. */
const checkIds = (order: ImportOrder): void => {
  const wrong = idsOf(order).find((id) => !isId(id));
  if (wrong === undefined) return;
  throw new KinoraError('invalid_parameters', { messages: [`${JSON.stringify(wrong)} is not an ID of a known form.`] });
};

/**
 * The source names the files, so the other forms of URLs that a user of this server may write would
 * read what the source can't: assets and buckets of this server.
 */
const checkUrls = ({ url: main, tracks }: ImportOrder): void => {
  const wrong = [main, ...tracks.map(({ url }) => url)].find((url) => !isWebUrl(url));
  if (wrong === undefined) return;
  const messages = [`The source names ${JSON.stringify(wrong)} as a file: that is not an HTTP or HTTPS URL.`];
  throw new KinoraError('invalid_parameters', { messages });
};

const insert = async (context: Context, tx: Transaction, order: ImportOrder): Promise<void> => {
  const { id, environmentId, settings, tracks } = order;
  await checkFree(tx, order);
  const { meta, mp4_support, ...columns } = settings;
  const asset = await insertAsset(tx, {
    ...columns,
    id,
    environment_id: environmentId,
    created_at: new Date(order.createdAtSeconds * 1000),
    mp4_support,
    static_renditions_status: mp4_support === 'none' ? null : 'preparing',
    meta: meta && JSON.stringify(meta),
  });
  await insertAssetInputs(tx, id, [mainInput(order), ...tracks.map(trackInput)]);
  // One by one, so that the order of creation does not depend on how the database inserts several
  // rows.
  for (const [index, track] of tracks.entries()) await insertTracks(tx, [trackRow(id, track, index + 1)]);
  const renditions = await insertRequestedRenditions(context, tx, id, order.renditions);
  await insertPlaybackIds(tx, order);
  await context.queue.enqueue(queues.ingest, { assetId: id }, {}, tx);
  if (settings.is_test) await limitTestAsset(context, tx, asset);
  await recordAssetEvent(context, tx, 'video.asset.created', id);
  for (const rendition of renditions) await recordRenditionEvent(context, tx, environmentId, 'created', rendition);
};

const mainInput = ({ url, mainAudio }: ImportOrder): Record<string, unknown> => ({ url, ...mainAudio });

const trackInput = ({ type, url, name, languageCode }: ImportedTrack): Record<string, unknown> => ({
  url,
  type,
  ...(type === 'text' && { text_type: 'subtitles' }),
  name,
  language_code: languageCode,
});

const trackRow = (assetId: string, track: ImportedTrack, position: number) => ({
  id: track.id,
  asset_id: assetId,
  type: track.type,
  status: 'preparing',
  name: track.name,
  language_code: track.languageCode,
  language_confidence: track.languageConfidence ?? null,
  url: track.isPlaylist ? playlistUrl(track.url) : track.url,
  input_position: position,
  ...(track.type === 'text' && {
    text_type: 'subtitles' as const,
    text_source: track.textSource ?? ('uploaded' as const),
    closed_captions: track.closedCaptions ?? false,
    passthrough: track.passthrough ?? null,
  }),
});

/** @throws KinoraError `invalid_parameters` for an unknown DRM configuration */
const insertPlaybackIds = async (tx: Transaction, order: ImportOrder): Promise<void> => {
  const { id: assetId, environmentId, playbackIds } = order;
  const problems = new Problems();
  for (const [index, entry] of playbackIds.entries())
    await checkDrmConfiguration(tx, environmentId, entry, ['playback_ids', index], problems);
  problems.throwIfAny(order);
  const owner = { environmentId, assetId, createdAt: new Date(order.createdAtSeconds * 1000) };
  await makePlaybackIds(
    tx,
    owner,
    playbackIds,
    playbackIds.map(({ id }) => id),
  );
};

/** @throws KinoraError `conflict` */
const checkFree = async (db: Queryable, { playbackIds, tracks, mainTracks }: ImportOrder): Promise<void> => {
  for (const { id } of playbackIds) {
    const owner = await findPlaybackIdOwner(db, id);
    if (owner) throw conflict(`The playback ID ${id} belongs to the asset ${owner} here.`);
  }
  for (const id of [...Object.values(mainTracks), ...tracks.map((track) => track.id)]) {
    const track = await findTrackById(db, id);
    if (track) throw conflict(`The track ID ${id} belongs to the asset ${track.asset_id} here.`);
  }
};

/** Fetches again what failed or waits; what is ready stays. */
const restart = async (context: Context, tx: Transaction, order: ImportOrder): Promise<void> => {
  const { id, environmentId, tracks } = order;
  const asset = await lockAssetForUpdate(tx, environmentId, id);
  if (!asset) return;
  for (const [index, track] of tracks.entries()) {
    await replaceInput(tx, id, { position: index + 1, settings: trackInput(track) });
    const url = track.isPlaylist ? playlistUrl(track.url) : track.url;
    const isRestarted = await restartTrack(tx, track.id, url);
    if (isRestarted && asset.status === 'ready')
      await context.queue.enqueue(queues.ingestTrack, { trackId: track.id }, {}, tx);
  }
  if (asset.status === 'ready') return;
  await replaceInput(tx, id, { position: 0, settings: mainInput(order) });
  if (asset.status !== 'errored') return;
  await resetErroredAsset(tx, id);
  await saveSourceValidator(tx, id, null);
  await context.queue.enqueue(queues.ingest, { assetId: id }, {}, tx);
};
