import { isAbsolute, join, resolve, sep } from 'node:path';
import { KinoraError } from '../../lib/errors.js';

/**
 * No segment may begin with a dot: neither `..` nor a hidden name such as the store's own
 * `.partial`.
 */
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/**
 * The file of a key below `root`. Keys are made by this program, so an invalid one is a defect.
 * @throws KinoraError `internal_error` when the key could name anything outside of `root`
 */
export const safePath = (root: string, key: string): string => {
  const base = resolve(root);
  const path = join(base, key);
  if (isAbsolute(key) || !key.split('/').every((segment) => SEGMENT.test(segment)) || !path.startsWith(base + sep)) {
    throw new KinoraError('internal_error', { details: { stage: 'storage path', key } });
  }
  return path;
};
