/** Packets from `first` to `last`, counted without a wrap. */
export interface PacketRange {
  readonly first: number;
  readonly last: number;
}

const RANGE_BIT = 0x80000000;

/**
 * The content of a NAK packet (draft-sharabayko-srt-01, appendix A): a number for one packet, two
 * for a range, whose first one has the highest bit set.
 * @param maxWords of the content; later ranges are left out
 */
export const writeLossList = (
  ranges: readonly PacketRange[],
  wrap: (count: number) => number,
  maxWords: number,
): number[] => {
  const words: number[] = [];
  for (const { first, last } of ranges) {
    if (words.length + (first === last ? 1 : 2) > maxWords) break;
    if (first === last) words.push(wrap(first));
    else words.push(wrap(first) + RANGE_BIT, wrap(last));
  }
  return words;
};

/** Pairs of 31-bit sequence numbers. Undefined when a range has no end. */
export const readLossList = (content: Buffer): { first: number; last: number }[] | undefined => {
  const ranges: { first: number; last: number }[] = [];
  for (let at = 0; at + 4 <= content.length; at += 4) {
    const word = content.readUInt32BE(at);
    if (word < RANGE_BIT) {
      ranges.push({ first: word, last: word });
      continue;
    }
    at += 4;
    if (at + 4 > content.length) return undefined;
    ranges.push({ first: word - RANGE_BIT, last: content.readUInt32BE(at) & 0x7fffffff });
  }
  return ranges;
};
