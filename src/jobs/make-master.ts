import {
  completeMaster,
  expireMaster,
  failMaster,
  findMasterWork,
  type MasterOrder,
  type MasterWork,
} from '../domain/assets/master-access.js';
import type { DomainContext } from '../domain/context.js';
import { queues } from '../domain/queues.js';
import { throwIfAborted } from '../lib/abort.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { withTemporaryFile } from '../lib/temporary-file.js';
import {
  type CopiedStream,
  MASTER_AUDIO,
  MASTER_VIDEO,
  type MasterPlan,
  masterRenditions,
  planEncodedMaster,
  planMaster,
} from '../media/plan/master-plan.js';
import type { Plan } from '../media/plan/plan.js';
import { type PlayableAsset, playedKey, videoKey } from '../packager/playable-asset.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import type { RemuxTrack } from '../pool/protocol.js';
import { streamResult } from '../pool/read-result.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import type { BlobStore, LocalBlob } from '../storage/blob-store.js';
import { masterAudioKey, masterKey, masterPartsPrefix, masterPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { writeSegmentsFile } from './write-segments-file.js';

export interface MasterDeps {
  readonly context: DomainContext;
  readonly blobs: BlobStore;
  readonly pool: MediaPool;
  readonly producer: Pick<SegmentProducer, 'segment'>;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  readonly logger: Logger;
}

const MP4 = 'mov,mp4,m4a,3gp,3g2,mj2';
/** For a file made of segments, whose times are on the timeline. */
const TIMELINE_ZERO = { num: 0, den: 1 };

/** Makes the files of masters, and ends access to them. */
export const createMasterWorkers = (deps: MasterDeps): QueueWorker[] => [
  {
    queue: queues.makeMaster,
    concurrency: 1,
    handler: async (job: Job<MasterOrder>, { signal }) => {
      const { assetId, masterId } = job.payload;
      const logger = deps.logger.child({ asset_id: assetId, job_id: job.id });
      try {
        const task = await findMasterWork(deps.context, job.payload);
        if (task?.status === 'preparing') {
          await makeMaster({ ...deps, logger }, job.payload, task, signal);
          await completeMaster(deps.context, job.payload);
        }
      } catch (error) {
        if (await findMasterWork(deps.context, job.payload)) throw error;
      }
      // Cancelled in the meantime: remove what this run wrote after the removal.
      const isWanted = await findMasterWork(deps.context, job.payload);
      await deps.blobs.deletePrefix((isWanted ? masterPartsPrefix : masterPrefix)(assetId, masterId));
    },
    onFailed: async (job: Job<MasterOrder>, error) => {
      const { assetId, masterId } = job.payload;
      deps.logger.warn({ asset_id: assetId, job_id: job.id, err: error }, 'master failed');
      await failMaster(deps.context, job.payload);
      await deps.blobs.deletePrefix(masterPrefix(assetId, masterId));
    },
  },
  {
    queue: queues.endMaster,
    concurrency: 1,
    handler: async ({ payload }: Job<MasterOrder>) => {
      await expireMaster(deps.context, payload);
      await deps.blobs.deletePrefix(masterPrefix(payload.assetId, payload.masterId));
    },
  },
];

const makeMaster = async (
  deps: MasterDeps,
  order: MasterOrder,
  task: MasterWork,
  signal: AbortSignal,
): Promise<void> => {
  try {
    await make(deps, order, task.plan, planMaster(task), signal);
  } catch (error) {
    if (!isRemuxFailure(error)) throw error;
    deps.logger.warn({ err: error }, 'master cannot be copied, encoding');
    await make(deps, order, task.plan, planEncodedMaster(task), signal);
  }
};

const isRemuxFailure = (error: unknown): boolean =>
  (isKinoraError(error, 'media_failed') || isKinoraError(error, 'media_crashed')) && error.details?.kind === 'remux';

const make = async (
  deps: MasterDeps,
  { assetId, masterId }: MasterOrder,
  plan: Plan,
  master: MasterPlan,
  signal: AbortSignal,
): Promise<void> => {
  const source: PlayableAsset = { id: assetId, plan };
  const asset: PlayableAsset = { ...source, additional: masterRenditions(master, playedKey(source)) };
  const { video, audio } = master;
  const videoTracks = video && 'encode' in video ? [segmentsTrack(MASTER_VIDEO, plan.video!)] : [];
  const audioTracks = audio && 'encode' in audio ? [segmentsTrack(MASTER_AUDIO, audio.encode)] : [];
  const tracks = [...videoTracks, ...audioTracks];
  const writeSegments = (key: string) =>
    writeSegmentsFile(deps, {
      asset,
      tracks,
      key,
      partsPrefix: `${masterPartsPrefix(assetId, masterId)}/${tracks.map(({ rendition }) => rendition).join('-')}`,
      signal,
      onProgress: async (fraction) => {
        deps.logger.debug({ fraction }, 'master progress');
      },
    });
  const copies = [video, audio].flatMap((track) => (track && 'copy' in track ? [track.copy] : []));
  if (copies.length === 0) {
    await writeSegments(masterKey(assetId, masterId));
    return;
  }
  const streams = copies.map(({ from, ...copied }) => ({
    ...copied,
    key: from === 'mezzanine' ? videoKey(asset) : playedKey(asset),
  }));
  if (audioTracks.length > 0) {
    const key = masterAudioKey(assetId, masterId);
    await writeSegments(key);
    streams.push({ key, formatName: MP4, streamIndex: 0, zero: TIMELINE_ZERO });
  }
  await remux(deps, streams, masterKey(assetId, masterId), signal);
};

const segmentsTrack = (rendition: string, { boundaries }: { readonly boundaries: readonly number[] }) => ({
  rendition,
  segmentCount: boundaries.length - 1,
});

type StoredStream = Omit<CopiedStream, 'from'> & { readonly key: string };

const remux = async (
  { blobs, pool, temporaryDir, logger }: MasterDeps,
  streams: readonly StoredStream[],
  key: string,
  signal: AbortSignal,
): Promise<void> => {
  const opened: LocalBlob[] = [];
  try {
    const tracks: RemuxTrack[] = [];
    for (const { key: from, formatName, streamIndex, zero } of streams) {
      const blob = await blobs.openLocal(from);
      opened.push(blob);
      tracks.push({ source: { path: blob.path, formatName }, streamIndex, zero });
    }
    await withTemporaryFile(temporaryDir, async (outPath) => {
      const { sizeBytes } = await pool.run(
        { kind: 'remux', tracks, outPath },
        {
          priority: mediaPriority.background,
          signal,
          onProgress: (fraction) => logger.debug({ fraction }, 'master progress'),
        },
      );
      const target = await blobs.resumeWrite(key);
      try {
        await target.restart();
        for await (const bytes of await streamResult(outPath)) {
          throwIfAborted(signal);
          await target.write(bytes as Uint8Array);
        }
        if (target.offsetBytes !== sizeBytes) throw new KinoraError('media_failed', { details: { kind: 'remux' } });
        await target.commit();
      } catch (error) {
        await target.discard();
        throw error;
      }
    });
  } finally {
    await Promise.all(opened.map((blob) => blob.release()));
  }
};
