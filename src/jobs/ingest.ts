import { randomUUID } from 'node:crypto';
import type { SegmentStore } from '../cache/segment-store.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import type { PlayableAsset, SegmentProducer } from '../domain/playback/segment-producer.js';
import { throwIfAborted } from '../lib/abort.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { decideAccess } from '../media/access-decision.js';
import type { Plan } from '../media/plan.js';
import { planAsset } from '../media/plan-asset.js';
import type { SourceFacts } from '../media/source-facts.js';
import type { SourceIndex } from '../media/source-index.js';
import { judgeInput } from '../media/standard-input.js';
import type { SourceFetcher } from '../net/fetch-source.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { Job, JobContext, QueueWorker } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { assetPrefix, sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { describeInputFile } from './ingest/input-file.js';
import { makeMezzanine } from './ingest/mezzanine.js';
import { describeReadyAsset } from './ingest/ready-asset.js';
import { readIndex } from './ingest/read-index.js';

export interface IngestDeps {
  readonly state: IngestState;
  readonly blobs: BlobStore;
  readonly segments: SegmentStore;
  readonly fetcher: SourceFetcher;
  readonly pool: MediaPool;
  readonly producer: SegmentProducer;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

export interface IngestPayload {
  readonly assetId: string;
}

/** Longest source that is accepted, seconds. */
const MAX_DURATION_SECONDS = 12 * 3600;
/** A side of 8192 covers 8K; more is a decompression bomb until somebody shows a real one. */
const MAX_PIXELS = 8192 * 8192;
const MAX_STREAMS = 100;
/** Jobs in which media processes died on one source (each job already tries twice) before the source is given up. */
const MAX_CRASHES = 2;

/**
 * From a URL to a ready asset: store, probe, index, choose access, plan, warm, publish. Every step leaves its result
 * where the next run finds it (a blob, the facts, the plan), so a restart goes on after the last finished step.
 */
export const createIngestWorker = (deps: IngestDeps, concurrency: number): QueueWorker => ({
  queue: 'ingest',
  concurrency,
  handler: async (job: Job<IngestPayload>, context: JobContext) => {
    const { assetId } = job.payload;
    const logger = deps.logger.child({ asset_id: assetId, job_id: job.id });
    try {
      await ingest({ ...deps, logger }, assetId, context.signal);
    } catch (error) {
      if (!(await deps.state.find(assetId))) {
        // Deleted while it was being ingested: whatever this run wrote after the purge goes too.
        await deps.segments.removeAsset(assetId);
        await deps.blobs.deletePrefix(assetPrefix(assetId));
        return;
      }
      throw await classify(deps.state, assetId, error);
    }
  },
  onFailed: async (job: Job<IngestPayload>, error) => {
    deps.logger.warn({ asset_id: job.payload.assetId, err: error }, 'ingest failed');
    await deps.state.fail(job.payload.assetId, error);
  },
});

/** Bounds how often a source may kill media processes or refuse its download before the asset ends as errored. */
const classify = async (state: IngestState, assetId: string, error: unknown): Promise<unknown> => {
  if (isKinoraError(error, 'media_crashed') && (await state.countCrash(assetId)) >= MAX_CRASHES)
    return new KinoraError('media_crashed', { cause: error, failure: 'fail' });
  // The fetcher has made its own tries with pauses; the caller should hear of it now.
  if (isKinoraError(error, 'source_unreachable'))
    return new KinoraError('source_unreachable', { messages: error.messages, cause: error, failure: 'fail' });
  return error;
};

const ingest = async (deps: IngestDeps, assetId: string, signal: AbortSignal): Promise<void> => {
  const row = await deps.state.find(assetId);
  if (row?.asset.status !== 'preparing') return;
  const { asset, mainInput } = row;
  const startedMs = performance.now();
  const { url } = mainInput.settings as { url: string };

  await storeSource(deps, assetId, url, signal);
  const source = await deps.blobs.openLocal(sourceKey(assetId));
  try {
    const facts = (row.media.facts as SourceFacts | null) ?? (await probe(deps, assetId, source.path, signal));
    checkLimits(facts);
    const settings = {
      quality: asset.video_quality,
      maxResolutionTier: asset.max_resolution_tier,
      isTest: asset.is_test,
    };
    let plan = row.media.plan as Plan | null;
    if (!plan) {
      const index = await readIndex(deps, assetId, source.path, facts, signal);
      const reasons = judgeInput(facts, index, asset.max_resolution_tier);
      if (reasons) await deps.state.saveReasons(assetId, reasons);
      const problem = await findProblem(deps, source.path, facts, index, signal);
      const normalizeGainDb = asset.normalize_audio ? await measureGain(deps, source.path, facts, signal) : undefined;
      const mezzanine = problem
        ? await makeMezzanine(deps, { assetId, path: source.path, facts, index, problem, tier: asset.max_resolution_tier }, signal)
        : undefined;
      plan = planAsset({
        facts,
        index: mezzanine?.sourceIndex ?? index,
        settings: { ...settings, ...(normalizeGainDb !== undefined && { normalizeGainDb }) },
        ...(mezzanine && { mezzanine: mezzanine.picture }),
      });
      if (plan.durationSeconds <= 0) throw noDuration();
      await deps.state.savePlan(assetId, plan);
    }
    await deps.producer.warm({ assetId, plan } satisfies PlayableAsset, { signal, priority: mediaPriority.warmUp });
    throwIfAborted(signal);
    await deps.state.complete(assetId, describeReadyAsset(assetId, plan, facts, mainInput.settings));
    deps.logger.info({ elapsed_ms: Math.round(performance.now() - startedMs), duration_s: plan.durationSeconds }, 'asset ready');
  } finally {
    await source.release();
  }
};

const storeSource = async (deps: IngestDeps, assetId: string, url: string, signal: AbortSignal): Promise<void> => {
  if (await deps.blobs.stat(sourceKey(assetId))) return;
  const target = await deps.blobs.resumeWrite(sourceKey(assetId));
  await deps.fetcher.fetch(url, target, { signal });
};

const probe = async (deps: IngestDeps, assetId: string, path: string, signal: AbortSignal): Promise<SourceFacts> => {
  const facts = await deps.pool.run(
    { kind: 'probe', source: { path }, maxPixels: MAX_PIXELS, maxStreams: MAX_STREAMS },
    { priority: mediaPriority.warmUp, signal, fresh: true },
  );
  await deps.state.saveFacts(assetId, facts, describeInputFile(facts));
  return facts;
};

const checkLimits = (facts: SourceFacts): void => {
  if (!facts.video && facts.audio.length === 0)
    throw new KinoraError('invalid_input', { messages: ['The input file does not contain any video or audio.'] });
  if (facts.durationSeconds > MAX_DURATION_SECONDS)
    throw new KinoraError('invalid_input', {
      messages: ['The input file is longer than the maximum duration of 12 hours.'],
    });
};

const noDuration = (): KinoraError =>
  new KinoraError('invalid_input', { messages: ['The input file does not contain any playable duration.'] });

/** Why segments can't be decoded straight from the source, judged by its index and by trying three places. */
const findProblem = async (
  deps: IngestDeps,
  path: string,
  facts: SourceFacts,
  index: SourceIndex,
  signal: AbortSignal,
): Promise<{ reason: string; sequential: boolean } | undefined> => {
  const sanity = await deps.pool.run(
    {
      kind: 'sanity',
      source: { path, formatName: facts.formatName },
      ...(facts.video && { video: { streamIndex: facts.video.streamIndex } }),
      ...(facts.audio[0] && { audio: { streamIndex: facts.audio[0].streamIndex } }),
      durationSeconds: facts.durationSeconds,
    },
    { priority: mediaPriority.warmUp, signal },
  );
  if (!sanity.decodable) throw new KinoraError('invalid_input');
  if (!facts.video) return undefined;
  const access = decideAccess(facts, index);
  if (access.access === 'mezzanine') return { reason: access.reason, sequential: access.sequential };
  return sanity.problem === undefined ? undefined : { reason: sanity.problem, sequential: true };
};

/** EBU R128: integrated loudness to -24 LUFS, but never a true peak above -2 dBTP; one constant for the whole track. */
const measureGain = async (
  deps: IngestDeps,
  path: string,
  facts: SourceFacts,
  signal: AbortSignal,
): Promise<number | undefined> => {
  const audio = facts.audio[0];
  if (!audio) return undefined;
  const { integrated, truePeak } = await deps.pool.run(
    { kind: 'loudness', source: { path, formatName: facts.formatName }, streamIndex: audio.streamIndex },
    { priority: mediaPriority.warmUp, signal },
  );
  // -70 LUFS is the gate of the measurement: nothing but silence.
  return integrated <= -70 ? undefined : Math.min(-24 - integrated, -2 - truePeak);
};

/** A name in the media processes' writable directory; the caller removes the file. */
export const temporaryName = (dir: string): string => `${dir}/ingest-${randomUUID()}`;
