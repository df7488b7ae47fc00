import type { Cue } from '../text/subtitles.js';
import { CaptionChannel } from './caption-channel.js';
import type { CaptionPair } from './caption-data.js';

/** As the API names them: two channels in each of the two fields. */
export type CaptionChannelName = 'cc1' | 'cc2' | 'cc3' | 'cc4';

/** Captions inside a video, as the owner describes them. */
export interface ClosedCaptions {
  readonly name: string;
  readonly languageCode: string;
  readonly channel: CaptionChannelName;
}

const NAMES = { 1: ['cc1', 'cc2'], 2: ['cc3', 'cc4'] } as const;
/** Receivers erase captions when nothing has come for so long (CEA-608-E, C.9). */
const SILENCE_SECONDS = 16;
/** H.264 and HEVC keep at most 16 frames for reordering. */
const MAX_REORDERED = 32;

/** Decodes captions of frames in decoding order into cues. */
export class CaptionDecoder {
  private readonly channels: ReadonlyMap<CaptionChannelName, CaptionChannel>;
  private readonly fields: Readonly<Record<1 | 2, CaptionField>>;
  /** Sorted by time. */
  private readonly waiting: { readonly seconds: number; readonly pairs: readonly CaptionPair[] }[] = [];
  private lastSeconds = 0;

  /**
   * @param names the channels that are decoded
   * @param maxCharacters of each channel; what exceeds it is left out
   */
  constructor(names: readonly CaptionChannelName[], maxCharacters: number) {
    this.channels = new Map(names.map((name) => [name, new CaptionChannel(maxCharacters)]));
    const fieldOf = (field: 1 | 2) => new CaptionField(NAMES[field].map((name) => this.channels.get(name)));
    this.fields = { 1: fieldOf(1), 2: fieldOf(2) };
  }

  /** Takes what a frame carries that is shown at `seconds`. */
  take(seconds: number, pairs: readonly CaptionPair[]): void {
    if (pairs.length === 0 || !Number.isFinite(seconds)) return;
    let at = this.waiting.length;
    while (at > 0 && this.waiting[at - 1]!.seconds > seconds) at -= 1;
    this.waiting.splice(at, 0, { seconds, pairs });
    if (this.waiting.length > MAX_REORDERED) this.decode();
  }

  /** The cues of each channel in the order of their names; what is still shown ends. */
  finish(endSeconds: number): Cue[][] {
    while (this.waiting.length > 0) this.decode();
    const end = Math.max(endSeconds, this.lastSeconds);
    return [...this.channels.values()].map((channel) => {
      channel.erase(Math.min(end, this.lastSeconds + SILENCE_SECONDS));
      return channel.cues;
    });
  }

  private decode(): void {
    const { seconds, pairs } = this.waiting.shift()!;
    // Times of a damaged stream may go back.
    const now = Math.max(seconds, this.lastSeconds);
    if (now - this.lastSeconds > SILENCE_SECONDS)
      for (const channel of this.channels.values()) channel.erase(this.lastSeconds + SILENCE_SECONDS);
    this.lastSeconds = now;
    for (const pair of pairs) this.fields[pair.field].take(pair, now);
  }
}

/** One field of line 21: which of its channels the bytes are for. */
class CaptionField {
  private current: CaptionChannel | undefined;
  /** A control code is sent twice; the second one does not count. */
  private last: number | undefined;

  constructor(private readonly channels: readonly (CaptionChannel | undefined)[]) {}

  take({ first, second }: CaptionPair, seconds: number): void {
    if (!hasOddParity(first) || !hasOddParity(second)) return;
    const [a, b] = [first & 0x7f, second & 0x7f];
    if (a === 0 && b === 0) return;
    // Data about the program (XDS), until the next code of a caption.
    if (a > 0 && a < 0x10) this.current = undefined;
    else if (a >= 0x10 && a < 0x20) {
      const isRepeated = this.last === (a << 8) + b;
      this.last = isRepeated ? undefined : (a << 8) + b;
      if (isRepeated) return;
      this.current = this.channels[a < 0x18 ? 0 : 1];
      this.current?.control(a & 0x17, b, seconds);
    } else {
      this.last = undefined;
      for (const byte of [a, b]) if (byte >= 0x20) this.current?.character(byte, seconds);
    }
  }
}

const hasOddParity = (byte: number): boolean => {
  let bits = 0;
  for (let rest = byte; rest > 0; rest >>= 1) bits += rest & 1;
  return bits % 2 === 1;
};
