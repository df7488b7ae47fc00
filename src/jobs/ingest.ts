import type { SegmentStore } from '../cache/segment-store.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import { overlayInputs } from '../domain/assets/overlay-inputs.js';
import { queues } from '../domain/queues.js';
import type { TrackState } from '../domain/tracks/track-state.js';
import { throwIfAborted } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { createLimiter, type Limiter } from '../lib/limiter.js';
import { describeReadyAsset } from '../media/plan/asset-properties.js';
import type { ClipSource } from '../media/plan/clip.js';
import { describeDropped } from '../media/plan/dropped-streams.js';
import type { Plan } from '../media/plan/plan.js';
import type { AssetSettings } from '../media/plan/plan-asset.js';
import { judgeInput } from '../media/plan/standard-input.js';
import { isMpegStreamFormat } from '../media/source/frames.js';
import { refusals } from '../media/source/refusals.js';
import type { SourceFacts } from '../media/source/source-facts.js';
import type { SourceIndex } from '../media/source/source-index.js';
import type { SourceFetcher } from '../net/fetch-source.js';
import type { ImageProducer } from '../packager/produce-image.js';
import type { SegmentProducer } from '../packager/produce-segment.js';
import type { TextTracks } from '../packager/text-tracks.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { Job, JobContext, Queue, QueueWorker } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import {
  assetPrefix,
  concatenatedIndexKey,
  concatenatedKey,
  indexKey,
  mezzanineKey,
  sourceKey,
} from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { boundFailure } from './ingest/bound-failure.js';
import { makeClipPlan } from './ingest/clip-plan.js';
import { withConcatenatedRecordings } from './ingest/concatenate.js';
import { findProblem, type Problem } from './ingest/find-problem.js';
import { fitToContent } from './ingest/fit-to-content.js';
import { describeInputFile } from './ingest/input-file.js';
import { planNormalized } from './ingest/measure-gain.js';
import { makeMezzanine } from './ingest/mezzanine.js';
import { checkDuration, checkLimits, probeFile, refuse } from './ingest/probe-file.js';
import { readIndex } from './ingest/read-index.js';
import { type SideCars, startSideCars } from './ingest/side-cars.js';
import { placeOverlays, type StoredOverlay, storeOverlays } from './ingest/store-overlays.js';
import { removeAssetFiles } from './purge.js';

export interface IngestDeps {
  readonly state: IngestState;
  readonly tracks: TrackState;
  readonly blobs: BlobStore;
  readonly texts: TextTracks;
  readonly segments: SegmentStore;
  readonly fetcher: SourceFetcher;
  readonly pool: MediaPool;
  readonly producer: SegmentProducer;
  readonly images: Pick<ImageProducer, 'warmPoster'>;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  /** Media processes that one ingest may keep busy. */
  readonly parallel: number;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The queue that the run belongs to. */
  readonly lane: typeof queues.ingest | typeof queues.transcode;
  /** For everything after the download. */
  readonly limit: Limiter;
}

type IngestRow = NonNullable<Awaited<ReturnType<IngestState['find']>>>;

interface IngestPayload {
  readonly assetId: string;
}

/**
 * A frame can't be displayed longer: its audio is made in memory (about 1 MB a second), and so long a pause has only been seen
 * where the index of a file is damaged.
 */
const MAX_SEGMENT_SECONDS = 300;

/**
 * Downloads at a time: they wait for other servers more than they work, and a slow one must not keep others from being
 * prepared.
 */
const MAX_DOWNLOADS = 32;

/** Ends a run that would hold its place for a long time; the asset goes on in the queue of those that do. */
class LongWorkAhead extends Error {}

/** Measuring loudness decodes all audio, up to six times: about a second for each minute of it. */
const MAX_MEASURED_SECONDS = 300;
/** The index of an MPEG stream takes a pass over the whole file, and one of concatenated recordings two more. */
const MAX_SCANNED_BYTES = 512 * 2 ** 20;

/** Whether preparing the source reads so much of it that others would wait noticeably. */
const isLongWork = (facts: SourceFacts, normalize: boolean): boolean =>
  (normalize && facts.audio.length > 0 && facts.durationSeconds > MAX_MEASURED_SECONDS) ||
  (isMpegStreamFormat(facts.formatName) && facts.sizeBytes > MAX_SCANNED_BYTES);

/**
 * From a URL to a ready asset: store, probe, index, choose access, plan, warm, publish. Every step leaves its result
 * where the next run finds it (a blob, the facts, the plan), so a restart goes on after the last finished step.
 */
export const createIngestWorkers = (
  deps: Omit<IngestDeps, 'lane' | 'limit'>,
  queue: Pick<Queue, 'enqueue'>,
  concurrency: number,
): QueueWorker[] => [
  createWorker({ ...deps, lane: queues.ingest, limit: createLimiter(concurrency) }, queue, MAX_DOWNLOADS),
  createWorker(
    { ...deps, lane: queues.transcode, limit: (_signal, work) => work(), pool: inBackground(deps.pool) },
    queue,
    concurrency,
  ),
];

/** The same processes, for work that gives way to every other ingest. */
const inBackground = (pool: MediaPool): MediaPool => ({
  ...pool,
  run: (job, options) => pool.run(job, { ...options, priority: mediaPriority.background }),
});

const createWorker = (deps: IngestDeps, queue: Pick<Queue, 'enqueue'>, concurrency: number): QueueWorker => ({
  queue: deps.lane,
  concurrency,
  handler: async (job: Job<IngestPayload>, { signal }: JobContext) => {
    const { assetId } = job.payload;
    const logger = deps.logger.child({ asset_id: assetId, job_id: job.id });
    try {
      await ingest({ ...deps, logger }, assetId, signal);
    } catch (error) {
      if (!(await deps.state.find(assetId))) {
        // Deleted meanwhile: what this run wrote after the purge goes too.
        await removeAssetFiles(deps, assetId);
        return;
      }
      if (!(error instanceof LongWorkAhead)) throw await boundFailure(error, () => deps.state.countCrash(assetId));
      await queue.enqueue(queues.transcode, { assetId });
    }
  },
  onFailed: async (job: Job<IngestPayload>, error) => {
    deps.logger.warn({ asset_id: job.payload.assetId, job_id: job.id, err: error }, 'the ingest failed');
    await deps.state.fail(job.payload.assetId, error);
    await deps.blobs.discardUnfinished(assetPrefix(job.payload.assetId));
  },
});

const ingest = async (deps: IngestDeps, assetId: string, signal: AbortSignal): Promise<void> => {
  const row = await deps.state.find(assetId);
  if (row?.asset.status !== 'preparing') return;
  const { asset, otherInputs } = row;
  deps.logger.info({}, 'the ingest begins');
  const stopOverlays = new AbortController();
  const overlaySignal = AbortSignal.any([signal, stopOverlays.signal]);
  const storingOverlays = storeOverlays(
    deps,
    assetId,
    overlayInputs(otherInputs),
    asset.max_resolution_tier,
    overlaySignal,
  );
  // Its failure is thrown where the overlays are needed: without video they are ignored.
  storingOverlays.catch(() => undefined);
  const sideCars = startSideCars({ ...deps, state: deps.tracks }, assetId, signal);
  try {
    await storeMain(deps, row, signal);
    await deps.limit(signal, () => ingestMain(deps, row, { storingOverlays, sideCars }, signal));
  } finally {
    stopOverlays.abort();
    await Promise.allSettled([storingOverlays, sideCars.stop()]);
  }
};

/** A clip reads what its source has stored. */
const storeMain = async (deps: IngestDeps, { asset, media, mainInput }: IngestRow, signal: AbortSignal) => {
  if (media.clip) return;
  const startedMs = deps.clock.monotonicMs();
  await storeSource(deps, asset.id, mainInput.settings.url, media.source_validator, signal);
  deps.logger.info({ download_ms: Math.round(deps.clock.monotonicMs() - startedMs) }, 'the source is stored');
};

const ingestMain = async (
  deps: IngestDeps,
  { asset, media, mainInput }: IngestRow,
  { storingOverlays, sideCars }: { storingOverlays: Promise<readonly StoredOverlay[]>; sideCars: SideCars },
  signal: AbortSignal,
): Promise<void> => {
  const assetId = asset.id;
  const startedMs = deps.clock.monotonicMs();
  const clip = media.clip as ClipSource | null;
  const owner = media.source_owner ?? assetId;
  const source = await deps.blobs
    .openLocal(clip?.concatenated ? concatenatedKey(owner) : sourceKey(owner))
    .catch((error: unknown) => {
      if (clip && isKinoraError(error, 'not_found')) return refuse('The source asset is no longer available.');
      throw error;
    });
  try {
    const facts = (media.facts as SourceFacts | null) ?? (await probe(deps, assetId, source.path, signal));
    checkLimits(facts);
    if (deps.lane === queues.ingest && !media.plan && isLongWork(facts, asset.normalize_audio))
      throw new LongWorkAhead('the whole source is read');
    const overlays = facts.video ? await storingOverlays : [];
    const input: PlanInput = {
      assetId,
      path: source.path,
      facts,
      normalize: asset.normalize_audio,
      settings: {
        quality: asset.video_quality,
        maxResolutionTier: asset.max_resolution_tier,
        isTest: asset.is_test,
        placeOverlays: (frame) => placeOverlays(assetId, overlays, frame),
      },
    };
    const stored = media.plan as Plan | null;
    const makeFirst = async (): Promise<Planned> => {
      if (!clip) return makePlan(deps, input, signal);
      const cut = await makeClipPlan(deps, { ...input, owner, clip }, signal);
      await savePlan(deps, assetId, cut);
      return { plan: cut, facts };
    };
    let { plan, facts: playedFacts } = stored ? { plan: stored, facts } : await makeFirst();
    const warm = () => deps.producer.warm({ id: assetId, plan }, { signal, priority: mediaPriority.warmUp });
    try {
      await warm();
    } catch (error) {
      if (clip || plan.video?.access !== 'source' || !isVideoFailure(error)) throw error;
      // The three tried places were fine and this one is not: read the frames once in order instead.
      const problem = { reason: 'a segment could not be made', sequential: true };
      // What was made by the first plan has the same names as what the second one makes.
      await deps.segments.removeAsset(assetId);
      ({ plan, facts: playedFacts } = await makePlan(deps, input, signal, problem));
      await warm();
    }
    sideCars.planned(plan);
    await sideCars.settle();
    throwIfAborted(signal);
    const completed = await deps.state.complete(assetId, {
      properties: describeReadyAsset(plan, playedFacts),
      facts: playedFacts,
      inputSettings: mainInput.settings,
      // Of a clip its source has told.
      dropped: clip ? [] : describeDropped(playedFacts, plan),
    });
    if (!completed) throw new KinoraError('not_found');
    const elapsedMs = Math.round(deps.clock.monotonicMs() - startedMs);
    deps.logger.info({ elapsed_ms: elapsedMs, duration_s: plan.durationSeconds }, 'the asset is ready');
    deps.images.warmPoster({ id: assetId, plan }, asset.thumbnail_time ?? undefined);
  } finally {
    await source.release();
  }
};

const storeSource = async (
  deps: IngestDeps,
  assetId: string,
  url: unknown,
  validator: string | null,
  signal: AbortSignal,
): Promise<void> => {
  if (await deps.blobs.stat(sourceKey(assetId))) return;
  // A direct upload brings its source before there is an asset.
  if (typeof url !== 'string') throw new KinoraError('internal_error', { details: { stage: 'the uploaded source' } });
  const target = await deps.blobs.resumeWrite(sourceKey(assetId));
  await deps.fetcher.fetch(url, target, {
    signal,
    ...(validator !== null && { validator }),
    onValidator: (current) => deps.state.saveSourceValidator(assetId, current),
  });
};

const probe = async (deps: IngestDeps, assetId: string, path: string, signal: AbortSignal): Promise<SourceFacts> => {
  const facts = await probeFile(deps, path, { signal, fresh: true });
  await deps.state.saveFacts(assetId, facts, describeInputFile(facts));
  const { formatName: format, durationSeconds: duration_s } = facts;
  deps.logger.info(
    { format, duration_s, video: facts.video?.codec, audio: facts.audio[0]?.codec },
    'the source is probed',
  );
  return facts;
};

const isVideoFailure = (error: unknown): boolean =>
  (isKinoraError(error, 'media_failed') || isKinoraError(error, 'media_crashed')) &&
  error.details?.kind === 'video-segment';

interface PlanInput {
  readonly assetId: string;
  readonly path: string;
  readonly facts: SourceFacts;
  readonly normalize: boolean;
  /** `path` is the copy with the recordings laid end to end. */
  readonly concatenated?: true;
  readonly settings: AssetSettings;
}

/** `knownProblem`: a mezzanine is needed for a reason that neither index nor sanity check showed. */
const makePlan = async (
  deps: IngestDeps,
  input: PlanInput,
  signal: AbortSignal,
  knownProblem?: Problem,
): Promise<Planned> => {
  const { assetId, path, facts, settings } = input;
  const index = await readIndex(deps, indexKey(assetId), path, facts, signal);
  const reasons = judgeInput(facts, index, settings.maxResolutionTier);
  if (reasons) await deps.state.saveReasons(assetId, reasons);
  if (!index.discontinuous || !isMpegStreamFormat(facts.formatName))
    return { plan: await planFile(deps, input, index, signal, knownProblem), facts };
  const probeConcatenated = (file: string) => probeFile(deps, file, { signal });
  const recorded = {
    path,
    facts,
    concatenated: { key: concatenatedKey(assetId), indexKey: concatenatedIndexKey(assetId) },
  };
  return withConcatenatedRecordings(deps, recorded, probeConcatenated, signal, async (concatenated) => {
    if (!concatenated) return { plan: await planFile(deps, input, index, signal, knownProblem), facts };
    const { formatName, unplayable } = facts;
    const concatenatedFacts = { ...concatenated.facts, ...(unplayable && { unplayable }) };
    await deps.state.saveFacts(assetId, concatenatedFacts, describeInputFile({ ...concatenatedFacts, formatName }));
    const played = { ...input, path: concatenated.path, facts: concatenatedFacts, concatenated: true } as const;
    return { plan: await planFile(deps, played, concatenated.index, signal, knownProblem), facts: concatenatedFacts };
  });
};

/** The plan and the facts of the file that it reads. */
interface Planned {
  readonly plan: Plan;
  readonly facts: SourceFacts;
}

const planFile = async (
  deps: IngestDeps,
  input: PlanInput,
  index: SourceIndex,
  signal: AbortSignal,
  knownProblem: Problem | undefined,
): Promise<Plan> => {
  const { assetId, path, facts, settings } = input;
  const unfitted = { assetId, path, facts, index, settings };
  const [problem, fitted] = await Promise.all([
    knownProblem ?? findProblem(deps, path, facts, index, signal),
    knownProblem ? settings : fitToContent(deps, unfitted, signal),
  ]);
  const mezzanine = problem && (await transcode(deps, input, index, problem, signal));
  const planned = await planNormalized(
    deps,
    {
      facts,
      index,
      ...(mezzanine
        ? { mezzanine, settings: await fitToContent(deps, { ...unfitted, mezzanine }, signal) }
        : { settings: fitted }),
    },
    { path, normalize: input.normalize, signal },
  );
  const plan: Plan = input.concatenated ? { ...planned, concatenated: true } : planned;
  await savePlan(deps, assetId, plan);
  return plan;
};

/** @throws KinoraError `invalid_input` for what can't be played, or not by this server */
const savePlan = async (deps: IngestDeps, assetId: string, plan: Plan): Promise<void> => {
  if (plan.durationSeconds <= 0) refuse('The input file does not contain any playable duration.');
  checkDuration(plan.durationSeconds);
  if (longestSegmentSeconds(plan) > MAX_SEGMENT_SECONDS)
    throw new KinoraError('invalid_input', {
      messages: [refusals.damaged],
      details: { problem: 'the timestamps of the video are damaged' },
    });
  await deps.state.savePlan(assetId, plan);
  const { access, renditions } = plan.video ?? {};
  deps.logger.info(
    { access, renditions: renditions?.map(({ name, kind }) => `${name} ${kind}`) },
    'the asset is planned',
  );
};

const longestSegmentSeconds = ({ video }: Plan): number => {
  const { boundaries = [], timescale = 1 } = video ?? {};
  return boundaries.slice(1).reduce((longest, end, k) => Math.max(longest, (end - boundaries[k]!) / timescale), 0);
};

const transcode = async (
  deps: IngestDeps,
  { assetId, path, facts, settings: { maxResolutionTier: tier } }: PlanInput,
  index: SourceIndex,
  { reason, sequential }: Problem,
  signal: AbortSignal,
) => {
  if (deps.lane === queues.ingest && !(await deps.blobs.stat(mezzanineKey(assetId)))) throw new LongWorkAhead(reason);
  deps.logger.info({ reason, sequential }, 'the frames are transcoded before the asset is ready');
  await deps.state.setProgress(assetId, 'transcoding', 0);
  let percent = 0;
  const mezzanine = await makeMezzanine(
    deps,
    { assetId, path, facts, index, sequential, tier },
    {
      signal,
      parallel: deps.parallel,
      onProgress: (fraction) => {
        const now = Math.floor(fraction * 100);
        if (now <= percent) return;
        percent = now;
        deps.state.setProgress(assetId, 'transcoding', now).catch((error: unknown) => {
          // Only what is shown meanwhile; the next percent writes again.
          deps.logger.warn({ err: error }, 'progress could not be written');
        });
      },
    },
  );
  await deps.state.setProgress(assetId, 'ingesting', 0);
  return mezzanine;
};
