import { isDeepStrictEqual } from 'node:util';
import type { Row } from '../../db/schema.js';
import { updateTrackRow } from '../../db/tables/assets/track.js';
import { Problems } from '../../lib/problems.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { changeTracks } from './change-tracks.js';
import { claimName, languageName, takenNames } from './track-name.js';

/** What a valid request changes. */
export interface TrackUpdate {
  readonly language_code?: string | undefined;
  readonly name?: string | undefined;
  readonly closed_captions?: boolean | undefined;
  readonly passthrough?: string | undefined;
}

/**
 * Changes the given fields and keeps the rest: an empty `passthrough` clears it, an empty `name` is
 * replaced by the name of the language.
 * @throws KinoraError `not_found`, `invalid_parameters` for a name that another track has
 */
export const updateTrack = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  trackId: string,
  update: TrackUpdate,
): Promise<Row<'track'>> =>
  changeTracks(context, environmentId, assetId, async ({ tx, tracks, get }) => {
    const track = get(trackId);
    const type = track.type === 'audio' ? 'audio' : 'text';
    const others = tracks.filter(({ id }) => id !== trackId);
    const taken = takenNames(others, type);
    const problems = new Problems();
    if (update.name && taken.has(update.name)) problems.add(['name'], `must be unique among ${type} tracks`);
    problems.throwIfAny(update);
    const language = update.language_code ?? track.language_code;
    const name = update.name === '' ? claimName(languageName(language ?? 'und'), taken) : update.name;
    const change = {
      name: name ?? track.name,
      language_code: language,
      closed_captions: update.closed_captions ?? track.closed_captions,
      passthrough: update.passthrough === undefined ? track.passthrough : update.passthrough || null,
    };
    if (isDeepStrictEqual({ ...track, ...change }, track)) return track;
    const changed = await updateTrackRow(tx, trackId, change);
    await recordAssetEvent(context, tx, 'video.asset.updated', assetId);
    return changed;
  });
