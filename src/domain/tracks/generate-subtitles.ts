import type { Transaction } from '../../db/database.js';
import type { NewRow, Row } from '../../db/schema.js';
import { listAssetInputs } from '../../db/tables/assets/asset-input.js';
import { insertTracks, listTracks } from '../../db/tables/assets/track.js';
import { newId } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import { recordAssetWarning } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import type { AssetInput, GeneratedSubtitles } from '../requests/asset-request.js';
import { changeTracks, type LockedTracks } from './change-tracks.js';
import { recordTrackEvent } from './record-track-event.js';
import { isRecognized } from './text-source.js';
import { claimName, languageName, takenNames } from './track-name.js';

/**
 * Without speech recognition, the tracks of a creation request stay `preparing` for at least this
 * long after the asset is ready. Clients that poll expect them in this state in the first response
 * that says `ready`, but their job ends immediately.
 */
const PREPARING_MS = 10_000;

/**
 * Adds tracks whose text is recognized from an audio track.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const generateSubtitles = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  audioTrackId: string,
  entries: readonly GeneratedSubtitles[],
): Promise<Row<'track'>[]> =>
  changeTracks(context, environmentId, assetId, (locked) =>
    addGeneratedSubtitles(context, locked, audioTrackId, entries),
  );

/**
 * The same in an open transaction.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const addGeneratedSubtitles = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue'>,
  { tx, asset, tracks, get }: LockedTracks,
  audioTrackId: string,
  entries: readonly GeneratedSubtitles[],
): Promise<Row<'track'>[]> => {
  const { type, status } = get(audioTrackId);
  const problems = new Problems();
  if (type !== 'audio') problems.addSentence([], 'Subtitles can only be generated from an audio track');
  else if (asset.status !== 'ready' || status !== 'ready') problems.addSentence([], 'The audio track is not ready');
  const taken = takenNames(tracks, 'text');
  entries.forEach(({ name }, at) => {
    if (name && taken.has(name)) problems.add(['generated_subtitles', at, 'name'], 'must be unique among text tracks');
    if (name) taken.add(name);
  });
  problems.throwIfAny({ generated_subtitles: entries });
  const rows = generatedRows(asset.id, tracks, [{ audioTrackId, entries }]);
  const inserted = await insertTracks(tx, rows);
  for (const track of inserted) await startRecognition(context, tx, asset, track);
  return inserted;
};

interface RequestedSubtitles {
  /** Undefined when the input has no audio. */
  readonly audioTrackId: string | undefined;
  readonly entries: readonly GeneratedSubtitles[];
}

/** The subtitles that each input of the creation request asks for, and the track of its audio. */
const requestedSubtitles = async (
  tx: Transaction,
  assetId: string,
  tracks: readonly Row<'track'>[],
): Promise<RequestedSubtitles[]> =>
  (await listAssetInputs(tx, assetId)).flatMap(({ settings, position }) => {
    const entries = (settings as AssetInput).generated_subtitles ?? [];
    if (entries.length === 0) return [];
    // The audio of the main input is not an input itself.
    const audio = tracks.find(
      ({ type, is_primary, input_position: from }) =>
        type === 'audio' && (position === 0 ? is_primary && (from === null || from === 0) : from === position),
    );
    return [{ audioTrackId: audio?.id, entries }];
  });

/**
 * Creates the tracks of the generated subtitles in the creation request; an input without audio has
 * none.
 */
export const insertGeneratedSubtitles = async (
  tx: Transaction,
  { id: assetId, live_stream_id: liveStreamId }: Pick<Row<'asset'>, 'id' | 'live_stream_id'>,
): Promise<void> => {
  const source = liveStreamId === null ? 'generated_vod' : 'generated_live_final';
  const tracks = await listTracks(tx, [assetId]);
  await insertTracks(tx, generatedRows(assetId, tracks, await requestedSubtitles(tx, assetId, tracks), source));
};

/**
 * Announces the tracks of `insertGeneratedSubtitles` and queues the work on them, after the asset's
 * ready event.
 */
export const startGeneratedSubtitles = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'recognizesSpeech'>,
  tx: Transaction,
  asset: Row<'asset'>,
): Promise<void> => {
  const all = await listTracks(tx, [asset.id]);
  const requested = await requestedSubtitles(tx, asset.id, all);
  if (requested.length === 0) return;
  const tracks = all.filter(
    // Copies in a clip belong to an input and already have their text.
    ({ text_source, input_position }) => isRecognized(text_source) && input_position === null,
  );
  const runAt = context.recognizesSpeech ? undefined : new Date(context.clock.now().getTime() + PREPARING_MS);
  for (const track of tracks) await startRecognition(context, tx, asset, track, runAt);
  if (requested.some(({ audioTrackId }) => audioTrackId === undefined))
    await recordAssetWarning(context, tx, asset, {
      type: 'generated_subtitles',
      message: 'Subtitles could not be generated: the asset has no audio.',
    });
};

/** The names of the entries differ from each other and from those of `tracks`. */
const generatedRows = (
  assetId: string,
  tracks: readonly Row<'track'>[],
  requested: readonly RequestedSubtitles[],
  source: 'generated_vod' | 'generated_live_final' = 'generated_vod',
): NewRow<'track'>[] => {
  const taken = takenNames(tracks, 'text');
  const all = requested.flatMap(({ audioTrackId, entries }) =>
    audioTrackId === undefined ? [] : entries.map((entry) => ({ ...entry, audioTrackId })),
  );
  for (const { name } of all) if (name) taken.add(name);
  return all.map(({ name, language_code: code = 'en', passthrough, audioTrackId }) => {
    const byLanguage = code === 'auto' ? 'Auto-detected' : `${languageName(code)} (generated)`;
    return {
      id: newId(),
      asset_id: assetId,
      type: 'text',
      status: 'preparing',
      name: name || claimName(byLanguage, taken),
      language_code: code,
      text_type: 'subtitles',
      text_source: source,
      closed_captions: false,
      passthrough: passthrough || null,
      audio_track_id: audioTrackId,
    };
  });
};

const startRecognition = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue'>,
  tx: Transaction,
  asset: Row<'asset'>,
  track: Row<'track'>,
  runAt?: Date,
): Promise<void> => {
  await recordTrackEvent(context, tx, asset.environment_id, 'created', track);
  const options = { ...(runAt && { runAt }) };
  await context.queue.enqueue(queues.recognizeSpeech, { trackId: track.id }, options, tx);
};
