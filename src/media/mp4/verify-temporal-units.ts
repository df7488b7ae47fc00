import { KinoraError } from '../../lib/errors.js';
import { av1LevelIndex, readTemporalUnit, type TemporalUnit } from '../codecs/av1.js';
import { asFullBox, findBox, listBoxes, viewOf } from './box-reader.js';
import { readTrackRun } from './fragment-verifier.js';

/** What the frames of a segment in AV1 must be. */
export interface ExpectedAv1 {
  readonly width: number;
  readonly height: number;
  /** Level times ten. */
  readonly level: number;
}

const reject = (reason: string): never => {
  throw new KinoraError('media_failed', { details: { stage: 'verify', reason } });
};

/**
 * Checks the samples of a fragment that `verifyFragment` has accepted: each is a temporal unit
 * without a delimiter that shows one frame, and the first one alone begins a sequence, the one of
 * the init segment.
 * @throws KinoraError `media_failed` with `details.reason`
 */
export const verifyTemporalUnits = (bytes: Uint8Array, expected: ExpectedAv1): void => {
  const [, moof, mdat] = listBoxes(bytes)!;
  const trun = asFullBox(bytes, findBox(bytes, ['traf', 'trun'], moof!.content, moof!.end))!;
  let offset = mdat!.content;
  for (const [sample, { size }] of readTrackRun(viewOf(bytes), trun).entries()) {
    const unit = readTemporalUnit(bytes.subarray(offset, offset + size));
    offset += size;
    verifyUnit(unit ?? reject(`sample ${sample} is no temporal unit`), sample, expected);
  }
};

const verifyUnit = (
  { shownFrames, hasDelimiter, sequence }: TemporalUnit,
  sample: number,
  { width, height, level }: ExpectedAv1,
): void => {
  if (hasDelimiter) reject(`sample ${sample} has a temporal delimiter`);
  if (shownFrames !== 1) reject(`sample ${sample} shows ${shownFrames} frames`);
  if ((sequence !== undefined) !== (sample === 0)) reject(`the sequence header of sample ${sample}`);
  if (!sequence) return;
  const header = [sequence.width, sequence.height, sequence.level, sequence.bitDepth, sequence.isHighTier].join(' ');
  const planned = [width, height, av1LevelIndex(level), 8, false].join(' ');
  if (header !== planned) reject(`the sequence header has ${header}, expected ${planned}`);
};
