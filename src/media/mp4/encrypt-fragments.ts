import { listBoxes } from './box-reader.js';
import { concat } from './box-writer.js';
import { CbcsCipher, type CbcsKey } from './cbcs.js';
import { parameterSetsOf } from './encrypt-init.js';
import { encryptPart, planEncryption } from './encrypt-segment.js';

/**
 * A file of one or more fragments of one track, as parts and segments of a broadcast are, encrypted
 * by scheme `cbcs`. The same fragment always becomes the same bytes, alone or beside others.
 * @param init the clear init segment of the track
 * @throws Error when they are not fragments that Kinora writes, or can't be encrypted
 */
export const encryptFragments = (media: Uint8Array, init: Uint8Array, key: CbcsKey): Uint8Array => {
  const parameterSets = parameterSetsOf(init);
  const cipher = new CbcsCipher(key);
  const encrypted = splitFragments(media).flatMap((fragment) => {
    const plan = planEncryption(fragment, parameterSets);
    const body = fragment.slice(plan.bodyStart);
    encryptPart(plan, cipher, body, plan.bodyStart);
    return [plan.head, body];
  });
  return concat(encrypted);
};

/** Each with the boxes before it. */
const splitFragments = (media: Uint8Array): Uint8Array[] => {
  const boxes = listBoxes(media);
  if (boxes?.at(-1)?.type !== 'mdat') throw new Error('not a file of fragments');
  let start = 0;
  return boxes.flatMap(({ type, end }) => {
    if (type !== 'mdat') return [];
    const fragment = media.subarray(start, end);
    start = end;
    return [fragment];
  });
};
