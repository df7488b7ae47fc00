import type { Frame } from 'node-av/lib';
import type { Rational } from '../../media/source/source-facts.js';
import { MediaFilter } from './media-filter.js';

/**
 * Passes finished frames (SDR BT.709, limited range, square pixels) of one size through a chain of
 * filters.
 */
export class FrameGraph {
  private readonly filter: MediaFilter;
  private readonly emit: (frame: Frame) => void;

  /**
   * @param emit gets each frame, which is valid during the call only; its `pts` counts in
   * `timeBase`.
   */
  constructor(
    first: Pick<Frame, 'width' | 'height' | 'format'>,
    chain: string,
    { timeBase, threads }: { readonly timeBase: Rational; readonly threads: number },
    emit: (frame: Frame) => void,
  ) {
    const whole = [
      `buffer@in=video_size=${first.width}x${first.height}:pix_fmt=${first.format}:pixel_aspect=1/1` +
        `:time_base=${timeBase.num}/${timeBase.den}:colorspace=bt709:range=tv`,
      chain,
      'buffersink@out',
    ].join(',');
    this.filter = new MediaFilter(whole, { operation: 'filter frame', building: `filter ${whole}`, threads });
    this.emit = emit;
  }

  push(frame: Frame, pts: number): void {
    frame.pts = BigInt(pts);
    this.filter.push(frame, this.emit);
  }

  finish(): void {
    this.filter.push(null, this.emit);
  }

  [Symbol.dispose](): void {
    this.filter[Symbol.dispose]();
  }
}
