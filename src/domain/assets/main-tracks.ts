import type { Transaction } from '../../db/database.js';
import type { MainTrackIds, NewRow, Row } from '../../db/schema.js';
import { insertTracks, updateMainTrack } from '../../db/tables/assets/track.js';
import { newId } from '../../lib/ids.js';
import type { AssetProperties } from '../../media/plan/asset-properties.js';
import { MAIN_AUDIO_NAME } from '../tracks/side-cars.js';

/** Columns of an asset that tell its properties. */
export const assetColumns = (properties: AssetProperties) => ({
  duration_seconds: properties.duration,
  aspect_ratio: properties.aspectRatio ?? null,
  resolution_tier: properties.resolutionTier,
  max_stored_resolution: properties.maxStoredResolution,
  max_stored_frame_rate: properties.maxStoredFrameRate ?? null,
});

interface MainTrackSettings {
  readonly audioName?: string;
  readonly languageCode?: string | null;
  readonly ids?: MainTrackIds;
}

/** The video and the audio of the main input. */
export const mainTrackRows = (
  assetId: string,
  { videoTrack, audioTrack }: AssetProperties,
  { audioName = MAIN_AUDIO_NAME, languageCode = null, ids = {} }: MainTrackSettings = {},
): NewRow<'track'>[] => {
  const rows: NewRow<'track'>[] = [];
  if (videoTrack) {
    rows.push({
      id: ids.video ?? newId(),
      asset_id: assetId,
      type: 'video',
      status: 'ready',
      duration_seconds: videoTrack.duration,
      max_width: videoTrack.maxWidth,
      max_height: videoTrack.maxHeight,
      max_frame_rate: videoTrack.maxFrameRate,
    });
  }
  if (audioTrack) {
    rows.push({
      id: ids.audio ?? newId(),
      asset_id: assetId,
      type: 'audio',
      status: 'ready',
      is_primary: true,
      name: audioName,
      language_code: languageCode,
      duration_seconds: audioTrack.duration,
      max_channels: audioTrack.maxChannels,
      max_channel_layout: audioTrack.maxChannelLayout,
    });
  }
  return rows;
};

/**
 * Stores the main tracks. Those that a live stream has shown already keep their IDs and what their
 * owner has changed.
 */
export const saveMainTracks = async (
  tx: Transaction,
  rows: readonly NewRow<'track'>[],
  present: readonly Row<'track'>[],
): Promise<void> => {
  const added: NewRow<'track'>[] = [];
  for (const row of rows) {
    const shown = present.find(
      ({ type, input_position: from, is_primary }) =>
        type === row.type && from === null && (type === 'video' || is_primary),
    );
    if (shown) await updateMainTrack(tx, shown.id, row);
    else added.push(row);
  }
  await insertTracks(tx, added);
};
