import { AV_BUFFERSRC_FLAG_KEEP_REF } from 'node-av/constants';
import { type FilterContext, FilterGraph, type Frame } from 'node-av/lib';
import type { Rational } from '../../media/source/source-facts.js';
import { check, failMedia, isDrained, newFrame } from './av.js';

export interface MediaFilterOptions {
  /** The name of the operation in error messages. */
  readonly operation: string;
  /** The name in errors from building the graph; the default is `operation`. */
  readonly building?: string;
  readonly threads?: number;
}

/**
 * A filter graph with one output, `buffersink@out` or `abuffersink@out`, and one input for frames,
 * `buffer@in` or `abuffer@in`, unless the graph generates its frames. Output frames are valid only
 * during the call of `each`.
 */
export class MediaFilter {
  private readonly graph = new FilterGraph();
  private readonly frame = newFrame();
  private readonly operation: string;
  private readonly input: FilterContext | null;
  private readonly output: FilterContext;

  constructor(description: string, { operation, building = operation, threads }: MediaFilterOptions) {
    this.operation = operation;
    this.graph.alloc();
    try {
      if (threads !== undefined) this.graph.nbThreads = threads;
      check(this.graph.parsePtr(description), building);
      check(this.graph.configSync(), building);
      this.input = this.graph.getFilter('buffer@in') ?? this.graph.getFilter('abuffer@in');
      const output = this.graph.getFilter('buffersink@out') ?? this.graph.getFilter('abuffersink@out');
      if (output === null) throw failMedia(building, 'no output');
      this.output = output;
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** The time base of the output frames. */
  get timeBase(): Rational {
    return this.output.buffersinkGetTimeBase();
  }

  /** Passes the only frame to an input other than the main one. */
  feed(input: string, frame: Frame): void {
    const context = this.graph.getFilter(input);
    if (context === null) throw failMedia(this.operation, `no input ${input}`);
    check(context.buffersrcAddFrameSync(frame), this.operation);
    check(context.buffersrcAddFrameSync(null), this.operation);
  }

  /** Null ends the input and makes the filters release the frames that they still hold. */
  push(frame: Frame | null, each: (out: Frame) => void): void {
    if (this.input === null) throw failMedia(this.operation, 'no input');
    check(this.input.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF), this.operation);
    while (this.pull(each));
  }

  /** Passes the next frame to `each`; false when there is none. */
  pull(each: (out: Frame) => void): boolean {
    const code = this.output.buffersinkGetFrameSync(this.frame);
    if (isDrained(code)) return false;
    check(code, this.operation);
    try {
      each(this.frame);
    } finally {
      this.frame.unref();
    }
    return true;
  }

  [Symbol.dispose](): void {
    this.frame.free();
    this.graph.free();
  }
}
