import { fullBox, u32 } from './box-writer.js';

/**
 * The samples of one segment in decode order. Columns instead of objects save memory: an asset can
 * have a million samples.
 */
export interface FragmentSamples {
  readonly durations: Uint32Array;
  readonly sizes: Uint32Array;
  readonly compositionOffsets: Int32Array;
  readonly sync: Uint8Array;
  /** Size of all samples together. */
  readonly dataBytes: number;
}

export interface ChunkOptions {
  /** Where the samples begin. */
  readonly position: number;
  /** Already added to the composition offsets (`VideoInit.reorderTicks`). */
  readonly reorderTicks: number;
  /** 1-based index of the sample description; 1 when absent. */
  readonly description?: number;
}

/** The sample tables of a track (ISO/IEC 14496-12, 8.6 and 8.7). They grow by chunks. */
export class SampleTables {
  readonly #durations = new RunLengths();
  readonly #compositions = new RunLengths();
  readonly #syncs = new Table();
  readonly #sizes = new Table();
  readonly #chunks = new Table();
  /** Pairs of the high and the low half. */
  readonly #positions = new Table();
  #samples = 0;
  #samplesPerChunk = 0;
  #description = 0;
  #durationTicks = 0;
  #leastOffset = 0;

  get durationTicks(): number {
    return this.#durationTicks;
  }

  get sampleCount(): number {
    return this.#samples;
  }

  /**
   * Media time at which presentation begins: the amount added to composition offsets so that none
   * is negative.
   */
  get shiftTicks(): number {
    return -this.#leastOffset;
  }

  /** Adds the samples of a chunk, which follow each other in the file. */
  add(fragment: FragmentSamples, { position, reorderTicks, description = 1 }: ChunkOptions): void {
    const { durations, sizes, compositionOffsets, sync } = fragment;
    for (let sample = 0; sample < sizes.length; sample++) {
      this.#samples += 1;
      this.#durationTicks += durations[sample]!;
      this.#durations.add(durations[sample]!);
      const offset = compositionOffsets[sample]! - reorderTicks;
      this.#leastOffset = Math.min(this.#leastOffset, offset);
      this.#compositions.add(offset);
      this.#sizes.add(sizes[sample]!);
      if (sync[sample]) this.#syncs.add(this.#samples);
    }
    this.#positions.add(position);
    if (sizes.length === this.#samplesPerChunk && description === this.#description) return;
    this.#samplesPerChunk = sizes.length;
    this.#description = description;
    for (const value of [this.#positions.length, sizes.length, description]) this.#chunks.add(value);
  }

  /** Lets the last sample last longer. */
  extendLast(ticks: number): void {
    this.#durations.addToLast(ticks);
    this.#durationTicks += ticks;
  }

  /** @param dataOffset is added to the positions; the size of the result does not depend on it */
  write(dataOffset: number): Uint8Array[] {
    const hasOffsets = !this.#compositions.isZero;
    return [
      this.#durations.write('stts'),
      ...(hasOffsets ? [this.#compositions.write('ctts', this.shiftTicks)] : []),
      ...(this.#syncs.length === this.#samples ? [] : [this.#syncs.write('stss', u32(this.#syncs.length))]),
      this.#chunks.write('stsc', u32(this.#chunks.length / 3)),
      this.#sizes.write('stsz', u32(0, this.#samples)),
      this.#writePositions(dataOffset),
    ];
  }

  #writePositions(dataOffset: number): Uint8Array {
    const count = this.#positions.length;
    const view = new DataView(new ArrayBuffer(count * 8));
    for (let chunk = 0; chunk < count; chunk++)
      view.setBigUint64(chunk * 8, BigInt(this.#positions.at(chunk) + dataOffset));
    return fullBox('co64', 0, 0, u32(count), new Uint8Array(view.buffer));
  }
}

/** A column of numbers that grows. */
class Table {
  // Positions in large files need more than 32 bits.
  private values = new Float64Array(1024);
  length = 0;

  add(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Float64Array(this.values.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.values[index]!;
  }

  set(index: number, value: number): void {
    this.values[index] = value;
  }

  /** 32 bits each. */
  write(type: string, head: Uint8Array): Uint8Array {
    const view = new DataView(new ArrayBuffer(this.length * 4));
    for (let index = 0; index < this.length; index++) view.setUint32(index * 4, this.values[index]!);
    return fullBox(type, 0, 0, head, new Uint8Array(view.buffer));
  }
}

/** Pairs of count and value, as in `stts` and `ctts`. */
class RunLengths {
  readonly #counts = new Table();
  readonly #values = new Table();
  isZero = true;

  add(value: number): void {
    const last = this.#values.length - 1;
    if (last >= 0 && this.#values.at(last) === value) {
      this.#counts.set(last, this.#counts.at(last) + 1);
      return;
    }
    if (value !== 0) this.isZero = false;
    this.#counts.add(1);
    this.#values.add(value);
  }

  /** Raises the value that was added last. */
  addToLast(value: number): void {
    const last = this.#values.length - 1;
    const count = this.#counts.at(last);
    const raised = this.#values.at(last) + value;
    if (count === 1) {
      this.#values.set(last, raised);
      return;
    }
    this.#counts.set(last, count - 1);
    this.#counts.add(1);
    this.#values.add(raised);
  }

  /** @param shift is added to every value */
  write(type: string, shift = 0): Uint8Array {
    const count = this.#counts.length;
    const view = new DataView(new ArrayBuffer(count * 8));
    for (let run = 0; run < count; run++) {
      view.setUint32(run * 8, this.#counts.at(run));
      view.setUint32(run * 8 + 4, this.#values.at(run) + shift);
    }
    return fullBox(type, 0, 0, u32(count), new Uint8Array(view.buffer));
  }
}
