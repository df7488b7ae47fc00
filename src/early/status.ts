// Answers who may watch: why nobody may, or not any more, before the file is stored.

import type { EarlyPlayback } from '../db/schema.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import { type ErrorCode, isKinoraError } from '../lib/errors.js';
import type { Logger } from '../telemetry/logger.js';

interface StatusContext {
  readonly assetId: string;
  readonly state: Pick<IngestState, 'saveEarlyPlayback'>;
  readonly logger: Logger;
}

const MESSAGES = {
  ended: 'early playback ended',
  stored_first: 'asset does not play early',
} as const;

/** Logs and stores the early-playback status of an asset that can't be played, or not any more. */
export const recordStatus = async (
  { assetId, state, logger }: StatusContext,
  early: Exclude<EarlyPlayback, { status: 'played' }>,
): Promise<void> => {
  logger.info({ reason: early.reason }, MESSAGES[early.status]);
  await state.saveEarlyPlayback(assetId, early);
};

const UNREADABLE = 'the file cannot be read in parts, for example because it is fragmented';
const REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  range_missing: UNREADABLE,
  media_failed: UNREADABLE,
  source_changed: 'the origin answered a range request with another file or without the range',
  source_unreachable: 'the origin did not answer a range request completely',
};

/** Why early playback failed, for the operator and the owner of the file. */
export const reasonOf = (error: unknown): string =>
  isKinoraError(error) ? (REASONS[error.code] ?? `${error.code}: ${error.message}`) : 'internal_error';
