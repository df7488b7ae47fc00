import type { Frame } from 'node-av/lib';
import type { ImageSource, ShownAt } from '../pool/protocol.js';
import { failMedia } from './av.js';
import { filterRange } from './filter-range.js';
import { PictureFilter } from './picture-filter.js';
import type { VideoReader } from './video-reader.js';

/** @throws KinoraError `media_failed` when the plan was made for another clock */
export const checkTimeBase = (reader: VideoReader, { timeBase }: ImageSource): void => {
  const { num, den } = reader.timeBase;
  if (num !== timeBase.num || den !== timeBase.den) throw failMedia('image', 'the time base of the stream has changed');
};

/** The last time of the stream that is shown at this tick or before. */
const ptsAt = (ticks: number, { zeroTicks, timeBase }: ImageSource): number =>
  Math.floor((ticks + zeroTicks) / timeBase.num);

/** Finds the picture that is shown at a moment: the last that began, or the first when none did. Its time, in stream ticks. */
export const seekShown = (reader: VideoReader, source: ImageSource, { ticks, seekPoint }: ShownAt): number => {
  const pts = ptsAt(Math.min(ticks, source.lastPictureTicks), source);
  reader.seek(pts + 1, { wantPrevious: true, seekPoint });
  const shown = reader.previous;
  // Pictures before zero are cut off by an edit; one that begins late is shown from zero on.
  const found = shown && shown.pts >= ptsAt(0, source) ? shown : (reader.take() ?? shown);
  if (!found) throw failMedia('image', 'no picture could be decoded');
  return found.pts;
};

/**
 * Sends the picture that is shown at a moment through a filter; `filter` gets its time back from here to tell it from the
 * neighbours that deinterlacing needs.
 */
export const filterShown = (
  reader: VideoReader,
  source: ImageSource,
  at: ShownAt,
  size: { readonly width: number; readonly height: number; readonly threads: number },
  use: (frame: Frame) => void,
): void => {
  let shownPts: number | undefined;
  let used = false;
  const { picture, overlayPaths, timeBase } = source;
  const filter = new PictureFilter({ picture, overlayPaths, crop: reader.crop, ...size, timeBase }, (frame, pts) => {
    if (pts !== shownPts || used) return;
    used = true;
    use(frame);
  });
  try {
    shownPts = seekShown(reader, source, at);
    if (picture.deinterlace) {
      const { seekPoint } = at;
      filterRange(reader, filter, { fromPts: shownPts, untilPts: shownPts + 1, neighbours: true, seekPoint });
    } else {
      filter.push(reader.previous!.frame, shownPts);
      filter.flush();
    }
  } finally {
    filter.close();
  }
  if (!used) throw failMedia('image', 'the picture did not come out of the filter');
};
