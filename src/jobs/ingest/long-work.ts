import { queues } from '../../domain/queues.js';
import { isMpegStreamFormat } from '../../media/source/frames.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { mezzanineKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';

/**
 * Ends a run that would occupy its slot for a long time; the asset continues in the queue for long
 * work.
 */
export class LongWorkAhead extends Error {}

/**
 * Measuring loudness decodes all audio up to six times, which takes about a second per minute of
 * audio.
 */
const MAX_MEASURED_SECONDS = 300;
/**
 * Indexing an MPEG stream reads the whole file once, and concatenated recordings take two more
 * passes.
 */
const MAX_SCANNED_BYTES = 512 * 2 ** 20;

/**
 * @throws LongWorkAhead in the queue `ingest` when a plan reads so much of the source that others
 * would wait noticeably
 */
export const rejectLongReading = ({ queue, row: { asset, media } }: IngestContext, facts: SourceFacts): void => {
  if (queue !== queues.ingest || media.plan) return;
  const measuresLong = asset.normalize_audio && facts.audio.length > 0 && facts.durationSeconds > MAX_MEASURED_SECONDS;
  const scansLong = isMpegStreamFormat(facts.formatName) && facts.sizeBytes > MAX_SCANNED_BYTES;
  if (measuresLong || scansLong) throw new LongWorkAhead('the whole source is read');
};

/** @throws LongWorkAhead in the queue `ingest` when the asset still needs a mezzanine */
export const rejectTranscoding = async ({ queue, blobs, assetId }: IngestContext, reason: string): Promise<void> => {
  if (queue === queues.ingest && !(await blobs.stat(mezzanineKey(assetId)))) throw new LongWorkAhead(reason);
};
