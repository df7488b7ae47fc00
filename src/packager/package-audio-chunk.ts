import type { CacheKey } from '../cache/cache-key.js';
import { AAC_FRAME_SAMPLES } from '../media/codecs/aac.js';
import type { AudioPlan } from '../media/plan/plan.js';
import { readResult } from '../pool/read-result.js';
import type { BlobStore } from '../storage/blob-store.js';
import type { FileTask } from './file-producer.js';
import { readPart } from './open-frames.js';
import { type PlayableAsset, playedKey } from './playable-asset.js';
import { readSource } from './read-source.js';
import { audioChunkJob } from './segment-jobs.js';
import type { SourceRanges } from './source-ranges.js';
import { MAX_SEGMENT_BYTES, verifyAudioSegment } from './verify-segment.js';

interface AudioChunkDeps {
  readonly blobs: BlobStore;
  readonly sourceRanges: SourceRanges;
}

interface AudioChunk {
  readonly asset: PlayableAsset;
  readonly audio: AudioPlan;
  /** The file of an alternate audio track; that of the asset when absent. */
  readonly sourceKey?: string;
  /** Number of the first segment. */
  readonly first: number;
}

const AUDIO = { video: false, audio: true };

/** Encodes consecutive audio segments in one job and commits them; `keys` are theirs. */
export const packageAudioChunk = async (
  { blobs, sourceRanges }: AudioChunkDeps,
  { asset, audio, sourceKey, first }: AudioChunk,
  keys: readonly CacheKey[],
  task: FileTask,
): Promise<void> => {
  const [fromSeconds, untilSeconds] = [first, first + keys.length].map(
    (segment) => (audio.boundaries[segment]! * AAC_FRAME_SAMPLES) / audio.sampleRate,
  ) as [number, number];
  const needed = sourceKey
    ? undefined
    : await sourceRanges.ofAudio(asset, [{ streams: AUDIO, fromSeconds, untilSeconds }]);
  await readSource(
    (ranges) => blobs.openLocal(sourceKey ?? playedKey(asset), ranges),
    needed,
    async (blob) => {
      const outPaths = keys.map(() => task.production.temporaryPath());
      await task.submit(audioChunkJob(audio, first, readPart(blob), outPaths));
      const segments = await Promise.all(outPaths.map((path) => readResult(path, MAX_SEGMENT_BYTES)));
      for (const [index, bytes] of segments.entries()) verifyAudioSegment(bytes, audio, first + index);
      for (const [index, bytes] of segments.entries()) await task.production.commit(keys[index]!, bytes);
    },
  );
};
