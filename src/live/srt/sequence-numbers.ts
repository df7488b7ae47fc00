/** Sequence numbers of data packets have 31 bits. */
const WRAP = 2 ** 31;

/**
 * The count of packets with these low 31 bits that is nearest to `near`. Everything but packets
 * uses such counts, which do not wrap. May be negative.
 */
export const unwrapSequence = (sequence: number, near: number): number => {
  const distance = (((sequence - near) % WRAP) + WRAP * 1.5) % WRAP;
  return near + distance - WRAP / 2;
};

export const wrapSequence = (count: number): number => ((count % WRAP) + WRAP) % WRAP;
