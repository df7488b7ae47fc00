import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { insertTracks, listTracks } from '../../db/tables/assets/track.js';
import type { DomainContext } from '../context.js';
import { recordTrackEvent } from './record-track-event.js';
import { claimName, takenNames } from './track-name.js';

export interface NewText {
  readonly id: string;
  readonly name: string;
  readonly languageCode: string;
  readonly closedCaptions: boolean;
  readonly passthrough?: string | null;
  /** What it is by default depends on `recognized`. */
  readonly source?: Row<'track'>['text_source'];
  /** Present for text that was recognized in an audio track. */
  readonly recognized?:
    | { readonly audioTrackId: string | null; readonly confidence?: number | null | undefined }
    | undefined;
}

/** Adds a text track whose text is already stored, in a transaction that has locked the asset. */
export const publishText = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  asset: Row<'asset'>,
  { id, name, languageCode, closedCaptions, passthrough, source, recognized }: NewText,
): Promise<Row<'track'>> => {
  const [track] = await insertTracks(tx, [
    {
      id,
      asset_id: asset.id,
      type: 'text',
      status: 'ready',
      name: claimName(name, takenNames(await listTracks(tx, [asset.id]), 'text')),
      language_code: languageCode,
      text_type: 'subtitles',
      text_source: source ?? (recognized ? 'generated_vod' : 'uploaded'),
      ...(recognized && {
        audio_track_id: recognized.audioTrackId,
        language_confidence: recognized.confidence ?? null,
      }),
      closed_captions: closedCaptions,
      passthrough: passthrough ?? null,
    },
  ]);
  await recordTrackEvent(context, tx, asset.environment_id, 'created', { ...track!, status: 'preparing' });
  await recordTrackEvent(context, tx, asset.environment_id, 'ready', track!);
  return track!;
};
