import type { CacheKey } from '../cache/cache-key.js';
import { nclxOf } from '../media/codecs/color-names.js';
import { BT709, writeAudioInit, writeVideoInit } from '../media/mp4/cmaf.js';
import type { SegmentTarget } from '../media/plan/find-segment.js';
import {
  type AudioPlan,
  isOriginal,
  type OriginalRendition,
  type VideoPlan,
  type VideoRendition,
} from '../media/plan/plan.js';
import type { FileTask } from './file-producer.js';
import { videoConfigJob } from './segment-jobs.js';
import { verifyAudioInit, verifyVideoInit } from './verify-segment.js';

/** Writes the `init.mp4` of a rendition and commits it. */
export const packageInit = async (target: SegmentTarget, key: CacheKey, task: FileTask): Promise<void> => {
  const bytes = target.kind === 'audio' ? audioInit(target.audio) : await videoInit(target, task);
  await task.production.commit(key, bytes);
};

const audioInit = (audio: AudioPlan): Uint8Array => {
  const { sampleRate, channels, audioSpecificConfig } = audio;
  const bytes = writeAudioInit({
    sampleRate,
    channels,
    audioSpecificConfig: Buffer.from(audioSpecificConfig, 'base64'),
  });
  verifyAudioInit(bytes, audio);
  return bytes;
};

const videoInit = async (
  { video, rendition }: { video: VideoPlan; rendition: VideoRendition },
  task: FileTask,
): Promise<Uint8Array> => {
  const { width, height, encoder, reorderTicks } = rendition;
  if (isOriginal(rendition)) {
    const bytes = originalInit(video, rendition);
    verifyVideoInit(bytes, video, rendition);
    return bytes;
  }
  const avcc = encoder ? (await task.submit(videoConfigJob(video, rendition, encoder))).avcc : rendition.avcc;
  if (avcc === undefined) throw new Error(`rendition ${rendition.name} has neither encoder settings nor avcC`);
  const record = Buffer.from(avcc, 'base64');
  const bytes = writeVideoInit({
    timescale: video.timescale,
    width,
    height,
    ...(encoder?.codec === 'av1'
      ? { codec: encoder.codec, config: record, nclx: BT709 }
      : // A copy keeps the colors of its source, which its own headers describe.
        { avcc: record, ...(encoder && { color: 'bt709' as const }) }),
    reorderTicks,
  });
  verifyVideoInit(bytes, video, rendition);
  return bytes;
};

const originalInit = ({ timescale, filters }: VideoPlan, rendition: OriginalRendition): Uint8Array => {
  const { width, height, original, reorderTicks } = rendition;
  const nclx = nclxOf(filters.color);
  const config = Buffer.from(original.config, 'base64');
  return writeVideoInit({
    timescale,
    width,
    height,
    codec: original.codec,
    config,
    ...(nclx && { nclx }),
    reorderTicks,
  });
};
