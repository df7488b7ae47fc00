/** A message for simulcast targets, as it waits to be sent. */
export interface Message {
  readonly kind: HeaderKind | 'video' | 'audio';
  /** Of key frames. */
  readonly isKey: boolean;
  /** Milliseconds, modulo 2^32; of headers not used. */
  readonly timestamp: number;
  /** Of an FLV tag. */
  readonly body: Uint8Array;
  /** Monotonic time of arrival. */
  readonly atMs: number;
}

type HeaderKind = 'metadata' | 'video-config' | 'audio-config';

/** Without them, the frames that follow can't be decoded. In the order in which they are sent. */
const HEADERS: readonly HeaderKind[] = ['metadata', 'video-config', 'audio-config'];

const MAX_MS = 4000;
const MAX_BYTES = 8 * 2 ** 20;
/** What a message takes beside its body. */
const MESSAGE_BYTES = 200;

/**
 * What one target has not received yet, at most 4 s or 8 MiB. When there is more, everything up to
 * the next key frame is dropped. Video begins with a key frame, and everything with its headers.
 */
export class SendQueue {
  #messages: Message[] = [];
  #bytes = 0;
  /** Those that apply before the first message, and which of them the target lacks. */
  #headers = new Map<HeaderKind, Message>();
  #due = new Set<HeaderKind>();
  #hasVideo = false;
  /** Video that is no key frame is dropped. */
  #needsKey = true;
  /** So is audio, if there is video. */
  #isCut = false;

  /** What waits, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Another queue with the same content. */
  copy(): SendQueue {
    const copy = new SendQueue();
    copy.#messages = [...this.#messages];
    copy.#bytes = this.#bytes;
    copy.#headers = new Map(this.#headers);
    copy.#due = new Set(this.#due);
    copy.#hasVideo = this.#hasVideo;
    copy.#needsKey = this.#needsKey;
    copy.#isCut = this.#isCut;
    return copy;
  }

  /** False when the queue was full, so that messages were dropped. */
  push(message: Message): boolean {
    const { kind, isKey } = message;
    if (kind === 'video-config') this.#hasVideo = true;
    if (kind === 'video' && isKey) {
      this.#needsKey = false;
      this.#isCut = false;
    }
    if (kind === 'video' && this.#needsKey) return true;
    if (kind === 'audio' && this.#isCut) {
      if (this.#hasVideo) return true;
      this.#isCut = false;
    }
    this.#messages.push(message);
    this.#bytes += sizeOf(message);
    let isComplete = true;
    for (; this.#isFull; isComplete = false) this.#dropUntilKey();
    return isComplete;
  }

  /** The next frame, behind the headers that it needs; undefined when nothing waits. */
  next(): readonly Message[] | undefined {
    for (let message = this.#messages.shift(); message; message = this.#messages.shift()) {
      this.#bytes -= sizeOf(message);
      if (!this.#keepHeader(message)) return [...this.#takeDue(message.timestamp), message];
    }
    return undefined;
  }

  /** For another connection: it begins with a key frame, and with all headers. */
  restart(): void {
    const hasKey = this.#messages[0]?.kind === 'video' && this.#messages[0].isKey;
    if (this.#hasVideo && !hasKey) this.#dropUntilKey();
    for (const kind of this.#headers.keys()) this.#due.add(kind);
  }

  get #isFull(): boolean {
    const [first] = this.#messages;
    return first !== undefined && (this.#bytes > MAX_BYTES || this.#messages.at(-1)!.atMs - first.atMs > MAX_MS);
  }

  #dropUntilKey(): void {
    const next = this.#messages.findIndex(({ kind, isKey }, at) => at > 0 && kind === 'video' && isKey);
    for (const message of this.#messages.splice(0, next === -1 ? this.#messages.length : next)) {
      this.#bytes -= sizeOf(message);
      this.#keepHeader(message);
    }
    if (next !== -1) return;
    this.#needsKey = true;
    this.#isCut = true;
  }

  #keepHeader(message: Message): boolean {
    const { kind } = message;
    if (kind === 'video' || kind === 'audio') return false;
    this.#headers.set(kind, message);
    this.#due.add(kind);
    return true;
  }

  #takeDue(timestamp: number): Message[] {
    if (this.#due.size === 0) return [];
    const due = HEADERS.filter((kind) => this.#due.has(kind));
    this.#due.clear();
    return due.map((kind) => ({ ...this.#headers.get(kind)!, timestamp }));
  }
}

const sizeOf = ({ body }: Message): number => body.length + MESSAGE_BYTES;
