/**
 * Aligns decoded pieces of audio on a timeline of samples. Time stamps are coarse (whole
 * milliseconds in Matroska) and clocks drift, so neither counting samples nor trusting each stamp
 * is enough. The result at a position depends only on nearby pieces and not on where decoding
 * began, so readers that start at different positions agree on every sample.
 */

export interface AudioPiece {
  /**
   * Position of the first sample by its time stamp, in samples on the timeline; may have a
   * fraction.
   */
  readonly position: number;
  /** One array per channel, equally long. */
  readonly channels: readonly Float32Array[];
}

/**
 * Pieces that follow each other without a gap: `counts[i]` samples of the run precede `pieces[i]`.
 */
interface Run {
  readonly pieces: AudioPiece[];
  readonly counts: number[];
  length: number;
}

const lengthOf = (piece: AudioPiece): number => piece.channels[0]?.length ?? 0;

/**
 * A jump of more than half a piece is a gap or an overlap; smaller jumps come from rounded time
 * stamps.
 */
const splitRuns = (pieces: readonly AudioPiece[], tickSamples: number): Run[] => {
  const runs: Run[] = [];
  let expected = Number.NaN;
  for (const piece of pieces) {
    const length = lengthOf(piece);
    const limit = Math.max(3 * Math.min(tickSamples, length / 4), length / 2, 1);
    let run = runs.at(-1);
    if (run === undefined || Math.abs(piece.position - expected) > limit) {
      run = { pieces: [], counts: [], length: 0 };
      runs.push(run);
    }
    run.pieces.push(piece);
    run.counts.push(run.length);
    run.length += length;
    expected = piece.position + length;
  }
  return runs;
};

const paint = (output: Float32Array, outputStart: number, samples: Float32Array, position: number): void => {
  const from = Math.max(0, outputStart - position);
  const until = Math.min(samples.length, outputStart + output.length - position);
  if (from < until) output.set(samples.subarray(from, until), position + from - outputStart);
};

const TAPS = 32;
const PHASES = 1024;
/**
 * Hann-windowed sinc with one row per fraction of a sample; the taps of a row reach from -15 to 16
 * samples.
 */
let sincRows: Float32Array[] | undefined;
const makeSincRows = (): Float32Array[] =>
  Array.from({ length: PHASES }, (_, phase) => {
    const row = Float32Array.from({ length: TAPS }, (_, tap) => {
      const x = tap - (TAPS / 2 - 1) - phase / PHASES;
      const window = 0.5 + 0.5 * Math.cos((2 * Math.PI * x) / (TAPS + 1));
      return (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)) * window;
    });
    const sum = row.reduce((a, b) => a + b);
    return row.map((value) => value / sum);
  });

/** The value at `fraction` of a sample after sample `whole`. */
export const betweenSamples = (samples: Float32Array, whole: number, fraction: number): number => {
  sincRows ??= makeSincRows();
  const row = sincRows[Math.floor(fraction * PHASES)] as Float32Array;
  let sum = 0;
  for (let tap = 0; tap < TAPS; tap++) sum += (row[tap] as number) * (samples[whole + tap - (TAPS / 2 - 1)] ?? 0);
  return sum;
};

const joinChannel = (run: Run, channel: number): Float32Array => {
  const joined = new Float32Array(run.length);
  run.pieces.forEach((piece, i) => {
    joined.set(piece.channels[channel] as Float32Array, run.counts[i] as number);
  });
  return joined;
};

/**
 * The offset between sample counts and positions at each full second: the mean over the pieces
 * whose stamps are within half a second of it.
 */
const measureOffsets = (run: Run, sampleRate: number): Map<number, number> => {
  const sums = new Map<number, { sum: number; count: number }>();
  run.pieces.forEach((piece, i) => {
    const second = Math.round(piece.position / sampleRate);
    const entry = sums.get(second) ?? { sum: 0, count: 0 };
    entry.sum += piece.position - (run.counts[i] as number);
    entry.count += 1;
    sums.set(second, entry);
  });
  return new Map([...sums].map(([second, { sum, count }]) => [second, sum / count]));
};

/**
 * Stretches a run whose clock differs from its time stamps; positions between full seconds are
 * interpolated.
 */
const paintStretched = (outputs: readonly Float32Array[], outputStart: number, run: Run, sampleRate: number): void => {
  const offsets = measureOffsets(run, sampleRate);
  const seconds = [...offsets.keys()].sort((a, b) => a - b);
  const first = seconds[0] as number;
  const last = seconds.at(-1) as number;
  const offsetAt = (sample: number): number => {
    const second = Math.min(last, Math.max(first, sample / sampleRate));
    const before = Math.floor(second);
    // A run has no gaps, so every full second between the first and the last has an entry.
    const from = offsets.get(before) as number;
    const until = offsets.get(before + 1) ?? from;
    return from + (until - from) * (second - before);
  };
  const start = Math.max(outputStart, Math.ceil(offsets.get(first) as number));
  const end = Math.min(outputStart + (outputs[0]?.length ?? 0), Math.floor(run.length + (offsets.get(last) as number)));
  outputs.forEach((output, channel) => {
    const samples = joinChannel(run, channel);
    for (let sample = start; sample < end; sample++) {
      const at = sample - offsetAt(sample);
      const whole = Math.floor(at);
      output[sample - outputStart] = betweenSamples(samples, whole, at - whole);
    }
  });
};

/**
 * The samples [from, until) of the timeline; positions before zero and parts that the source lacks
 * are silent.
 * @param tickSamples length of one tick of the source's time stamps in samples
 */
export const alignAudio = (
  pieces: readonly AudioPiece[],
  channelCount: number,
  from: number,
  until: number,
  sampleRate: number,
  tickSamples: number,
): Float32Array[] => {
  const outputs = Array.from({ length: channelCount }, () => new Float32Array(until - from));
  for (const run of splitRuns(pieces, tickSamples)) {
    // The first piece may be trimmed, which rounds its stamp differently from all the others.
    const longest = run.pieces.reduce((length, piece) => Math.max(length, lengthOf(piece)), 0);
    let lowest = Number.POSITIVE_INFINITY;
    let highest = Number.NEGATIVE_INFINITY;
    run.pieces.forEach((piece, i) => {
      if (lengthOf(piece) < longest) return;
      const offset = piece.position - (run.counts[i] as number);
      lowest = Math.min(lowest, offset);
      highest = Math.max(highest, offset);
    });
    // Rounding spreads stamps by at most a tick around the true position: the clocks agree and
    // samples stay unchanged.
    if (highest - lowest <= Math.max(1.1 * tickSamples, 1)) {
      // At some rates, stamps that are rounded half up put the middle half a sample late; ties must
      // always round in the same direction.
      const offset = Math.round((lowest + highest) / 2 - 1e-6);
      run.pieces.forEach((piece, i) => {
        outputs.forEach((output, channel) => {
          paint(output, from, piece.channels[channel] as Float32Array, (run.counts[i] as number) + offset);
        });
      });
    } else paintStretched(outputs, from, run, sampleRate);
  }
  if (from < 0) for (const output of outputs) output.fill(0, 0, Math.min(output.length, -from));
  return outputs;
};
