import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { PlayableAsset, SegmentProducer } from '../cache/produce-segment.js';
import type { RenditionState } from '../domain/renditions/rendition-state.js';
import { PURGE_RENDITION_QUEUE, RENDITION_QUEUE, type RenditionJob } from '../domain/renditions/static-renditions.js';
import { throwIfAborted } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { AUDIO_RENDITION } from '../media/find-segment.js';
import { concat } from '../media/mp4-box-writer.js';
import type { Plan } from '../media/plan.js';
import {
  type FragmentSamples,
  readFragmentIndexes,
  splitFragment,
  writeProgressiveHeader,
} from '../media/progressive-mp4.js';
import {
  chooseVideoRendition,
  type Mp4Support,
  planMp4Support,
  planRendition,
  type RenditionFile,
  type RenditionResolution,
  renditionSource,
} from '../media/static-rendition.js';
import { mediaPriority } from '../pool/media-pool.js';
import type { Job, JobContext, QueueWorker } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { renditionKey, renditionPartsPrefix, renditionPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';

export interface RenditionDeps {
  readonly state: RenditionState;
  readonly producer: Pick<SegmentProducer, 'segment'>;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Work = NonNullable<Awaited<ReturnType<RenditionState['find']>>>;

/** A stream of a file: the segments of a rendition. */
interface Track {
  readonly rendition: string;
  readonly segmentCount: number;
}

/** What is made of one file, and of which segments. */
interface Task {
  readonly job: RenditionJob;
  readonly asset: PlayableAsset;
  readonly tracks: readonly Track[];
  readonly signal: AbortSignal;
}

/** Segments of each track that are kept together; a killed run loses no more. As many as one job makes of the sound. */
const PART_SEGMENTS = 8;
const MAX_READS = 3;

/** Makes files of segments, and removes what deleted ones leave. */
export const createRenditionWorkers = (deps: RenditionDeps, concurrency: number): QueueWorker[] => [
  {
    queue: RENDITION_QUEUE,
    concurrency,
    handler: async (job: Job<RenditionJob>, { signal }: JobContext) => {
      const { assetId, renditionId } = job.payload;
      const logger = deps.logger.child({ asset_id: assetId, rendition_id: renditionId, job_id: job.id });
      try {
        await makeRendition({ ...deps, logger }, job.payload, signal);
      } catch (error) {
        if (await deps.state.find(renditionId)) throw error;
      }
      // Deleted meanwhile: what this run wrote after the purge goes too.
      if (!(await deps.state.find(renditionId))) await deps.blobs.deletePrefix(renditionPrefix(assetId, renditionId));
    },
    onFailed: async (job: Job<RenditionJob>, error) => {
      const { assetId, renditionId } = job.payload;
      deps.logger.warn({ asset_id: assetId, rendition_id: renditionId, err: error }, 'a static rendition failed');
      await deps.state.fail(renditionId, error);
      const failed = await deps.state.find(renditionId);
      if (failed?.rendition.status !== 'ready') await deps.blobs.deletePrefix(renditionPrefix(assetId, renditionId));
    },
  },
  {
    queue: PURGE_RENDITION_QUEUE,
    concurrency: 1,
    handler: async ({ payload }: Job<RenditionJob>) => {
      await deps.blobs.deletePrefix(renditionPrefix(payload.assetId, payload.renditionId));
    },
  },
];

/**
 * Collects the segments that viewers are sent too, one at a time and behind every viewer, and puts an index in front of them.
 * What is collected is stored in parts, so that a restart goes on after the last one whatever the cache has lost meanwhile.
 */
const makeRendition = async (deps: RenditionDeps, job: RenditionJob, signal: AbortSignal): Promise<void> => {
  const { state, blobs } = deps;
  const { assetId, renditionId } = job;
  const partsPrefix = renditionPartsPrefix(assetId, renditionId);
  const work = await state.find(renditionId);
  if (!work) return;
  if (work.rendition.status !== 'preparing') return blobs.deletePrefix(partsPrefix);
  const plan = work.plan as Plan;
  const file = planFile(work, plan);
  if (!file) return state.skip(renditionId);

  const startedMs = deps.clock.monotonicMs();
  const picture = file.size && chooseVideoRendition(plan.video!, file.size, work.asset.video_quality);
  const asset: PlayableAsset = { id: assetId, plan, ...(picture && { further: { video: [picture] } }) };
  const task: Task = { job, asset, tracks: tracksOf(plan, picture?.name), signal };
  const made = await writeFile(deps, task, await collectParts(deps, task));
  await state.complete(renditionId, { ...made, ...(picture && { picture }) });
  await blobs.deletePrefix(partsPrefix);
  const elapsedMs = Math.round(deps.clock.monotonicMs() - startedMs);
  deps.logger.info(
    { name: file.name, size_bytes: made.sizeBytes, elapsed_ms: elapsedMs },
    'a static rendition is made',
  );
};

const planFile = ({ rendition, asset }: Work, plan: Plan): RenditionFile | undefined => {
  const { name, resolution } = rendition;
  const source = renditionSource(plan);
  return resolution === null
    ? planMp4Support(asset.mp4_support as Mp4Support, source)?.find((file) => file.name === name)
    : planRendition(resolution as RenditionResolution, source);
};

/** The picture, when there is one, comes first. */
const tracksOf = ({ video, audio }: Plan, picture: string | undefined): Track[] => [
  ...(video && picture !== undefined ? [{ rendition: picture, segmentCount: video.boundaries.length - 1 }] : []),
  ...(audio ? [{ rendition: AUDIO_RENDITION, segmentCount: audio.boundaries.length - 1 }] : []),
];

const partKey = ({ assetId, renditionId }: RenditionJob, part: number, name: 'samples' | 'index'): string =>
  `${renditionPartsPrefix(assetId, renditionId)}/${part}.${name}`;

const countParts = ({ tracks }: Task): number =>
  Math.ceil(Math.max(...tracks.map(({ segmentCount }) => segmentCount)) / PART_SEGMENTS);

/** The segments of a part in the order in which the file has them: those of one time beside each other. */
const segmentsOf = ({ tracks }: Task, part: number): { readonly track: number; readonly number: number }[] =>
  Array.from({ length: PART_SEGMENTS }, (_, at) => part * PART_SEGMENTS + at).flatMap((number) =>
    tracks.flatMap(({ segmentCount }, track) => (number < segmentCount ? [{ track, number }] : [])),
  );

/** @returns the samples of each track; their bytes are in the parts */
const collectParts = async (deps: RenditionDeps, task: Task): Promise<FragmentSamples[][]> => {
  const fragments: FragmentSamples[][] = task.tracks.map(() => []);
  const count = countParts(task);
  for (let part = 0; part < count; part++) {
    const stored = await deps.blobs.read(partKey(task.job, part, 'index'));
    const indexes = readFragmentIndexes(stored ? await buffer(stored) : await makePart(deps, task, part));
    for (const [at, { track }] of segmentsOf(task, part).entries()) fragments[track]!.push(indexes[at]!);
    const isWanted = await deps.state.saveProgress(task.job.renditionId, (part + 1) / count);
    if (!isWanted) throw new KinoraError('not_found');
  }
  return fragments;
};

/** Stores the samples of a part, then their index: where that is, the part is whole. */
const makePart = async (deps: RenditionDeps, task: Task, part: number): Promise<Uint8Array> => {
  const indexes: Uint8Array[] = [];
  const target = await deps.blobs.resumeWrite(partKey(task.job, part, 'samples'));
  try {
    await target.restart();
    for (const { track, number } of segmentsOf(task, part)) {
      const { index, samples } = splitFragment(await readSegment(deps, task, track, `${number}.m4s`));
      await target.write(samples);
      indexes.push(index);
    }
    await target.commit();
  } catch (error) {
    await target.discard();
    throw error;
  }
  const index = concat(indexes);
  await deps.blobs.put(partKey(task.job, part, 'index'), index);
  return index;
};

const readSegment = async (deps: RenditionDeps, task: Task, track: number, file: string): Promise<Uint8Array> => {
  const request = { priority: mediaPriority.background, signal: task.signal };
  for (let attempt = 1; ; attempt++) {
    const cached = await deps.producer.segment(task.asset, task.tracks[track]!.rendition, file, request);
    try {
      return await readFile(cached.path);
    } catch (error) {
      // Evicted in the moment between the two.
      if (attempt === MAX_READS || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
};

const writeFile = async (
  deps: RenditionDeps,
  task: Task,
  fragments: readonly FragmentSamples[][],
): Promise<{ sizeBytes: number; durationSeconds: number }> => {
  const { blobs } = deps;
  const { job, tracks, signal } = task;
  const inits = await Promise.all(tracks.map((_, track) => readSegment(deps, task, track, 'init.mp4')));
  const header = writeProgressiveHeader(inits.map((init, track) => ({ init, fragments: fragments[track]! })));
  const target = await blobs.resumeWrite(renditionKey(job.assetId, job.renditionId));
  try {
    await target.restart();
    await target.write(header.bytes);
    for (let part = 0; part < countParts(task); part++) {
      throwIfAborted(signal);
      const samples = await blobs.read(partKey(job, part, 'samples'));
      if (!samples) throw new KinoraError('not_found');
      for await (const chunk of samples) await target.write(chunk as Uint8Array);
    }
    const expectedBytes = header.bytes.length + header.dataBytes;
    if (target.offsetBytes !== expectedBytes) {
      const details = { stage: 'static rendition', size_bytes: target.offsetBytes, expected_bytes: expectedBytes };
      throw new KinoraError('internal_error', { details });
    }
    const { sizeBytes } = await target.commit();
    return { sizeBytes, durationSeconds: header.durationSeconds };
  } catch (error) {
    await target.discard();
    throw error;
  }
};
