import type { Clock } from '../../lib/clock.js';
import { isNoSpace } from '../../lib/no-space.js';
import type { BlobInfo, LocalWrite } from '../../storage/blob-store.js';

/** More is not kept in memory for a disk that is too slow. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;
/**
 * Longer than a busy machine needs: one turn of the event loop takes seconds when encoders send
 * faster than it can read.
 */
const MAX_WAITING_MS = 60_000;
/** The most that a power failure loses. */
const SYNC_EVERY_MS = 1000;

/** Why nothing more can be recorded. `unreasonable` is the encoder's fault. */
export type RecordingFailure = 'overload' | 'disk_full' | 'too_large' | 'error' | 'unreasonable';

interface Waiting {
  readonly chunks: readonly Uint8Array[];
  readonly sizeBytes: number;
  readonly sinceMs: number;
}

export interface RecordingWriterOptions {
  readonly clock: Clock;
  /** Opens the file again, after a commit that has failed. */
  readonly reopen: () => Promise<LocalWrite>;
  readonly onFailure: (failure: RecordingFailure, error?: unknown) => void;
}

/** Appends to the file of a recording without making the caller wait. */
export class RecordingWriter {
  #write: LocalWrite;
  readonly #clock: Clock;
  readonly #reopen: () => Promise<LocalWrite>;
  readonly #onFailure: (failure: RecordingFailure, error?: unknown) => void;
  #isClosed = false;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Where the next chunk goes. */
  #endBytes: number;
  #writtenBytes: number;
  #syncedAtMs: number;
  #running: Promise<void> | undefined;
  #hasFailed = false;

  constructor(write: LocalWrite, { clock, reopen, onFailure }: RecordingWriterOptions) {
    this.#write = write;
    this.#clock = clock;
    this.#reopen = reopen;
    this.#onFailure = onFailure;
    this.#endBytes = write.offsetBytes;
    this.#writtenBytes = write.offsetBytes;
    this.#syncedAtMs = clock.monotonicMs();
  }

  get endBytes(): number {
    return this.#endBytes;
  }

  /** Bytes that the operating system has, which can be read. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Returns the position of the first byte. Nothing is taken after a failure. */
  append(chunks: readonly Uint8Array[]): number {
    const position = this.#endBytes;
    if (this.#hasFailed) return position;
    const sizeBytes = chunks.reduce((sum, { length }) => sum + length, 0);
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#waiting[0]?.sinceMs ?? nowMs;
    if (this.#waitingBytes + sizeBytes > MAX_WAITING_BYTES || nowMs - sinceMs > MAX_WAITING_MS) {
      this.#fail('overload');
      return position;
    }
    this.#waiting.push({ chunks, sizeBytes, sinceMs: nowMs });
    this.#waitingBytes += sizeBytes;
    this.#endBytes += sizeBytes;
    this.#start();
    return position;
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return this.#write.read(offset, length);
  }

  /** Makes the records that are written durable. Returns where the last one ends. */
  async sync(): Promise<number> {
    const end = this.#writtenBytes;
    await this.#write.sync();
    return end;
  }

  /** Writes everything that waits, also what an earlier try could not. @throws what prevents it */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
    await this.#writeWaiting();
  }

  /**
   * Appends `tail`, replaces bytes and makes the file a blob. Everything must be written. It can be
   * called again after an error.
   */
  async commit(tail: Uint8Array, patch: { readonly offset: number; readonly bytes: Uint8Array }): Promise<BlobInfo> {
    if (this.#isClosed) await this.#openAgain();
    // An earlier try may have failed after its tail.
    if (this.#write.offsetBytes > this.#writtenBytes) await this.#write.truncate(this.#writtenBytes);
    await this.#write.write(tail);
    await this.#write.patch(patch.offset, patch.bytes);
    try {
      return await this.#write.commit();
    } catch (error) {
      this.#isClosed = true;
      // Viewers read on meanwhile.
      await this.#openAgain();
      throw error;
    }
  }

  async #openAgain(): Promise<void> {
    this.#write = await this.#reopen();
    this.#isClosed = false;
  }

  /** Keeps the file for a later process. */
  suspend(): Promise<void> {
    return this.#write.suspend();
  }

  async discard(): Promise<void> {
    this.#hasFailed = true;
    this.#waiting = [];
    while (this.#running) await this.#running;
    await this.#write.discard();
  }

  #start(): void {
    this.#running ??= this.#writeWaiting()
      .catch((error: unknown) => this.#fail(isNoSpace(error) ? 'disk_full' : 'error', error))
      .finally(() => {
        this.#running = undefined;
        if (this.#waiting.length > 0 && !this.#hasFailed) this.#start();
      });
  }

  /** All at once: on a busy machine each flush takes long, however little it writes. */
  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      // A part that was written in part is written again from its start.
      const expected = this.#writtenBytes;
      if (this.#write.offsetBytes > expected) await this.#write.truncate(expected);
      const batch = [...this.#waiting];
      for (const chunk of batch.flatMap(({ chunks }) => chunks)) await this.#write.write(chunk);
      await this.#write.flush();
      this.#waiting.splice(0, batch.length);
      const sizeBytes = batch.reduce((sum, each) => sum + each.sizeBytes, 0);
      this.#waitingBytes -= sizeBytes;
      this.#writtenBytes += sizeBytes;
      await this.#syncSometimes();
    }
  }

  async #syncSometimes(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#syncedAtMs < SYNC_EVERY_MS) return;
    this.#syncedAtMs = nowMs;
    await this.#write.sync();
  }

  #fail(failure: RecordingFailure, error?: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#onFailure(failure, error);
  }
}
