/**
 * Continues 32-bit milliseconds past their end after 49.7 days. One for all messages of a
 * connection: audio and video have the same clock.
 */
export class TimestampUnwrapper {
  private last: number | undefined;

  /**
   * The time with the same low 32 bits that is nearest to the one before. A clock that jumps by
   * more than half of the range does not lead before 0.
   */
  unwrap(timestamp: number): number {
    const { last } = this;
    // Bit operators count modulo 2^32.
    const nearest = last === undefined ? timestamp : last + ((timestamp - last) | 0);
    this.last = nearest < 0 ? timestamp : nearest;
    return this.last;
  }
}
