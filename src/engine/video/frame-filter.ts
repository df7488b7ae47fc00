import { avGetPixFmtName, type Frame } from 'node-av/lib';
import { matrixSupport, PRIMARIES, RANGES, TRANSFERS } from '../../media/codecs/color-names.js';
import { overlayPixels } from '../../media/overlay/geometry.js';
import type { OverlayPlacement, VideoFilters } from '../../media/plan/plan.js';
import type { Rational } from '../../media/source/source-facts.js';
import { failMedia, NO_PTS } from '../ffmpeg/av.js';
import { MediaFilter } from '../ffmpeg/media-filter.js';
import { loadOverlayPixels } from './overlay-image.js';
import type { Crop } from './reader.js';
import { burnTestMark } from './test-mark.js';

export interface FrameFilterSettings {
  readonly filters: VideoFilters;
  /** The files of the overlays in `filters`, in the same order. */
  readonly overlayPaths?: readonly string[] | undefined;
  readonly crop: Crop | undefined;
  /** Size of the result, after rotation. */
  readonly width: number;
  readonly height: number;
  /** Time base of the input frames and of the output times. */
  readonly timeBase: Rational;
  readonly threads: number;
}

/** In seconds; earlier than any frame of a source. */
const BEFORE_ALL = -1_000_000_000n;

const ROTATIONS = { 0: [], 90: ['transpose=clock'], 180: ['hflip', 'vflip'], 270: ['transpose=cclock'] } as const;

/**
 * Peak luminance in tens of cd/m2: 10,000 cd/m2 for PQ, 1,000 for HLG. A curve with a lower peak
 * darkens what is brighter (`bt2390`) or clips it.
 */
const PEAKS = { pq: 1000, hlg: 100 } as const;

const knownName = (names: Readonly<Record<number, string>>, name: string): string | undefined =>
  Object.values(names).includes(name) ? name : undefined;

/**
 * Describes the colors of frames that don't do so themselves: wrong or missing tags must not reach
 * the conversion. A matrix that `scale` doesn't know is converted first.
 */
const describeColor = ({ color, toneMap }: VideoFilters, frame: Frame): string[] => {
  const isRgb = /rgb|bgr|gbr|pal8/.test(avGetPixFmtName(frame.format as number as never) ?? '');
  const support = isRgb ? 'scale' : matrixSupport(color);
  // `zscale` needs all of them for some matrices.
  const usual = support === 'zscale' ? 'bt709' : undefined;
  const primaries = knownName(PRIMARIES, color.primaries) ?? (toneMap ? 'bt2020' : usual);
  const transfer = toneMap
    ? { pq: 'smpte2084', hlg: 'arib-std-b67' }[toneMap]
    : (knownName(TRANSFERS, color.transfer) ?? usual);
  const setParams = (matrix: string): string => {
    const range = isRgb ? 'pc' : (knownName(RANGES, color.range) ?? 'tv');
    const fields = Object.entries({ color_primaries: primaries, color_trc: transfer, colorspace: matrix, range });
    return `setparams=${fields.flatMap(([name, value]) => (value ? [`${name}=${value}`] : [])).join(':')}`;
  };
  if (isRgb) return [setParams('gbr')];
  if (support === 'zscale')
    return [setParams(color.matrix), `zscale=matrix=${primaries === 'bt2020' ? '2020_ncl' : '709'}`];
  if (support === 'scale' && color.matrix !== 'unknown') return [setParams(color.matrix)];
  // The usual rule for untagged video: BT.709 for high definition, BT.601 for the rest.
  return [setParams(toneMap ? 'bt2020nc' : frame.height >= 720 ? 'bt709' : 'smpte170m')];
};

/**
 * `tonemapx` does not write the columns after the last whole block of this width, nor an odd last
 * row.
 */
const TONE_MAP_COLUMNS = 16;

const roundUp = (value: number, step: number): number => Math.ceil(value / step) * step;

/** Scaling precedes tone mapping and rotation so that both process fewer pixels. */
const describeChain = ({ filters, crop, width, height }: FrameFilterSettings, frame: Frame): string => {
  const sideways = filters.rotation === 90 || filters.rotation === 270;
  const [across, down] = sideways ? [height, width] : [width, height];
  const size = `${across}:${down}`;
  return [
    ...(filters.deinterlace ? ['bwdif=mode=send_frame:parity=auto:deint=all'] : []),
    ...(crop ? [`crop=iw-${crop.left + crop.right}:ih-${crop.top + crop.bottom}:${crop.left}:${crop.top}`] : []),
    ...describeColor(filters, frame),
    ...(filters.toneMap
      ? [
          // `pad` drops an odd last row or column, so the frame is padded to even sizes and cropped
          // afterwards.
          `scale=${roundUp(across, 2)}:${roundUp(down, 2)}:flags=bicubic`,
          `pad=${roundUp(across, TONE_MAP_COLUMNS)}:${roundUp(down, 2)}`,
          `tonemapx=tonemap=mobius:desat=0:peak=${PEAKS[filters.toneMap]}:t=bt709:m=bt709:p=bt709:format=yuv420p`,
          `crop=${size}:0:0:exact=1`,
        ]
      : [`scale=${size}:flags=bicubic:out_color_matrix=bt709:out_range=tv`]),
    ...ROTATIONS[filters.rotation],
    ...(filters.flipHorizontal ? ['hflip'] : []),
    'setsar=1',
    'format=yuv420p',
  ].join(',');
};

/**
 * Lays images over `[main]` and calls the result `[shown]`. Each image is an input that provides
 * one frame.
 */
const describeOverlays = (overlays: readonly OverlayPlacement[], frame: { width: number; height: number }): string =>
  overlays
    .map((overlay, number) => {
      const { left, top, width, height, crop } = overlayPixels(overlay, frame);
      const chain = [
        `buffer@overlay${number}=video_size=${overlay.image.width}x${overlay.image.height}:pix_fmt=rgba:time_base=1/1:pixel_aspect=1/1`,
        ...(crop ? [`crop=${crop.width}:${crop.height}:${crop.left}:${crop.top}:exact=1`] : []),
        ...(overlay.opacity < 1 ? [`colorchannelmixer=aa=${overlay.opacity}`] : []),
        `scale=${width}:${height}:flags=bicubic+accurate_rnd:out_color_matrix=bt709:out_range=tv`,
        'format=yuva420p',
      ].join(',');
      const [below, above] = [
        number === 0 ? 'main' : `laid${number}`,
        number + 1 === overlays.length ? 'shown' : `laid${number + 1}`,
      ];
      return `${chain}[image${number}];[${below}][image${number}]overlay=${left}:${top}:format=yuv420:eof_action=repeat[${above}]`;
    })
    .join(';');

/**
 * Converts decoded frames to frames of one rung. The graph is rebuilt when the format of the frames
 * changes.
 */
export class FrameFilter {
  private readonly settings: FrameFilterSettings;
  private readonly emit: (frame: Frame, pts: number) => void;
  private filter: MediaFilter | undefined;
  private shape = '';

  /**
   * @param emit gets each finished frame, valid during the call only, and its time in ticks of
   * `timeBase`.
   */
  constructor(settings: FrameFilterSettings, emit: (frame: Frame, pts: number) => void) {
    this.settings = settings;
    this.emit = emit;
  }

  push(frame: Frame, pts: number): void {
    const shape = [frame.width, frame.height, frame.format].join();
    if (shape !== this.shape) this.flush();
    this.filter ??= openFilter(this.settings, frame);
    this.shape = shape;
    frame.pts = BigInt(pts);
    this.run(this.filter, frame);
  }

  /** Emits the frames that the graph still holds; the next frame starts a new graph. */
  flush(): void {
    if (this.filter === undefined) return;
    this.run(this.filter, null);
    this.close();
  }

  close(): void {
    this.filter?.[Symbol.dispose]();
    this.filter = undefined;
    this.shape = '';
  }

  private run(filter: MediaFilter, frame: Frame | null): void {
    const { timeBase, filters } = this.settings;
    // Deinterlacing halves the time base.
    const base = filter.timeBase;
    filter.push(frame, (result) => {
      if (result.pts === NO_PTS) throw failMedia('filter frame', 'it has no time');
      if (filters.testMark) burnTestMark(result);
      this.emit(result, Math.round((Number(result.pts) * base.num * timeBase.den) / (base.den * timeBase.num)));
    });
  }
}

const openFilter = (settings: FrameFilterSettings, frame: Frame): MediaFilter => {
  const { timeBase, threads, filters, overlayPaths = [] } = settings;
  const { overlays = [] } = filters;
  const aspect = frame.sampleAspectRatio;
  const main = [
    `buffer@in=video_size=${frame.width}x${frame.height}:pix_fmt=${frame.format}` +
      `:time_base=${timeBase.num}/${timeBase.den}` +
      `:pixel_aspect=${aspect.num > 0 ? aspect.num : 1}/${aspect.num > 0 ? aspect.den : 1}` +
      `:colorspace=${frame.colorSpace}:range=${frame.colorRange}`,
    describeChain(settings, frame),
  ].join(',');
  const chain =
    overlays.length === 0
      ? `${main},buffersink@out`
      : `${main}[main];${describeOverlays(overlays, settings)};[shown]format=yuv420p,buffersink@out`;
  const filter = new MediaFilter(chain, { operation: 'filter frame', building: `filter ${chain}`, threads });
  try {
    overlays.forEach((_, number) => {
      feedOverlay(filter, number, overlayPaths[number]);
    });
    return filter;
  } catch (error) {
    filter[Symbol.dispose]();
    throw error;
  }
};

/** Passes a single frame that precedes all others. */
const feedOverlay = (filter: MediaFilter, number: number, path: string | undefined): void => {
  if (path === undefined) throw failMedia('filter', 'no file for an overlay');
  using frame = loadOverlayPixels(path);
  frame.pts = BEFORE_ALL;
  filter.feed(`buffer@overlay${number}`, frame);
};
