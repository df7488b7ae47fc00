import { queues, type TrackPayload } from '../../../domain/queues.js';
import { KinoraError } from '../../../lib/errors.js';
import { failureFields } from '../../../lib/failure-fields.js';
import { alternateAudioRendition } from '../../../media/plan/find-segment.js';
import type { Job, JobContext, QueueWorker } from '../../../queue/queue.js';
import { trackPrefix } from '../../../storage/keys.js';
import { boundFailure } from '../file/bound-failure.js';
import { ingestEmbeddedText } from './embedded-text.js';
import { ingestTrack, removeUnusedFiles } from './ingest-track.js';
import type { TrackIngestDeps } from './track-source.js';

/**
 * Tracks of ready assets that are processed concurrently; most of the time they wait for their
 * files.
 */
const CONCURRENCY = 4;

/** Converts the files of tracks for playback, and removes the files of deleted ones. */
export const createTrackWorkers = (deps: TrackIngestDeps): QueueWorker[] => [
  {
    queue: queues.ingestTrack,
    concurrency: CONCURRENCY,
    handler: async (job: Job<TrackPayload>, { signal }: JobContext) => {
      const track = await deps.state.find(job.payload.trackId);
      if (!track) return;
      const logger = deps.logger.child({ asset_id: track.asset_id, track_id: track.id, job_id: job.id });
      const plan = async () => {
        const stored = await deps.state.findPlan(track.asset_id);
        if (!stored) throw new KinoraError('not_found');
        return stored;
      };
      try {
        await ingestTrack({ ...deps, logger, track, plan, signal });
      } catch (error) {
        if (!(await deps.state.find(track.id))) return;
        throw await boundFailure(error, () => deps.state.countCrash(track.id));
      }
    },
    onFailed: async (job: Job<TrackPayload>, error) => {
      deps.logger.warn({ track_id: job.payload.trackId, job_id: job.id, ...failureFields(error) }, 'track failed');
      const track = await deps.state.find(job.payload.trackId);
      await deps.state.fail(job.payload.trackId, error);
      if (track) await deps.blobs.discardUnfinished(trackPrefix(track.asset_id, track.id));
    },
  },
  {
    queue: queues.readEmbeddedText,
    concurrency: 1,
    handler: async ({ id, payload: { assetId } }: Job<{ readonly assetId: string }>, { signal }: JobContext) => {
      const tracks = await deps.state.listEmbeddedText(assetId);
      const [first] = tracks;
      if (!first) return;
      // Crashes are counted there.
      await deps.state.findMedia(first);
      const logger = deps.logger.child({ asset_id: assetId, job_id: id });
      try {
        await ingestEmbeddedText({ ...deps, logger }, { assetId, tracks, signal });
      } catch (error) {
        throw await boundFailure(error, () => deps.state.countCrash(first.id));
      }
    },
    onFailed: async ({ id, payload: { assetId } }: Job<{ readonly assetId: string }>, error) => {
      deps.logger.warn({ asset_id: assetId, job_id: id, err: error }, 'text streams failed');
      for (const track of await deps.state.listEmbeddedText(assetId)) await deps.state.fail(track.id, error);
    },
  },
  {
    queue: queues.purgeTrack,
    concurrency: 1,
    handler: async ({ payload: { assetId, trackId } }: Job<{ assetId: string; trackId: string }>) => {
      await removeUnusedFiles(deps, assetId, trackId);
      // A clip may play files of a track that still exists.
      if (!(await deps.state.find(trackId)))
        await deps.cache.removeRendition(assetId, alternateAudioRendition(trackId));
    },
  },
];
