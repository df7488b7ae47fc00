import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { AVERROR_EOF, AVSEEK_FLAG_BACKWARD } from 'node-av/constants';
import type { FormatContext, Packet } from 'node-av/lib';
import type { ByteRange } from '../../lib/byte-ranges.js';
import { AAC_FRAME_SAMPLES } from '../../media/codecs/aac.js';
import { findMatroskaLayout, type MatroskaLayout } from '../../media/matroska/layout.js';
import { predictIndex } from '../../media/matroska/predict-index.js';
import { type MatroskaTiming, readMatroskaTiming } from '../../media/matroska/timing.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { encodeSourceIndex } from '../../media/source/source-index-codec.js';
import type { MediaResults, PredictIndexJob } from '../../pool/protocol.js';
import { newPacket } from '../ffmpeg/av.js';
import { openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { checkStaged, rangeReader } from '../ffmpeg/staged-ranges.js';
import { codecNameOf } from '../ffmpeg/supported-media.js';
import { StreamColumns } from './index-source.js';

/** The first and the last group of frames are read before anything plays. */
const MAX_GROUP_BYTES = 32 * 2 ** 20;

/**
 * Predicts the index of a Matroska or WebM file from its cues and its first and last group of
 * frames. `obstacle` says why this can't be done.
 */
export const indexMatroska = async (job: PredictIndexJob): Promise<MediaResults['predict-index']> => {
  const predicted = await predict(job);
  if (typeof predicted === 'string') return { obstacle: predicted };
  writeFileSync(job.outPath, encodeSourceIndex(predicted));
  return {};
};

const predict = async (job: PredictIndexJob): Promise<SourceIndex | string> => {
  const file = await readTiming(job);
  if (typeof file === 'string') return file;
  const { timing, layout, sizeBytes } = file;
  const second = timing.cues.find(({ position }) => position > timing.cues[0]!.position);
  const last = timing.cues.at(-1)!;
  if (!second) return 'it has no cues after its start';
  const groups: ByteRange[] = [
    { start: layout.firstCluster, end: second.position },
    { start: last.position, end: sizeBytes },
  ];
  if (groups.some(({ start, end }) => end - start > MAX_GROUP_BYTES)) return 'its key frames are too far apart';
  for (const { start, end } of groups) checkStaged(job.source, start, end - start);

  const format = openSource(job.source);
  try {
    readOnly(
      format,
      [job.videoStreamIndex, job.audioStreamIndex].filter((index) => index !== undefined),
    );
    const head = readGroup(format, job, true);
    if (format.seekFrameSync(job.videoStreamIndex, BigInt(last.ticks), AVSEEK_FLAG_BACKWARD) < 0)
      return 'its last cue points to something else';
    const tail = readGroup(format, job, false);
    if (!head || !tail) return 'frames at its start or end are damaged';
    if (job.unmarkedStart && head.video?.pts.length) head.video.key[0] = 1;
    const audioTicks = job.audioStreamIndex === undefined ? undefined : packetTicks(format, job.audioStreamIndex);
    return predictIndex({ head, tail, ...(audioTicks !== undefined && { audioTicks }) }, timing, job.bound);
  } finally {
    format.closeInputSync();
  }
};

const readTiming = async ({
  source,
}: PredictIndexJob): Promise<{ timing: MatroskaTiming; layout: MatroskaLayout; sizeBytes: number } | string> => {
  const file = await open(source.path);
  try {
    const { size } = await file.stat();
    const read = rangeReader(file, source);
    const layout = await findMatroskaLayout(read, size);
    if (typeof layout === 'string') return layout;
    const contentOf = (part: 'info' | 'tracks' | 'cues'): Promise<Uint8Array> => readPart(layout[part], read);
    const elements = {
      info: await contentOf('info'),
      tracks: await contentOf('tracks'),
      cues: await contentOf('cues'),
    };
    const timing = readMatroskaTiming(elements, layout, size);
    return typeof timing === 'string' ? timing : { timing, layout, sizeBytes: size };
  } finally {
    await file.close();
  }
};

const readPart = ({ start, end }: MatroskaLayout['cues'], read: ReturnType<typeof rangeReader>): Promise<Uint8Array> =>
  read(start, end - start);

/**
 * Reads from the current position: up to the second key frame, or to the end. Undefined when it is
 * damaged.
 */
const readGroup = (format: FormatContext, job: PredictIndexJob, untilKeyFrame: boolean): SourceIndex | undefined => {
  const column = (index: number): StreamColumns =>
    new StreamColumns(streamAt(format, index), format.iformat?.name ?? '');
  const video = column(job.videoStreamIndex);
  const audio = job.audioStreamIndex === undefined ? undefined : column(job.audioStreamIndex);
  using packet = newPacket();
  let frames = 0;
  let code = readPacket(format, packet);
  for (; code >= 0; code = readPacket(format, packet)) {
    const isVideo = packet.streamIndex === job.videoStreamIndex;
    if (untilKeyFrame && isVideo && packet.isKeyframe && frames > 0) break;
    if (isVideo) frames += 1;
    addTo(packet, isVideo ? video : packet.streamIndex === job.audioStreamIndex ? audio : undefined);
  }
  packet.unref();
  if (code < 0 && (code !== AVERROR_EOF || untilKeyFrame)) return undefined;
  if (video.broken || audio?.broken) return undefined;
  return { video: video.finish(), ...(audio && { audio: audio.finish() }), discontinuous: false };
};

const addTo = (packet: Packet, columns: StreamColumns | undefined): void => {
  columns?.add(packet);
  packet.unref();
};

/** Only AAC can be copied, so only its packets are counted. */
const packetTicks = (format: FormatContext, streamIndex: number): number | undefined => {
  const stream = streamAt(format, streamIndex);
  const { num, den } = stream.timeBase;
  return codecNameOf(stream) === 'aac' ? (AAC_FRAME_SAMPLES * den) / (num * stream.codecpar.sampleRate) : undefined;
};
