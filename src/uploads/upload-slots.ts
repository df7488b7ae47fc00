import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';

/** A session that gets no bytes for this long is replaced by the next one. */
export const SILENT_MS = 3000;

/** An upload's only slot for a session in this process. */
export class UploadSlot {
  /** Resolves when the session has left. */
  readonly left: Promise<void>;
  /** The session takes only a moment more: the next one waits for it. */
  isEnding = false;
  private readonly controller = new AbortController();
  private lastByteMs: number;
  private resolveLeft!: () => void;

  constructor(
    private readonly clock: Clock,
    private readonly onLeave: () => void,
  ) {
    this.lastByteMs = clock.monotonicMs();
    this.left = new Promise((resolve) => {
      this.resolveLeft = resolve;
    });
  }

  /** Aborted with the reason when the session has to end. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isSilent(): boolean {
    return this.clock.monotonicMs() - this.lastByteMs > SILENT_MS;
  }

  /** Bytes have arrived. */
  touch(): void {
    this.lastByteMs = this.clock.monotonicMs();
  }

  abort(reason: unknown): void {
    this.controller.abort(reason);
  }

  /** Aborts the session for the same reason as `other`. */
  follow(other: AbortSignal): void {
    const abort = (): void => this.abort(other.reason);
    if (other.aborted) abort();
    else other.addEventListener('abort', abort);
  }

  leave(): void {
    this.onLeave();
    this.resolveLeft();
  }
}

/** Allows one session per upload in this process. */
export class UploadSlots {
  private readonly slots = new Map<string, UploadSlot>();

  constructor(private readonly clock: Clock) {}

  find(uploadId: string): UploadSlot | undefined {
    return this.slots.get(uploadId);
  }

  /**
   * Waits for a session that is ending, and ends a silent one. `leave` must always follow.
   * @throws KinoraError `upload_busy` while another one receives bytes
   */
  async take(uploadId: string): Promise<UploadSlot> {
    const other = this.slots.get(uploadId);
    if (other) {
      if (other.isSilent) other.abort(new KinoraError('upload_busy'));
      else if (!other.isEnding) throw new KinoraError('upload_busy');
      await other.left;
      // Another request may have waited as well.
      return this.take(uploadId);
    }
    const slot = new UploadSlot(this.clock, () => this.slots.delete(uploadId));
    this.slots.set(uploadId, slot);
    return slot;
  }
}
