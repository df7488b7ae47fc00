import type { EarlyPlayback } from '../db/schema.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import type { Logger } from '../telemetry/logger.js';

const MESSAGES = {
  ended: 'early playback ended',
  stored_first: 'asset does not play early',
} as const;

interface StatusContext {
  readonly assetId: string;
  readonly state: Pick<IngestState, 'saveEarlyPlayback'>;
  readonly logger: Logger;
}

/** Logs and stores why an asset can't be played, or not any more, before its file is stored. */
export const recordStatus = async (
  { assetId, state, logger }: StatusContext,
  status: Exclude<EarlyPlayback, { status: 'played' }>,
): Promise<void> => {
  logger.info({ reason: status.reason }, MESSAGES[status.status]);
  await state.saveEarlyPlayback(assetId, status);
};
