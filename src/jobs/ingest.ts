import type { ImageProducer } from '../cache/produce-image.js';
import type { SegmentProducer } from '../cache/produce-segment.js';
import type { SegmentStore } from '../cache/segment-store.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import { overlayInputs } from '../domain/assets/overlay-inputs.js';
import type { TrackState } from '../domain/tracks/track-state.js';
import { throwIfAborted } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { describeReadyAsset } from '../media/asset-properties.js';
import type { ClipSource } from '../media/clip.js';
import { isMpegStreamFormat } from '../media/pictures.js';
import type { Plan } from '../media/plan.js';
import { type AssetSettings, planAsset } from '../media/plan-asset.js';
import type { SourceFacts } from '../media/source-facts.js';
import type { SourceIndex } from '../media/source-index.js';
import { judgeInput } from '../media/standard-input.js';
import type { SourceFetcher } from '../net/fetch-source.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { Job, JobContext, QueueWorker } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { indexKey, joinedIndexKey, joinedKey, sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { findProblem, type Problem } from './ingest/find-problem.js';
import { describeInputFile } from './ingest/input-file.js';
import { withJoinedRecordings } from './ingest/join-recordings.js';
import { measureGain } from './ingest/measure-gain.js';
import { makeMezzanine } from './ingest/mezzanine.js';
import { readIndex } from './ingest/read-index.js';
import { type SideCars, startSideCars } from './ingest/side-cars.js';
import { placeOverlays, type StoredOverlay, storeOverlays } from './ingest/store-overlays.js';
import { removeAssetFiles } from './purge.js';

export interface IngestDeps {
  readonly state: IngestState;
  readonly tracks: TrackState;
  readonly blobs: BlobStore;
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
}

type IngestRow = NonNullable<Awaited<ReturnType<IngestState['find']>>>;

interface IngestPayload {
  readonly assetId: string;
}

/** Longest source that is accepted, seconds. */
const MAX_DURATION_SECONDS = 12 * 3600;
/**
 * A picture can't be shown longer: its sound is made in memory (about 1 MB a second), and so long a pause has only been seen
 * where the index of a file is damaged.
 */
const MAX_SEGMENT_SECONDS = 300;
/** 8K with room to spare; more is a decompression bomb until somebody shows a real one. */
const MAX_PIXELS = 8192 * 8192;
const MAX_STREAMS = 100;
/** Runs in which media processes died on one source (each run already tries twice) before the source is given up. */
const MAX_CRASHES = 2;

/**
 * From a URL to a ready asset: store, probe, index, choose access, plan, warm, publish. Every step leaves its result
 * where the next run finds it (a blob, the facts, the plan), so a restart goes on after the last finished step.
 */
export const createIngestWorker = (deps: IngestDeps, concurrency: number): QueueWorker => ({
  queue: 'ingest',
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
      throw await bound(deps.state, assetId, error);
    }
  },
  onFailed: async (job: Job<IngestPayload>, error) => {
    deps.logger.warn({ asset_id: job.payload.assetId, job_id: job.id, err: error }, 'the ingest failed');
    await deps.state.fail(job.payload.assetId, error);
  },
});

/** Makes an error final once a source had its tries. */
const bound = async (state: IngestState, assetId: string, error: unknown): Promise<unknown> => {
  // Without a clean answer from FFmpeg: the process died, ran out of time or out of memory.
  const isCrash =
    isKinoraError(error, 'media_crashed') || (isKinoraError(error, 'media_failed') && error.failure === 'defect');
  if (isCrash && (await state.countCrash(assetId)) >= MAX_CRASHES)
    return new KinoraError('media_crashed', { cause: error, failure: 'fail' });
  // The fetcher made its own tries with pauses; the owner of the file should hear of it now.
  if (isKinoraError(error, 'source_unreachable'))
    return new KinoraError('source_unreachable', { messages: error.messages, cause: error, failure: 'fail' });
  // FFmpeg read the file and said no: it will say no again.
  if (isKinoraError(error, 'media_failed') && error.failure === 'fail')
    return new KinoraError('invalid_input', { cause: error });
  return error;
};

const ingest = async (deps: IngestDeps, assetId: string, signal: AbortSignal): Promise<void> => {
  const row = await deps.state.find(assetId);
  if (row?.asset.status !== 'preparing') return;
  const { asset, furtherInputs } = row;
  deps.logger.info({}, 'the ingest begins');
  const stopOverlays = new AbortController();
  const overlaySignal = AbortSignal.any([signal, stopOverlays.signal]);
  const storingOverlays = storeOverlays(
    deps,
    assetId,
    overlayInputs(furtherInputs),
    asset.max_resolution_tier,
    overlaySignal,
  );
  // Its failure is thrown where the overlays are needed: without a picture they are ignored.
  storingOverlays.catch(() => undefined);
  const sideCars = startSideCars({ ...deps, state: deps.tracks }, assetId, signal);
  try {
    await ingestMain(deps, row, { storingOverlays, sideCars }, signal);
  } finally {
    stopOverlays.abort();
    await Promise.allSettled([storingOverlays, sideCars.stop()]);
  }
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
  if (!clip) {
    await storeSource(deps, assetId, mainInput.settings.url, media.source_validator, signal);
    const storedMs = deps.clock.monotonicMs();
    deps.logger.info({ download_ms: Math.round(storedMs - startedMs) }, 'the source is stored');
  }
  const owner = media.source_owner ?? assetId;
  const source = await deps.blobs
    .openLocal(clip?.joined ? joinedKey(owner) : sourceKey(owner))
    .catch((error: unknown) => {
      if (clip && isKinoraError(error, 'not_found')) return refuse('The source asset is no longer available.');
      throw error;
    });
  try {
    const facts = (media.facts as SourceFacts | null) ?? (await probe(deps, assetId, source.path, signal));
    checkLimits(facts);
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
        placeOverlays: (picture) => placeOverlays(assetId, overlays, picture),
      },
    };
    const stored = media.plan as Plan | null;
    const makeFirst = () => (clip ? makeClipPlan(deps, input, owner, clip, signal) : makePlan(deps, input, signal));
    let { plan, facts: playedFacts } = stored ? { plan: stored, facts } : await makeFirst();
    const warm = () => deps.producer.warm({ id: assetId, plan }, { signal, priority: mediaPriority.warmUp });
    try {
      await warm();
    } catch (error) {
      if (clip || plan.video?.access !== 'source' || !isPictureFailure(error)) throw error;
      // The three tried places were fine and this one is not: read the pictures once in order instead.
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

const probeJob = (path: string) =>
  ({ kind: 'probe', source: { path }, maxPixels: MAX_PIXELS, maxStreams: MAX_STREAMS }) as const;

const probe = async (deps: IngestDeps, assetId: string, path: string, signal: AbortSignal): Promise<SourceFacts> => {
  const facts = await deps.pool.run(probeJob(path), { priority: mediaPriority.warmUp, signal, fresh: true });
  await deps.state.saveFacts(assetId, facts, describeInputFile(facts));
  const { formatName: format, durationSeconds: duration_s } = facts;
  deps.logger.info(
    { format, duration_s, video: facts.video?.codec, audio: facts.audio[0]?.codec },
    'the source is probed',
  );
  return facts;
};

const checkLimits = (facts: SourceFacts): void => {
  if (!facts.video && facts.audio.length === 0) refuse('The input file does not contain any video or audio.');
  // What an MPEG stream seems to last is the difference of two time stamps, and one may be wrong: its plan is judged.
  if (facts.durationSeconds > MAX_DURATION_SECONDS && !isMpegStreamFormat(facts.formatName))
    refuse('The input file is longer than the maximum duration of 12 hours.');
};

const refuse = (message: string): never => {
  throw new KinoraError('invalid_input', { messages: [message] });
};

const isPictureFailure = (error: unknown): boolean =>
  (isKinoraError(error, 'media_failed') || isKinoraError(error, 'media_crashed')) &&
  error.details?.kind === 'video-segment';

interface PlanInput {
  readonly assetId: string;
  readonly path: string;
  readonly facts: SourceFacts;
  readonly normalize: boolean;
  /** `path` is the copy with the recordings laid end to end. */
  readonly joined?: true;
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
  const probeFile = (file: string) => deps.pool.run(probeJob(file), { priority: mediaPriority.warmUp, signal });
  return withJoinedRecordings(deps, input, probeFile, signal, async (joined) => {
    if (!joined) return { plan: await planFile(deps, input, index, signal, knownProblem), facts };
    const { formatName } = facts;
    await deps.state.saveFacts(assetId, joined.facts, describeInputFile({ ...joined.facts, formatName }));
    const played = { ...input, path: joined.path, facts: joined.facts, joined: true } as const;
    return { plan: await planFile(deps, played, joined.index, signal, knownProblem), facts: joined.facts };
  });
};

/** A clip reads what the asset it is cut from has stored; its access to pictures is known to be good. */
const makeClipPlan = async (
  deps: IngestDeps,
  input: PlanInput,
  owner: string,
  clip: ClipSource,
  signal: AbortSignal,
): Promise<Planned> => {
  const { path, facts, settings } = input;
  const key = clip.joined ? joinedIndexKey(owner) : indexKey(owner);
  const index = await readIndex(deps, key, path, facts, signal);
  const gainDb = input.normalize ? await measureGain(deps, path, facts, signal) : undefined;
  const mezzanine =
    clip.mezzanineTier &&
    (await makeMezzanine(
      deps,
      { assetId: owner, path, facts, index, sequential: true, tier: clip.mezzanineTier },
      { signal, parallel: deps.parallel, onProgress: () => undefined },
    ));
  const { placeOverlays: placeOwn } = settings;
  const planned = planAsset({
    facts,
    index,
    settings: {
      ...settings,
      ...(gainDb !== undefined && { normalizeGainDb: gainDb }),
      placeOverlays: (picture) => [...clip.overlays, ...(placeOwn?.(picture) ?? [])],
    },
    clip,
    ...(mezzanine && { mezzanine }),
  });
  const plan: Plan = { ...planned, sourceOwner: owner, ...(clip.joined && { joined: true }) };
  await savePlan(deps, input.assetId, plan);
  return { plan, facts };
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
  const problem = knownProblem ?? (await findProblem(deps, path, facts, index, signal));
  const gainDb = input.normalize ? await measureGain(deps, path, facts, signal) : undefined;
  const mezzanine = problem && (await transcode(deps, input, index, problem, signal));
  const planned = planAsset({
    facts,
    index,
    settings: { ...settings, ...(gainDb !== undefined && { normalizeGainDb: gainDb }) },
    ...(mezzanine && { mezzanine }),
  });
  const plan: Plan = input.joined ? { ...planned, joined: true } : planned;
  await savePlan(deps, assetId, plan);
  return plan;
};

/** @throws KinoraError `invalid_input` for what can't be played, or not by this server */
const savePlan = async (deps: IngestDeps, assetId: string, plan: Plan): Promise<void> => {
  if (plan.durationSeconds <= 0) refuse('The input file does not contain any playable duration.');
  if (plan.durationSeconds > MAX_DURATION_SECONDS)
    refuse('The input file is longer than the maximum duration of 12 hours.');
  if (longestSegmentSeconds(plan) > MAX_SEGMENT_SECONDS)
    throw new KinoraError('invalid_input', { details: { problem: 'the times of the pictures are damaged' } });
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
  deps.logger.info({ reason, sequential }, 'the pictures are transcoded before the asset is ready');
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
