import type { Transaction } from '../../db/database.js';
import type { NewRow } from '../../db/schema.js';
import { findEnvironmentOf } from '../../db/tables/assets/asset.js';
import { insertTracks, listTracks } from '../../db/tables/assets/track.js';
import { newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import type { AssetInput } from '../requests/asset-request.js';
import { roleOfInput } from '../requests/inputs.js';
import { recordTrackEvent } from './record-track-event.js';
import { claimName, languageName, takenNames } from './track-name.js';

/** The default name for the audio of the main input. */
export const MAIN_AUDIO_NAME = 'Default';

/**
 * Creates the tracks of a request's additional inputs. They are shown when the asset is ready.
 * @returns the names that the request uses
 */
export const insertSideCars = async (
  tx: Transaction,
  assetId: string,
  inputs: readonly AssetInput[],
): Promise<{ text: Set<string>; audio: Set<string> }> => {
  const sideCars = inputs.flatMap(({ name, generated_subtitles: generated = [] }, at) => {
    const type = roleOfInput(inputs[at]!, at) === 'text' ? ('text' as const) : ('audio' as const);
    return [
      { type, name: name || (at === 0 ? MAIN_AUDIO_NAME : null) },
      ...generated.map((entry) => ({ type: 'text' as const, name: entry.name ?? null })),
    ];
  });
  const taken = { text: takenNames(sideCars, 'text'), audio: takenNames(sideCars, 'audio') };
  const rows = inputs.flatMap((input, position): NewRow<'track'>[] => {
    const role = roleOfInput(input, position);
    if (role !== 'text' && role !== 'audio') return [];
    const { url, language_code: code = 'und', name } = input;
    const text = {
      text_type: 'subtitles',
      text_source: 'uploaded',
      closed_captions: input.closed_captions ?? false,
      passthrough: input.passthrough || null,
    } as const;
    return [
      {
        id: newId(),
        asset_id: assetId,
        type: role,
        status: 'preparing',
        name: name || claimName(languageName(code), taken[role]),
        language_code: code,
        url: url ?? null,
        input_position: position,
        ...(role === 'text' && text),
      },
    ];
  });
  // One by one, so that the order of creation does not depend on how the database inserts several
  // rows.
  for (const row of rows) await insertTracks(tx, [row]);
  return taken;
};

/**
 * Records events for the tracks of the creation request when the asset becomes ready, and queues
 * the unfinished ones.
 */
export const announceSideCars = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  const tracks = (await listTracks(tx, [assetId])).filter(({ input_position }) => input_position !== null);
  const environmentId = await findEnvironmentOf(tx, assetId);
  if (environmentId === undefined) return;
  for (const track of tracks) {
    const { id, status } = track;
    const created = { ...track, status: 'preparing', error: null };
    await recordTrackEvent(context, tx, environmentId, 'created', created);
    if (status === 'ready' || status === 'errored') await recordTrackEvent(context, tx, environmentId, status, track);
    else await context.queue.enqueue(queues.ingestTrack, { trackId: id }, {}, tx);
  }
};
