import type { Transaction } from '../../db/database.js';
import { insertTracks } from '../../db/tables/assets/track.js';
import { holdTracks, insertTrackMedia } from '../../db/tables/assets/track-media.js';
import { newId } from '../../lib/ids.js';
import type { AudioPlan } from '../../media/plan/plan.js';
import { COPIED_POSITION } from '../tracks/copied-position.js';
import { withoutDrafts } from '../tracks/text-source.js';
import { claimName } from '../tracks/track-name.js';

/**
 * Gives a clip the text and alternate audio tracks that are ready on its source. Until the ingest
 * has cut them, they refer to the same files; the source's tracks may be deleted in the meantime.
 * `taken` lists the names that the clip already uses. Returns the names of those that are not
 * ready, which the clip will not have.
 */
export const copyTracks = async (
  tx: Transaction,
  clip: { readonly id: string; readonly sourceId: string },
  taken: { readonly text: Set<string>; readonly audio: Set<string> },
): Promise<string[]> => {
  const pending: string[] = [];
  for (const source of withoutDrafts(await holdTracks(tx, clip.sourceId))) {
    if (source.status === 'preparing') {
      pending.push(source.name ?? source.id);
      continue;
    }
    const { type, language_code, language_confidence, text_type, text_source, closed_captions, passthrough } = source;
    if (type === 'video') continue;
    const id = newId();
    const plan = source.plan as AudioPlan | null;
    await insertTracks(tx, [
      {
        id,
        asset_id: clip.id,
        type,
        status: 'preparing',
        name: claimName(source.name ?? '', taken[type]),
        language_code,
        language_confidence,
        text_type,
        text_source,
        closed_captions,
        passthrough,
        input_position: COPIED_POSITION,
      },
    ]);
    await insertTrackMedia(tx, {
      track_id: id,
      // Text is cut from what is stored of the track itself; audio may itself come from another
      // asset.
      source_asset_id: (plan && source.source_asset_id) ?? source.asset_id,
      source_track_id: (plan && source.source_track_id) ?? source.id,
      ...(plan && {
        facts: JSON.stringify(source.facts),
        zero_seconds: (plan.sourceOrigin * plan.sourceTimeBase.num) / plan.sourceTimeBase.den,
      }),
    });
  }
  return pending;
};
