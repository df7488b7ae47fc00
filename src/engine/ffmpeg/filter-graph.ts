import { AV_BUFFERSRC_FLAG_KEEP_REF } from 'node-av/constants';
import { type FilterContext, FilterGraph, type Frame } from 'node-av/lib';
import type { Rational } from '../../media/source/source-facts.js';
import { check, failMedia, isDrained, newFrame } from './av.js';

/** Finished frames (SDR BT.709, limited range, square pixels) of one size go in, what a chain of filters makes of them comes out. */
export class FrameGraph {
  private readonly graph = new FilterGraph();
  private readonly input: FilterContext;
  private readonly output: FilterContext;
  private readonly result = newFrame();

  /** @param emit gets each frame, valid during the call only; its `pts` counts in `timeBase`. */
  constructor(
    first: Pick<Frame, 'width' | 'height' | 'format'>,
    chain: string,
    options: { readonly timeBase: Rational; readonly threads: number },
    private readonly emit: (frame: Frame) => void,
  ) {
    const { timeBase, threads } = options;
    const whole = [
      `buffer@in=video_size=${first.width}x${first.height}:pix_fmt=${first.format}:pixel_aspect=1/1` +
        `:time_base=${timeBase.num}/${timeBase.den}:colorspace=bt709:range=tv`,
      chain,
      'buffersink@out',
    ].join(',');
    this.graph.alloc();
    try {
      this.graph.nbThreads = threads;
      check(this.graph.parsePtr(whole), `filter ${whole}`);
      check(this.graph.configSync(), `filter ${whole}`);
      const input = this.graph.getFilter('buffer@in');
      const output = this.graph.getFilter('buffersink@out');
      if (input === null || output === null) throw failMedia('filter', 'no input or output');
      [this.input, this.output] = [input, output];
    } catch (error) {
      this.close();
      throw error;
    }
  }

  push(frame: Frame, pts: number): void {
    frame.pts = BigInt(pts);
    check(this.input.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF), 'filter frame');
    this.drain();
  }

  finish(): void {
    check(this.input.buffersrcAddFrameSync(null), 'filter frame');
    this.drain();
  }

  close(): void {
    this.graph.free();
    this.result.free();
  }

  private drain(): void {
    for (;;) {
      const code = this.output.buffersinkGetFrameSync(this.result);
      if (isDrained(code)) return;
      check(code, 'filter frame');
      try {
        this.emit(this.result);
      } finally {
        this.result.unref();
      }
    }
  }
}
