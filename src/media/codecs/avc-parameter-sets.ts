import { buildAvcc, listAvccPps, listAvccSequences, readAvcc } from './avc.js';
import { readAvcSequence } from './avc-sps.js';
import { BitReader } from './bit-reader.js';

/** The greatest that both kinds of parameter sets can have (ITU-T H.264, 7.4.2.1.1). */
const MAX_ID = 31;
const LEVEL_AT = 3;

/** Parameter sets of one kind, by their ID. */
type Units = ReadonlyMap<number, Uint8Array>;

interface ParameterSets {
  readonly sps: Units;
  readonly pps: Units;
}

/**
 * The least ID that no parameter set of an avcC record has, so that those of another stream can be
 * added. Undefined when the record is damaged or has all.
 */
export const findFreeParameterSetId = (avcc: Uint8Array): number | undefined => {
  const sets = readSets(avcc);
  if (!sets) return undefined;
  return Array.from({ length: MAX_ID + 1 }, (_, id) => id).find((id) => !sets.sps.has(id) && !sets.pps.has(id));
};

/**
 * A record with the parameter sets of both: frames of either stream can be decoded with it.
 * Undefined when the streams use one ID for different sets.
 */
export const joinAvccs = (one: Uint8Array, other: Uint8Array): Uint8Array | undefined => {
  const [a, b] = [readSets(one), readSets(other)];
  const [first, second] = [readAvcc(one), readAvcc(other)];
  if (!a || !b || first?.lengthBytes !== 4 || second?.lengthBytes !== 4) return undefined;
  const sps = joinUnits(a.sps, b.sps);
  const pps = joinUnits(a.pps, b.pps);
  if (!sps || !pps) return undefined;
  const joined = buildAvcc([...sps.values()], [...pps.values()]);
  joined[LEVEL_AT] = Math.max(first.level, second.level);
  return joined;
};

const joinUnits = (one: Units, other: Units): Units | undefined => {
  const joined = new Map(one);
  for (const [id, unit] of other) {
    const same = joined.get(id);
    if (same && Buffer.compare(same, unit) !== 0) return undefined;
    joined.set(id, unit);
  }
  return joined;
};

/** Undefined when a parameter set is damaged, or two have the same ID. */
const readSets = (avcc: Uint8Array): ParameterSets | undefined => {
  const sps = byId(listAvccSequences(avcc), (unit) => readAvcSequence(unit)?.id);
  const pps = byId(listAvccPps(avcc), readPpsId);
  return sps && pps && { sps, pps };
};

const byId = (
  units: readonly Uint8Array[],
  idOf: (unit: Uint8Array) => number | undefined,
): ReadonlyMap<number, Uint8Array> | undefined => {
  const unitsById = new Map<number, Uint8Array>();
  for (const unit of units) {
    const id = idOf(unit);
    if (id === undefined || unitsById.has(id)) return undefined;
    unitsById.set(id, unit);
  }
  return unitsById.size > 0 ? unitsById : undefined;
};

const readPpsId = (unit: Uint8Array): number | undefined => {
  try {
    return new BitReader(unit, 1).unsigned();
  } catch {
    // A number without an end.
    return undefined;
  }
};
