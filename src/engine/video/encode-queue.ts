import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import { check, isDrained, newPacket } from '../ffmpeg/av.js';

/** Enough for what decoding and encoding vary from frame to frame. */
const MAX_WAITING = 8;
const MAX_WAITING_BYTES = 32 * 2 ** 20;
/** Bytes per pixel of yuv420p. */
const PIXEL_BYTES = 1.5;

/**
 * Passes frames to an encoder on a thread of libuv's pool, one at a time and in order, so that the
 * next frames are decoded and filtered meanwhile. It owns the encoder and the waiting frames: a
 * thread may use them until `close` resolves.
 */
export class EncodeQueue {
  private readonly packet: Packet = newPacket();
  private readonly waiting: Frame[] = [];
  private readonly maxWaiting: number;
  /** Resolves when nothing is left to do; never rejects. */
  private work: Promise<void> | undefined;
  private failure: unknown;
  private isEnding = false;
  private isClosed = false;
  private wake: (() => void) | undefined;

  /** @param onPacket gets each packet, which is valid during the call only */
  constructor(
    private readonly context: CodecContext,
    private readonly onPacket: (packet: Packet) => void,
  ) {
    const frameBytes = context.width * context.height * PIXEL_BYTES;
    this.maxWaiting = Math.min(Math.max(Math.floor(MAX_WAITING_BYTES / frameBytes), 2), MAX_WAITING);
  }

  /** Takes over the frame. Callers await `ready` between frames. */
  push(frame: Frame): void {
    if (this.isClosed || this.failure !== undefined) {
      frame.free();
      return;
    }
    this.waiting.push(frame);
    this.work ??= this.encode();
  }

  /**
   * Resolves when there is room for another frame.
   * @throws KinoraError `media_failed` when the encoder has failed
   */
  async ready(): Promise<void> {
    // The encoder gets its next frame only in a turn of the event loop.
    if (this.work) await nextTurn();
    while (this.waiting.length >= this.maxWaiting) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    if (this.failure !== undefined) throw this.failure;
  }

  /**
   * Encodes all frames and ends the stream.
   * @throws KinoraError `media_failed`
   */
  async finish(): Promise<void> {
    this.isEnding = true;
    if (this.failure === undefined) this.work ??= this.encode();
    await this.work;
    if (this.failure !== undefined) throw this.failure;
  }

  /** Drops the waiting frames and frees the encoder as soon as no thread uses it. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.dropWaiting();
    await this.work;
    this.context.freeContext();
    this.packet.free();
  }

  private async encode(): Promise<void> {
    try {
      for (let frame = this.waiting.shift(); frame; frame = this.waiting.shift()) await this.send(frame);
      if (this.isEnding && !this.isClosed) await this.flush();
    } catch (error) {
      this.failure ??= error;
      this.dropWaiting();
    } finally {
      this.work = undefined;
      this.wake?.();
    }
  }

  private async send(frame: Frame): Promise<void> {
    try {
      check(await this.context.sendFrame(frame), 'encode frame');
    } finally {
      frame.free();
    }
    this.wake?.();
    if (this.isClosed) return;
    // What is ready: this encodes nothing.
    for (;;) if (!this.take(this.context.receivePacketSync(this.packet))) return;
  }

  private async flush(): Promise<void> {
    check(await this.context.sendFrame(null), 'encode frame');
    while (!this.isClosed && this.take(await this.context.receivePacket(this.packet)));
  }

  /** Passes a packet on; false when there is none. */
  private take(code: number): boolean {
    if (isDrained(code)) return false;
    check(code, 'encode frame');
    this.onPacket(this.packet);
    this.packet.unref();
    return true;
  }

  private dropWaiting(): void {
    for (const frame of this.waiting.splice(0)) frame.free();
  }
}
