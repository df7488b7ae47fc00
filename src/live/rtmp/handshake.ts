import { invalidParameters } from '../../lib/errors.js';

const VERSION = 3;
/** Of C1, S1, C2 and S2 (RTMP 1.0, 5.2). */
const PACKET_SIZE = 1536;
/** C0 and C1, or S0 and S1. Their bytes need not be random: nothing depends on them. */
const HELLO = Buffer.concat([Buffer.of(VERSION), Buffer.alloc(PACKET_SIZE)]);

/**
 * One side of the handshake. The echo is what the simple form demands. Clients of Flash's time that
 * send digests accept it too, because the version in S1 is 0.
 */
export class Handshake {
  private readonly hello = Buffer.alloc(1 + PACKET_SIZE);
  private receivedBytes = 0;

  /** @param send sends this side's packets, those of the client's beginning at once */
  constructor(
    private readonly side: 'server' | 'client',
    private readonly send: (bytes: Buffer) => void,
  ) {
    if (side === 'client') send(HELLO);
  }

  get isComplete(): boolean {
    return this.receivedBytes === this.hello.length + PACKET_SIZE;
  }

  /**
   * @returns what follows the handshake; empty while it is not complete
   * @throws KinoraError `invalid_parameters` if the peer does not speak RTMP
   */
  push(data: Buffer): Buffer {
    if (this.receivedBytes === 0 && data.length > 0 && data[0] !== VERSION)
      throw invalidParameters('The peer does not speak RTMP version 3.');
    const { hello } = this;
    const before = this.receivedBytes;
    const taken = Math.min(data.length, hello.length + PACKET_SIZE - before);
    this.receivedBytes += taken;
    if (before < hello.length) {
      data.copy(hello, before, 0, taken);
      if (this.receivedBytes >= hello.length) {
        const echo = hello.subarray(1);
        this.send(Buffer.concat(this.side === 'server' ? [HELLO, echo] : [echo]));
      }
    }
    // The peer's echo is not compared: Flash clients answer with a digest.
    return data.subarray(taken);
  }
}
