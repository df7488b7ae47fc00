import type { Frame } from 'node-av/lib';
import { compare } from '../../media/source/rational.js';
import type { DisplayedAt, ImageSource } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import { filterRange } from './filter-range.js';
import { FrameFilter } from './frame-filter.js';
import type { VideoReader } from './reader.js';

/** @throws KinoraError `media_failed` when the plan uses another time base */
export const checkTimeBase = (reader: VideoReader, { timeBase }: Pick<ImageSource, 'timeBase'>): void => {
  if (compare(reader.timeBase, timeBase) !== 0) throw failMedia('image', 'the time base of the stream has changed');
};

type FrameSource = Omit<ImageSource, 'outPath'>;

/** The last stream time that is displayed at or before this tick. */
const ptsAt = (ticks: number, { originTicks, timeBase }: FrameSource): number =>
  Math.floor((ticks + originTicks) / timeBase.num);

/** Up to this distance, reading on is cheaper than seeking. */
const NEAR_SECONDS = 2;

/**
 * Finds the frame that is displayed at a moment: the last one that began by then, or else the
 * first. Returns its time in stream ticks.
 */
export const seekDisplayed = (
  reader: VideoReader,
  source: FrameSource,
  { ticks, seekPoint }: DisplayedAt,
  toleranceTicks = 0,
): number => {
  const pts = ptsAt(Math.min(ticks, source.lastFrameTicks), source);
  if (toleranceTicks > 0) {
    const tolerance = Math.floor(toleranceTicks / source.timeBase.num);
    reader.seek(pts, { wantPrevious: false, seekPoint, tolerance });
    if ((reader.peek()?.pts ?? Number.POSITIVE_INFINITY) <= pts) reader.take();
  } else if (isNear(reader, pts, source)) {
    for (let next = reader.peek(); next !== undefined && next.pts <= pts; next = reader.peek()) reader.take();
  } else reader.seek(pts + 1, { wantPrevious: true, seekPoint });
  const displayed = reader.previous;
  // An edit cuts off frames before zero; a frame that begins late is displayed from zero on.
  const frame =
    displayed && displayed.pts >= ptsAt(source.firstFrameTicks ?? 0, source) ? displayed : (reader.take() ?? displayed);
  if (!frame) throw failMedia('image', 'no frame could be decoded');
  return frame.pts;
};

/** The reader is at or shortly before the wanted frame. */
const isNear = (reader: VideoReader, pts: number, { timeBase: { num, den } }: FrameSource): boolean =>
  reader.previous !== undefined &&
  reader.previous.pts <= pts &&
  ((pts - reader.previous.pts) * num) / den <= NEAR_SECONDS;

export interface DisplayedSettings {
  readonly width: number;
  readonly height: number;
  readonly threads: number;
  /** How much earlier than the moment a frame may be if that saves decoding; 0 by default. */
  readonly toleranceTicks?: number;
}

/** Passes the frame that is displayed at a moment through a filter to `use`. */
export const filterDisplayed = (
  reader: VideoReader,
  source: FrameSource,
  at: DisplayedAt,
  { toleranceTicks = 0, ...size }: DisplayedSettings,
  use: (frame: Frame, pts: number) => void,
): void => {
  const { filters, timeBase, overlayPaths } = source;
  const displayedPts = seekDisplayed(reader, source, at, toleranceTicks);
  let used = false;
  const filter = new FrameFilter({ filters, overlayPaths, crop: reader.crop, ...size, timeBase }, (frame, pts) => {
    if (pts !== displayedPts || used) return;
    used = true;
    use(frame, pts);
  });
  try {
    // Deinterlacing needs neighbors on both sides; with a tolerance in time, lower quality is
    // acceptable too.
    if (filters.deinterlace && toleranceTicks === 0) {
      const { seekPoint } = at;
      filterRange(reader, filter, { fromPts: displayedPts, untilPts: displayedPts + 1, neighbours: true, seekPoint });
    } else {
      filter.push(reader.previous!.frame, displayedPts);
      filter.flush();
    }
  } finally {
    filter.close();
  }
  if (!used) throw failMedia('image', 'the frame did not come out of the filter');
};
