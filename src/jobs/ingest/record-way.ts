import type { EarlyPlayback } from '../../db/schema.js';
import type { IngestContext } from './context.js';

const MESSAGES = {
  ended: 'early playback ended',
  stored_first: 'asset does not play early',
} as const;

/** Logs and stores why an asset can't be played, or not any more, before its file is stored. */
export const recordWay = async (
  { assetId, state, logger }: Pick<IngestContext, 'assetId' | 'state' | 'logger'>,
  way: Exclude<EarlyPlayback, { status: 'played' }>,
): Promise<void> => {
  logger.info({ reason: way.reason }, MESSAGES[way.status]);
  await state.saveEarlyPlayback(assetId, way);
};
