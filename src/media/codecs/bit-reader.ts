/**
 * Reads bits; all past the end are 0. In a NAL unit, emulation prevention bytes are skipped.
 */
export class BitReader {
  private byte: number;
  private bit = 0;
  private zeros = 0;

  constructor(
    private readonly bytes: Uint8Array,
    start: number,
    private readonly isNalUnit = true,
  ) {
    this.byte = start;
  }

  /**
   * Bytes read so far, including emulation prevention bytes and a last byte that was read only in
   * part.
   */
  get readBytes(): number {
    return this.bit === 0 ? this.byte : this.byte + 1;
  }

  get isPastEnd(): boolean {
    return this.readBytes > this.bytes.length;
  }

  flag(): boolean {
    return this.bits(1) === 1;
  }

  bits(count: number): number {
    let value = 0;
    for (let index = 0; index < count; index++) {
      if (this.isNalUnit && this.bit === 0 && this.zeros >= 2 && this.bytes[this.byte] === 3) {
        this.byte += 1;
        this.zeros = 0;
      }
      const current = this.bytes[this.byte] ?? 0;
      value = value * 2 + ((current >> (7 - this.bit)) & 1);
      this.bit += 1;
      if (this.bit === 8) {
        this.bit = 0;
        this.byte += 1;
        this.zeros = current === 0 ? this.zeros + 1 : 0;
      }
    }
    return value;
  }

  /** `ue(v)` */
  unsigned(): number {
    let zeros = 0;
    while (!this.flag()) {
      zeros += 1;
      if (zeros > 32 || this.isPastEnd) throw new Error('a number of a parameter set or slice header is too long');
    }
    return 2 ** zeros - 1 + this.bits(zeros);
  }

  /** `se(v)` */
  signed(): number {
    const code = this.unsigned();
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2;
  }
}
