/** Reading EBML (RFC 8794), the syntax of Matroska and WebM. */

/** An element; positions count from the start of the file, or of the bytes that were read. */
export interface EbmlElement {
  readonly id: number;
  readonly start: number;
  readonly content: number;
  /** Infinity when the size is unknown, as in live recordings. */
  readonly end: number;
}

/** The longest header: an ID of four bytes and a size of eight. */
export const MAX_HEADER_BYTES = 12;

/** The element whose header is at `offset` of `bytes`; `base` is added to its positions. */
export const readElement = (bytes: Uint8Array, offset: number, base = 0): EbmlElement | undefined => {
  const idBytes = Math.clz32(bytes[offset] ?? 0) - 23;
  const sizeAt = offset + idBytes;
  const sizeBytes = Math.clz32(bytes[sizeAt] ?? 0) - 23;
  if (idBytes > 4 || sizeBytes > 8 || sizeAt + sizeBytes > bytes.length) return undefined;
  const id = readNumber(bytes, offset, sizeAt);
  // The first set bit tells the length. It is removed first, because a number has only 53 bits.
  const highest = bytes[sizeAt]! - 2 ** (8 - sizeBytes);
  const size = highest * 256 ** (sizeBytes - 1) + readNumber(bytes, sizeAt + 1, sizeAt + sizeBytes);
  const content = base + sizeAt + sizeBytes;
  const end = size >= 2 ** (7 * sizeBytes) - 1 ? Number.POSITIVE_INFINITY : content + size;
  return { id, start: base + offset, content, end };
};

/** More than the cues of a long file; a file may have millions of empty elements instead. */
const MAX_CHILDREN = 2 ** 18;

/**
 * The children of an element, of which all content is in `bytes`. Undefined when one ends after its
 * parent, or there are too many.
 */
export const listElements = (bytes: Uint8Array, start: number, end: number): EbmlElement[] | undefined => {
  const elements: EbmlElement[] = [];
  for (let offset = start; offset < end; ) {
    const element = readElement(bytes, offset);
    if (!element || element.end > end || elements.length === MAX_CHILDREN) return undefined;
    elements.push(element);
    offset = element.end;
  }
  return elements;
};

/** The value of an unsigned integer element. */
export const readUnsigned = (bytes: Uint8Array, { content, end }: EbmlElement): number =>
  readNumber(bytes, content, Math.min(end, content + 8));

const readNumber = (bytes: Uint8Array, start: number, end: number): number => {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 256 + bytes[at]!;
  return value;
};
