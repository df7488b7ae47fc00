import { Problems } from '../../api/problems.js';
import type { GeneratedSubtitles, Input } from '../../api/schemas/input.js';
import type { Transaction } from '../../db/database.js';
import type { NewRow, Row } from '../../db/schema.js';
import { listAssetInputs } from '../../db/tables/asset-input.js';
import { insertTracks, listTracks } from '../../db/tables/track.js';
import { KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import { recordAssetWarning } from '../events/record-asset-event.js';
import { changeTracks } from './change-tracks.js';
import { INGEST_TRACK_QUEUE } from './create-track.js';
import { recordTrackEvent } from './record-track-event.js';
import { claimName, languageName, takenNames } from './track-name.js';

/**
 * Adds tracks whose text comes from the sound of a track.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const generateSubtitles = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  audioTrackId: string,
  entries: readonly GeneratedSubtitles[],
): Promise<Row<'track'>[]> =>
  changeTracks(context, environmentId, assetId, async ({ tx, asset, tracks, get }) => {
    const { type, status } = get(audioTrackId);
    const problems = new Problems();
    if (type !== 'audio') problems.addSentence([], 'Subtitles can only be generated from an audio track');
    else if (asset.status !== 'ready' || status !== 'ready') problems.addSentence([], 'The audio track is not ready');
    const taken = takenNames(tracks, 'text');
    entries.forEach(({ name }, at) => {
      if (name && taken.has(name))
        problems.add(['generated_subtitles', at, 'name'], 'must be unique among text tracks');
      if (name) taken.add(name);
    });
    problems.throwIfAny({ generated_subtitles: entries });
    return addGenerated(context, tx, asset, tracks, entries);
  });

/** The generated subtitles that an asset was asked for at its creation, when it has become ready. */
export const startGeneratedSubtitles = async (
  context: Pick<DomainContext, 'clock' | 'queue'>,
  tx: Transaction,
  asset: Row<'asset'>,
): Promise<void> => {
  const inputs = await listAssetInputs(tx, asset.id);
  const entries = inputs.flatMap(({ settings }) => (settings as Partial<Input>).generated_subtitles ?? []);
  if (entries.length === 0) return;
  const tracks = await listTracks(tx, [asset.id]);
  if (tracks.some(({ type }) => type === 'audio')) await addGenerated(context, tx, asset, tracks, entries);
  else
    await recordAssetWarning(context, tx, asset, {
      type: 'generated_subtitles',
      message: 'Subtitles could not be generated: the asset has no audio.',
    });
};

/** `entries` have names that differ from each other and from those of `tracks`. */
const addGenerated = async (
  context: Pick<DomainContext, 'clock' | 'queue'>,
  tx: Transaction,
  asset: Row<'asset'>,
  tracks: readonly Row<'track'>[],
  entries: readonly GeneratedSubtitles[],
): Promise<Row<'track'>[]> => {
  const taken = takenNames(tracks, 'text');
  for (const { name } of entries) if (name) taken.add(name);
  const rows = entries.map(({ name, language_code: code = 'en', passthrough }): NewRow<'track'> => {
    const byLanguage = code === 'auto' ? 'Auto-detected' : `${languageName(code)} (generated)`;
    return {
      id: newId(),
      asset_id: asset.id,
      type: 'text',
      status: 'preparing',
      name: name || claimName(byLanguage, taken),
      language_code: code,
      text_type: 'subtitles',
      text_source: 'generated_vod',
      closed_captions: false,
      passthrough: passthrough || null,
    };
  });
  const made = await insertTracks(tx, rows);
  for (const track of made) {
    await recordTrackEvent(context, tx, asset.environment_id, 'created', track);
    await context.queue.enqueue(INGEST_TRACK_QUEUE, { trackId: track.id }, { dedupeKey: track.id }, tx);
  }
  return made;
};

/** What recognition answers on a server without it. */
export const recognitionUnavailable = (): KinoraError =>
  new KinoraError('internal_error', { messages: ['Speech recognition is not available.'], failure: 'fail' });
