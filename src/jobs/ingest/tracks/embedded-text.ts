import type { Row } from '../../../db/schema.js';
import { isKinoraError, KinoraError } from '../../../lib/errors.js';
import { withTemporaryFile } from '../../../lib/temporary-file.js';
import { originOf } from '../../../media/plan/clip.js';
import type { Plan } from '../../../media/plan/plan.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import type { ClosedCaptionsJob, EmbeddedTextJob } from '../../../pool/protocol.js';
import { readResult } from '../../../pool/read-result.js';
import { sourceKey, trackSourceKey } from '../../../storage/keys.js';
import { ingestTrack } from './ingest-track.js';
import type { TrackIngestDeps } from './track-source.js';

/** The limits of the media process, in characters of up to 4 bytes, with the times of the cues. */
const MAX_BYTES = 128 * 2 ** 20;

/**
 * Makes text tracks of `tracks`, which are streams of the asset's file, or captions in its video.
 * Their text is read in one pass through the file for each kind, and stored as the files of the
 * tracks.
 * @throws KinoraError `invalid_input` for a file that can't be read
 */
export const ingestEmbeddedText = async (
  deps: TrackIngestDeps,
  { assetId, tracks, signal }: { assetId: string; tracks: readonly Row<'track'>[]; signal: AbortSignal },
): Promise<void> => {
  const { state, blobs, logger } = deps;
  const plan = await state.findPlan(assetId);
  if (!plan) throw new KinoraError('not_found');
  const unread: Row<'track'>[] = [];
  for (const track of tracks) if (!(await blobs.stat(trackSourceKey(assetId, track.id)))) unread.push(track);
  const streams = unread.filter(({ caption_channel: channel }) => channel === null);
  if (streams.length > 0) await storeTexts(deps, plan, streams, streamsJob(streams), signal);
  const captions = unread.filter(({ caption_channel: channel }) => channel !== null);
  if (captions.length > 0) await storeTexts(deps, plan, captions, captionsJob(captions), signal);
  for (const track of tracks) {
    try {
      await ingestTrack({ ...deps, track, plan: async () => plan, signal });
    } catch (error) {
      if (!isKinoraError(error, 'invalid_input')) throw error;
      logger.warn({ err: error, track_id: track.id }, 'text stream without usable text');
      await state.fail(track.id, track.caption_channel === null ? error : withoutCaptions(track));
    }
  }
};

const withoutCaptions = ({ caption_channel: channel }: Row<'track'>): KinoraError =>
  new KinoraError('invalid_input', { messages: [`The video has no captions in the channel ${channel}.`] });

type TextJob = Pick<EmbeddedTextJob, 'kind' | 'streamIndexes'> | Pick<ClosedCaptionsJob, 'kind' | 'channels'>;

const streamsJob = (tracks: readonly Row<'track'>[]): TextJob => ({
  kind: 'embedded-text',
  streamIndexes: tracks.map(({ stream_index }) => stream_index!),
});

const captionsJob = (tracks: readonly Row<'track'>[]): TextJob => ({
  kind: 'closed-captions',
  channels: tracks.map(({ caption_channel }) => caption_channel!),
});

const storeTexts = async (
  { blobs, pool, temporaryDir }: TrackIngestDeps,
  plan: Plan,
  tracks: readonly Row<'track'>[],
  job: TextJob,
  signal: AbortSignal,
): Promise<void> => {
  const { num, den } = originOf(plan);
  const assetId = tracks[0]!.asset_id;
  const source = await blobs.openLocal(sourceKey(assetId));
  try {
    await withTemporaryFile(temporaryDir, async (outPath) => {
      const { sizesBytes } = await pool.run(
        { ...job, source: { path: source.path }, zeroSeconds: num / den, outPath },
        { priority: mediaPriority.warmUp, signal },
      );
      const bytes = await readResult(outPath, MAX_BYTES);
      let start = 0;
      for (const [at, track] of tracks.entries()) {
        const end = start + sizesBytes[at]!;
        await blobs.put(trackSourceKey(assetId, track.id), bytes.subarray(start, end));
        start = end;
      }
    });
  } finally {
    await source.release();
  }
};
