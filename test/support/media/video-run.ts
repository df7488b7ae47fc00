/** Plans a source and makes its video segments the way ingest does, in this process. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { indexSource } from '#kinora/engine/analysis/index-source.js';
import { probe } from '#kinora/engine/analysis/probe.js';
import { writeVideoSegment } from '#kinora/engine/video/segment.js';
import { encodeVideoConfig } from '#kinora/engine/video/video-config.js';
import { nclxOf } from '#kinora/media/codecs/color-names.js';
import { BT709, writeVideoInit } from '#kinora/media/mp4/cmaf.js';
import { isOriginal, type Plan, type VideoPlan, type VideoRendition } from '#kinora/media/plan/plan.js';
import { type AssetSettings, planAsset } from '#kinora/media/plan/plan-asset.js';
import type { SourceFacts } from '#kinora/media/source/source-facts.js';
import type { SourceIndex } from '#kinora/media/source/source-index.js';
import { decodeSourceIndex } from '#kinora/media/source/source-index-codec.js';
import type { VideoSegmentJob, VideoSegmentResult } from '#kinora/pool/protocol.js';

export const silent = { progress: (): void => undefined };
export const LIMITS = { maxPixels: 8192 * 4352, maxStreams: 64 };

/** The folder is removed when `use` returns, or when its promise is settled. */
export const withFolder = <T>(use: (folder: string) => T): T => {
  const folder = mkdtempSync(join(tmpdir(), 'kinora-video-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  let result: T;
  try {
    result = use(folder);
  } catch (error) {
    remove();
    throw error;
  }
  if (result instanceof Promise) return result.finally(remove) as T;
  remove();
  return result;
};

export const probeFile = (path: string): Promise<SourceFacts> => probe({ kind: 'probe', source: { path }, ...LIMITS });

export const indexFile = (path: string, facts: SourceFacts): SourceIndex =>
  withFolder((folder) => {
    const outPath = join(folder, 'index');
    indexSource(
      {
        kind: 'index',
        source: { path, formatName: facts.formatName },
        ...(facts.video && { videoStreamIndex: facts.video.streamIndex }),
        ...(facts.video?.unmarkedStart && { unmarkedStart: true }),
        ...(facts.audio[0] && { audioStreamIndex: facts.audio[0].streamIndex }),
        outPath,
      },
      silent,
    );
    return decodeSourceIndex(readFileSync(outPath));
  });

export interface PlannedSource {
  readonly path: string;
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  readonly plan: Plan;
  readonly video: VideoPlan;
}

export const planFile = async (path: string, settings: Partial<AssetSettings> = {}): Promise<PlannedSource> => {
  const facts = await probeFile(path);
  const index = indexFile(path, facts);
  const plan = planAsset({
    facts,
    index,
    settings: { quality: 'basic', maxResolutionTier: '1080p', isTest: false, ...settings },
  });
  if (!plan.video) throw new Error('no video in the plan');
  return { path, facts, index, plan, video: plan.video };
};

export const segmentJob = (
  { path, video }: PlannedSource,
  rendition: VideoRendition,
  segment: number,
  outPath: string,
): VideoSegmentJob => ({
  kind: 'video-segment',
  source: { path, formatName: video.formatName },
  streamIndex: video.streamIndex,
  timeBase: video.timeBase,
  originTicks: video.originTicks,
  startTicks: video.boundaries[segment]!,
  endTicks: video.boundaries[segment + 1]!,
  lastFrameTicks: video.lastFrameTicks,
  isLast: segment === video.boundaries.length - 2,
  ...(video.seekPoints && { seekPoint: video.seekPoints[segment]! }),
  sequence: segment + 1,
  rendition: {
    kind: rendition.kind,
    width: rendition.width,
    height: rendition.height,
    frameStep: rendition.frameStep,
    frameRate: video.frameRate,
    filters: video.filters,
    ...(rendition.encoder && { encoder: rendition.encoder }),
    ...(rendition.reorderTicks !== undefined && { reorderTicks: rendition.reorderTicks }),
    ...(isOriginal(rendition) && { codec: rendition.original.codec }),
  },
  threads: 2,
  outPath,
});

export const makeSegment = (
  source: PlannedSource,
  rendition: VideoRendition,
  segment: number,
): Promise<VideoSegmentResult & { readonly bytes: Buffer }> =>
  withFolder(async (folder) => {
    const outPath = join(folder, 'segment');
    const result = await writeVideoSegment(segmentJob(source, rendition, segment, outPath));
    return { ...result, bytes: readFileSync(outPath) };
  });

/** One after the other, in this order. */
export const makeSegments = async (
  source: PlannedSource,
  rendition: VideoRendition,
  segments: readonly number[],
): Promise<Buffer[]> => {
  const all: Buffer[] = [];
  for (const segment of segments) all.push((await makeSegment(source, rendition, segment)).bytes);
  return all;
};

const avccOf = ({ video }: PlannedSource, rendition: VideoRendition): Buffer =>
  Buffer.from(
    rendition.avcc ??
      encodeVideoConfig({
        kind: 'video-config',
        width: rendition.width,
        height: rendition.height,
        frameRate: { num: video.frameRate.num, den: video.frameRate.den * rendition.frameStep },
        encoder: rendition.encoder!,
      }).avcc,
    'base64',
  );

export const initOf = (source: PlannedSource, rendition: VideoRendition): Uint8Array => {
  const { width, height, reorderTicks } = rendition;
  const track = { timescale: source.video.timescale, width, height, reorderTicks };
  if (isOriginal(rendition)) {
    const { codec, config } = rendition.original;
    const nclx = nclxOf(source.video.filters.color);
    return writeVideoInit({ ...track, codec, config: Buffer.from(config, 'base64'), ...(nclx && { nclx }) });
  }
  const avcc = avccOf(source, rendition);
  if (rendition.encoder?.codec === 'av1') return writeVideoInit({ ...track, codec: 'av1', config: avcc, nclx: BT709 });
  return writeVideoInit({ ...track, avcc, ...(rendition.kind === 'encode' && { color: 'bt709' as const }) });
};

export const segmentNumbers = ({ video }: PlannedSource): number[] =>
  video.boundaries.slice(1).map((_, index) => index);
