import type { Row } from '../../db/schema.js';
import { insertTracks } from '../../db/tables/assets/track.js';
import { KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { changeTracks, type LockedTracks } from './change-tracks.js';
import { recordTrackEvent } from './record-track-event.js';
import { claimName, languageName, takenNames } from './track-name.js';

/** A valid request for a track. */
export interface NewTrack {
  readonly url: string;
  readonly type: 'text' | 'audio';
  readonly text_type?: 'subtitles' | undefined;
  readonly language_code: string;
  readonly name?: string | undefined;
  /** Text tracks only, like the next one. */
  readonly closed_captions?: boolean | undefined;
  readonly passthrough?: string | undefined;
}

/**
 * Adds a track to a ready asset and queues its ingest.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const createTrack = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  request: NewTrack,
): Promise<Row<'track'>> =>
  changeTracks(context, environmentId, assetId, (locked) => addTrack(context, locked, request));

/**
 * The same in an open transaction.
 * @throws KinoraError `invalid_parameters`
 */
export const addTrack = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue'>,
  { tx, asset, tracks }: LockedTracks,
  request: NewTrack,
): Promise<Row<'track'>> => {
  if (asset.status !== 'ready')
    throw new KinoraError('invalid_parameters', { messages: ['Tracks can only be added to a ready asset'] });
  const problems = new Problems();
  const { type, name, language_code, url } = request;
  const taken = takenNames(tracks, type);
  if (name && taken.has(name)) problems.add(['name'], `must be unique among ${type} tracks`);
  problems.throwIfAny(request);
  const [track] = await insertTracks(tx, [
    {
      id: newId(),
      asset_id: asset.id,
      type,
      status: 'preparing',
      name: name || claimName(languageName(language_code), taken),
      language_code,
      url,
      ...(type === 'text' && {
        text_type: request.text_type ?? 'subtitles',
        text_source: 'uploaded',
        closed_captions: request.closed_captions ?? false,
        passthrough: request.passthrough || null,
      }),
    },
  ]);
  await recordTrackEvent(context, tx, asset.environment_id, 'created', track!);
  await context.queue.enqueue(queues.ingestTrack, { trackId: track!.id }, {}, tx);
  return track!;
};
