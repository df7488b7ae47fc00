import type { Transaction } from '../../db/database.js';
import type { Row, RunResource } from '../../db/schema.js';
import { findShots } from '../../db/tables/assets/shots.js';
import { orderShots } from '../../domain/assets/shots.js';
import type { DomainContext } from '../../domain/context.js';
import { type LockedTracks, lockTracks } from '../../domain/tracks/change-tracks.js';
import { addTrack } from '../../domain/tracks/create-track.js';
import { addGeneratedSubtitles } from '../../domain/tracks/generate-subtitles.js';
import { isRecognized } from '../../domain/tracks/text-source.js';
import { isKinoraError } from '../../lib/errors.js';
import type { DirectiveResource, ResourceSource } from '../api/requests.js';

type Action = Extract<ResourceSource, { via: 'mux_api' }>;

/**
 * Starts making a resource, unless the asset already has it or is making it: shots, or generated
 * subtitles in the same language.
 */
export const startAction = async (
  context: DomainContext,
  tx: Transaction,
  asset: Row<'asset'>,
  { source }: DirectiveResource,
  resource: RunResource,
): Promise<RunResource> => {
  const action = source as Action;
  try {
    if (action.action === 'request_shots') return await requestShots(context, tx, asset, resource);
    const locked = await lockTracks(tx, asset.environment_id, asset.id);
    if (action.action === 'create_track') {
      const track = await addTrack(context, locked, action.params);
      return { ...resource, track_id: track.id };
    }
    return await generateSubtitles(context, locked, action.params ?? {}, resource);
  } catch (error) {
    if (!isKinoraError(error, 'invalid_parameters')) throw error;
    return { ...resource, state: 'failed', reason: `could not be created: ${error.message}` };
  }
};

const requestShots = async (
  context: DomainContext,
  tx: Transaction,
  asset: Row<'asset'>,
  resource: RunResource,
): Promise<RunResource> => {
  const shots = await findShots(tx, asset.id);
  if (shots?.status === 'completed') return { ...resource, state: 'ready' };
  const ordered = shots?.status === 'pending' ? shots : await orderShots(context, tx, asset);
  return ordered.status === 'pending'
    ? resource
    : { ...resource, state: 'failed', reason: 'could not be created: the asset has no video' };
};

const generateSubtitles = async (
  context: DomainContext,
  locked: LockedTracks,
  {
    language_code = 'auto',
    source_audio_language: audioLanguage,
  }: NonNullable<Extract<Action, { action: 'generate_subtitles' }>['params']>,
  resource: RunResource,
): Promise<RunResource> => {
  const present = locked.tracks.find(
    (track) =>
      isRecognized(track.text_source) &&
      track.status !== 'errored' &&
      (language_code === 'auto' || track.language_code === language_code),
  );
  if (present) return { ...resource, track_id: present.id };
  const audio = locked.tracks
    .filter(({ type, status }) => type === 'audio' && status === 'ready')
    .filter((track) => audioLanguage === undefined || track.language_code === audioLanguage)
    .sort((a, b) => Number(b.is_primary) - Number(a.is_primary))[0];
  if (!audio)
    return { ...resource, state: 'failed', reason: 'could not be created: the asset has no such audio track' };
  const code = language_code as 'auto';
  const [track] = await addGeneratedSubtitles(context, locked, audio.id, [{ language_code: code }]);
  return { ...resource, track_id: track!.id };
};
