/** Packet times of one stream in file (decode) order, in ticks. NaN for packets without a time. */
export interface PacketTimes {
  readonly dts: readonly number[];
  readonly pts: readonly number[];
}

export interface RepairedTimestamps {
  /** Number of packets whose wrong time was replaced by an estimate. */
  readonly wrong: number;
  /** Number of recordings in the stream: one more than the number of clock jumps. */
  readonly recordings: number;
  /** The recording of each packet, numbered from 0. */
  readonly recording: Int32Array;
  /**
   * Strictly increasing within a recording. NaN only in streams where most packets have no time.
   */
  readonly dts: Float64Array;
  /** NaN where the packet had none. */
  readonly pts: Float64Array;
}

/** In a transport or program stream, a gap this long is a clock jump and not a long frame. */
export const MAX_STEP_SECONDS = 10;
/**
 * How many packets back to search for the one before a run of wrong times. More than one PES packet
 * of audio holds.
 */
const WINDOW = 64;
/**
 * A jump must explain this many packets. A shorter run of deviating times is treated as wrong
 * times.
 */
const JUMP_COST = 30;
/**
 * Limit for the display delay of a frame (ISO/IEC 13818-1, 2.4.2.7) beyond the usual delay in the
 * stream.
 */
const DELAY_TOLERANCE_SECONDS = 1;
/**
 * To place a frame without a valid time, this many frames before and after it in decode order are
 * searched.
 */
const NEIGHBOURS = 16;

/**
 * Distinguishes wrong times of single packets (flipped bits) from clock jumps (start of another
 * recording) and replaces wrong times with values that fit between their neighbors.
 * @param maxStepSeconds a longer step forward also counts as a jump
 */
export const repairTimestamps = (
  { dts, pts }: PacketTimes,
  ticksPerSecond: number,
  maxStepSeconds = MAX_STEP_SECONDS,
): RepairedTimestamps => {
  const timed = Int32Array.from(dts.keys()).filter((packet) => !Number.isNaN(dts[packet]!));
  const recording = new Int32Array(dts.length);
  const chain = findChain(
    Float64Array.from(timed, (packet) => dts[packet]!),
    maxStepSeconds * ticksPerSecond,
  );
  // Most times are missing or wrong. These are not isolated errors, and the right values are
  // unknown.
  if (chain.length * 2 < dts.length)
    return { wrong: 0, recordings: 1, recording, dts: Float64Array.from(dts), pts: Float64Array.from(pts) };
  const right = new Uint8Array(dts.length);
  let recordings = 1;
  let last = 0;
  for (const { at, jump } of chain) {
    const packet = timed[at]!;
    recording.fill(recordings - 1, last, packet);
    if (jump) recordings += 1;
    right[packet] = 1;
    last = packet;
  }
  recording.fill(recordings - 1, last);
  const step = medianStep(dts, right, recording);
  const repairedDts = fillDts(dts, right, recording, step);
  // When a packet has one time for both, both are wrong.
  const trusted = Float64Array.from(pts, (time, packet) =>
    time === dts[packet] && !right[packet] ? Number.POSITIVE_INFINITY : time,
  );
  const repairedPts = repairPts(trusted, repairedDts, recording, step, DELAY_TOLERANCE_SECONDS * ticksPerSecond);
  let wrong = 0;
  for (let packet = 0; packet < dts.length; packet += 1)
    if ((!Number.isNaN(dts[packet]!) && !right[packet]) || differs(pts[packet]!, repairedPts[packet]!)) wrong += 1;
  return { wrong, recordings, recording, dts: repairedDts, pts: repairedPts };
};

const differs = (a: number, b: number): boolean => a !== b && !Number.isNaN(a);

/** The longest sequence of times with valid steps. Each jump costs `JUMP_COST`. */
const findChain = (times: Float64Array, maxStep: number): { at: number; jump: boolean }[] => {
  const follows = (before: number, at: number): boolean => {
    const step = times[at]! - times[before]!;
    return step >= 0 && step <= maxStep;
  };
  const score = new Int32Array(times.length);
  const from = new Int32Array(times.length).fill(-1);
  const jumped = new Uint8Array(times.length);
  let trouble = Number.NEGATIVE_INFINITY;
  let best = 0;
  for (let at = 0; at < times.length; at += 1) {
    if (at > 0 && !follows(at - 1, at)) trouble = at;
    // Far from any invalid step, the preceding packet is always the best.
    const window = at - trouble <= WINDOW ? WINDOW : 1;
    score[at] = 1;
    for (let before = at - 1; before >= Math.max(at - window, 0); before -= 1) {
      const jump = follows(before, at) ? 0 : JUMP_COST;
      const sum = score[before]! + 1 - jump;
      // If two predecessors have the same score, the one with the smaller gap wins.
      const closer = sum === score[at] && jump === 0 && from[at]! >= 0 && times[before]! > times[from[at]!]!;
      if (sum <= score[at]! && !closer) continue;
      score[at] = sum;
      from[at] = before;
      jumped[at] = jump > 0 ? 1 : 0;
    }
    if (score[at]! >= score[best]!) best = at;
  }
  const chain: { at: number; jump: boolean }[] = [];
  for (let at = times.length > 0 ? best : -1; at >= 0; at = from[at]!) chain.push({ at, jump: jumped[at] === 1 });
  return chain.reverse();
};

const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;

const medianStep = (dts: readonly number[], right: Uint8Array, recording: Int32Array): number => {
  const steps: number[] = [];
  for (let packet = 1; packet < dts.length; packet += 1)
    if (right[packet] && right[packet - 1] && recording[packet] === recording[packet - 1])
      steps.push(dts[packet]! - dts[packet - 1]!);
  return Math.max(quantile(Float64Array.from(steps).sort(), 0.5), 1);
};

/**
 * Spaces packets without a valid time evenly between their neighbors, or one step apart at an end
 * of a recording.
 */
const fillDts = (dts: readonly number[], right: Uint8Array, recording: Int32Array, step: number): Float64Array => {
  const filled = Float64Array.from(dts);
  for (let start = 0; start < dts.length; ) {
    if (right[start]) {
      start += 1;
      continue;
    }
    let end = start + 1;
    while (end < dts.length && !right[end]) end += 1;
    const before = start > 0 ? filled[start - 1]! : undefined;
    const continues = end < dts.length && (start === 0 || recording[end] === recording[start - 1]);
    const after = continues ? dts[end]! : undefined;
    const stride = before !== undefined && after !== undefined ? (after - before) / (end - start + 1) : step;
    for (let packet = start; packet < end; packet += 1)
      filled[packet] =
        before !== undefined
          ? Math.round(before + stride * (packet - start + 1))
          : Math.round((after ?? 0) - stride * (end - packet));
    start = end;
  }
  for (let packet = 1; packet < filled.length; packet += 1)
    if (recording[packet] === recording[packet - 1])
      filled[packet] = Math.max(filled[packet]!, filled[packet - 1]! + 1);
  return filled;
};

/** Treats a time as wrong if the frame's display delay is far from that of most frames. */
const repairPts = (
  pts: Float64Array,
  dts: Float64Array,
  recording: Int32Array,
  step: number,
  tolerance: number,
): Float64Array => {
  const delays = pts.map((time, packet) => time - dts[packet]!);
  const sorted = delays.filter((delay) => Number.isFinite(delay)).sort();
  const low = quantile(sorted, 0.05);
  const high = quantile(sorted, 0.95);
  const margin = high - low + tolerance;
  const wrong: number[] = [];
  const repaired = pts.map((time, packet) => {
    // Without a time there is nothing to compare.
    if (!(delays[packet]! < low - margin || delays[packet]! > high + margin)) return time;
    wrong.push(packet);
    return Number.NaN;
  });
  for (const packet of wrong) {
    const usual = dts[packet]! + quantile(sorted, 0.5);
    const earliest = dts[packet]! + low;
    repaired[packet] = high === low ? usual : findFreeSlot(repaired, recording, { packet, usual, earliest }, step);
  }
  return repaired;
};

/** The free slot nearest to `usual`, but not before `earliest`, among the times around a frame. */
const findFreeSlot = (
  pts: Float64Array,
  recording: Int32Array,
  { packet, usual, earliest }: { packet: number; usual: number; earliest: number },
  step: number,
): number => {
  const from = Math.max(packet - NEIGHBOURS, 0);
  const near = pts
    .subarray(from, packet + NEIGHBOURS + 1)
    .filter((time, at) => !Number.isNaN(time) && recording[from + at] === recording[packet])
    .sort();
  let slot = usual;
  let nearest = Number.POSITIVE_INFINITY;
  for (let at = 0; near.length > 0 && at <= near.length; at += 1) {
    // There is always a free slot before the first and after the last time.
    const before = near[at - 1] ?? near[0]! - 2 * step;
    const after = near[at] ?? near.at(-1)! + 2 * step;
    if (after - before < 1.5 * step) continue;
    const margin = Math.min(step, (after - before) / 2);
    const free = Math.min(Math.max(usual, before + margin), after - margin);
    if (free < earliest || Math.abs(free - usual) >= nearest) continue;
    nearest = Math.abs(free - usual);
    slot = Math.round(free);
  }
  return slot;
};
