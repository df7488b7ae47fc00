import { timestamp } from './subtitles.js';

/** A packet of a text stream. */
export interface TextPacket {
  readonly startSeconds: number;
  /** 0 or less when the file does not say. */
  readonly durationSeconds: number;
  readonly bytes: Uint8Array;
  /** WebVTT cue settings. */
  readonly settings?: string;
}

/** How to read the packets of each codec whose text can become a text track. */
const readers: Readonly<Record<string, (bytes: Uint8Array) => string>> = {
  subrip: (bytes) => decode(bytes),
  webvtt: (bytes) => decode(bytes),
  text: (bytes) => decode(bytes),
  ass: (bytes) => plainAss(decode(bytes)),
  ssa: (bytes) => plainAss(decode(bytes)),
  mov_text: (bytes) => textSample(bytes),
};

/** Whether the text of streams of this codec can become a text track. */
export const isReadableText = (codec: string): boolean => Object.hasOwn(readers, codec);

/** A cue without an end is displayed until the next one, and at most this long. */
const MAX_OPEN_SECONDS = 10;

/** Of a packet, more than any cue displays. */
const MAX_PACKET_BYTES = 2 ** 16;

/** Writes the packets of a text stream as a file: WebVTT for WebVTT, SubRip otherwise. */
export class TextCollector {
  private readonly cues: { readonly start: number; readonly end: number; readonly body: string; settings: string }[] =
    [];
  private characters = 0;

  /** @param maxCharacters what exceeds it is left out */
  constructor(
    private readonly codec: string,
    private readonly maxCharacters: number,
  ) {}

  add({ startSeconds, durationSeconds, bytes, settings = '' }: TextPacket): void {
    const body = (readers[this.codec]?.(bytes.subarray(0, MAX_PACKET_BYTES)) ?? '')
      .split(/\r\n?|\n/)
      .filter((line) => line.trim() !== '')
      .join('\n');
    if (body === '' || !Number.isFinite(startSeconds) || this.characters + body.length > this.maxCharacters) return;
    this.characters += body.length;
    this.cues.push({ start: startSeconds, end: startSeconds + Math.max(durationSeconds, 0), body, settings });
  }

  /** Empty when the stream has no cues. */
  finish(): string {
    const cues = this.cues.sort((a, b) => a.start - b.start);
    const isWebVtt = this.codec === 'webvtt';
    const written = cues.flatMap(({ start, end, body, settings }, at) => {
      const next = cues[at + 1]?.start ?? Number.POSITIVE_INFINITY;
      const until = end > start ? end : Math.min(next, start + MAX_OPEN_SECONDS);
      if (until <= 0) return [];
      const times = `${timestamp(Math.max(start, 0))} --> ${timestamp(until)}`;
      return isWebVtt ? `${`${times} ${settings}`.trim()}\n${body}\n\n` : `${at + 1}\n${times}\n${body}\n\n`;
    });
    return written.length === 0 ? '' : `${isWebVtt ? 'WEBVTT\n\n' : ''}${written.join('')}`;
  }
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/**
 * The text of an event, which follows eight fields in Matroska and in FFmpeg. Styles, positions and
 * comments are dropped, and so are drawings, which consist of coordinates. Without expressions that
 * search for closing braces: their time would grow with the square of the length.
 */
const plainAss = (event: string): string => {
  let isDrawing = false;
  const pieces = event.split(',').slice(8).join(',').split('}');
  const text = pieces.map((piece, at) => {
    const isClosed = at < pieces.length - 1;
    const open = isClosed ? piece.indexOf('{') : -1;
    const visible = isDrawing ? '' : open >= 0 ? piece.slice(0, open) : `${piece}${isClosed ? '}' : ''}`;
    const mode = open >= 0 ? [...piece.slice(open).matchAll(/\\p(\d)/g)].at(-1)?.[1] : undefined;
    if (mode !== undefined) isDrawing = mode !== '0';
    return visible;
  });
  return text
    .join('')
    .replace(/\\n|\\N/g, '\n')
    .replaceAll('\\h', ' ');
};

/** A sample of 3GPP timed text: the length of the text, the text, and boxes with styles. */
const textSample = (bytes: Uint8Array): string => {
  if (bytes.length < 2) return '';
  const text = bytes.subarray(2, 2 + ((bytes[0]! << 8) | bytes[1]!));
  const isUtf16 = text[0] === 0xfe && text[1] === 0xff;
  return isUtf16 ? new TextDecoder('utf-16be').decode(text) : decode(text);
};
