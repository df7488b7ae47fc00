/** Bytes [start, end], both inclusive as in the header. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const SINGLE_RANGE = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i;

/**
 * The part of a file that a `Range` header requests (RFC 9110, 14.1.2). Undefined means the whole
 * file, including the cases that a server may ignore (another unit, several ranges, bad syntax).
 */
export const parseByteRange = (
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined => {
  const match = header === undefined ? null : SINGLE_RANGE.exec(header);
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return undefined;
    const suffix = Number(last);
    if (suffix === 0) return 'unsatisfiable';
    return { start: Math.max(0, sizeBytes - suffix), end: sizeBytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start < sizeBytes ? { start, end } : 'unsatisfiable';
};

/** True when an `If-None-Match` list names the validator; a weak comparison (RFC 9110, 13.1.2). */
export const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === etag));
