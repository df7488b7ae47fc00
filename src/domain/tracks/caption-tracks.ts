import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { insertTracks } from '../../db/tables/assets/track.js';
import { newId } from '../../lib/ids.js';
import type { ClosedCaptions } from '../../media/captions/caption-decoder.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { recordTrackEvent } from './record-track-event.js';
import { claimName } from './track-name.js';

/** Captions that become a text track when the broadcast is over. */
export interface RecordedCaptions extends ClosedCaptions {
  readonly passthrough?: string | undefined;
}

/** Gives the new asset of a broadcast the tracks of captions inside its video. */
export const insertCaptionTracks = async (
  context: Pick<DomainContext, 'clock' | 'wire'>,
  tx: Transaction,
  { id: assetId, environment_id: environmentId }: Pick<Row<'asset'>, 'id' | 'environment_id'>,
  captions: readonly RecordedCaptions[],
): Promise<void> => {
  const taken = new Set<string>();
  const tracks = await insertTracks(
    tx,
    captions.map(({ name, languageCode, channel, passthrough }) => ({
      id: newId(),
      asset_id: assetId,
      type: 'text',
      status: 'preparing',
      name: claimName(name, taken),
      language_code: languageCode,
      text_type: 'subtitles',
      text_source: 'embedded',
      caption_channel: channel,
      closed_captions: true,
      passthrough: passthrough ?? null,
    })),
  );
  for (const track of tracks) await recordTrackEvent(context, tx, environmentId, 'created', track);
};

/** Queues the work on them, when the recording is planned. `tracks` are those of the asset. */
export const startCaptionTracks = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  assetId: string,
  tracks: readonly Row<'track'>[],
): Promise<void> => {
  const isWaiting = tracks.some(({ status, caption_channel: channel }) => status === 'preparing' && channel !== null);
  if (isWaiting) await queue.enqueue(queues.readEmbeddedText, { assetId }, {}, tx);
};
