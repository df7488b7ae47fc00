import { analyse } from 'chardet';

/**
 * Enough to distinguish languages. Detection reads every byte several times, so the sample is
 * limited.
 */
const SAMPLE_BYTES = 128 * 1024;
/**
 * Largest accepted share of unreadable characters. A larger share means that the encoding is wrong.
 */
const MAX_UNREADABLE = 0.005;
const FALLBACK = 'windows-1252';

/**
 * Decodes a file in any encoding. A byte order mark decides; without one, valid UTF-8 is decoded as
 * UTF-8, and for other text the encoding is detected by letter statistics. Invalid bytes become
 * U+FFFD.
 */
export const decodeText = (bytes: Uint8Array): string => {
  const encoding = markedEncoding(bytes) ?? unmarkedWideEncoding(bytes);
  if (encoding) return new TextDecoder(encoding).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return decodeUnmarked(bytes);
  }
};

const markedEncoding = ([first, second, third]: Uint8Array): string | undefined => {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
};

/**
 * UTF-16 without a mark. Subtitle files contain many digits, colons and line ends, which have one
 * zero byte in UTF-16.
 */
const unmarkedWideEncoding = (bytes: Uint8Array): string | undefined => {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const zeros: [number, number] = [0, 0];
  sample.forEach((byte, at) => {
    if (byte === 0) zeros[at % 2 === 0 ? 0 : 1]++;
  });
  const [even, odd] = zeros;
  const many = sample.length / 10;
  if (odd > many && even < odd / 4) return 'utf-16le';
  return even > many && odd < even / 4 ? 'utf-16be' : undefined;
};

/** Uses the most likely detected encoding in which the bytes are readable. */
const decodeUnmarked = (bytes: Uint8Array): string => {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const names = analyse(sample).map(({ name }) => name);
  const readable = names.find((name) => {
    const text = decodeAs(name, sample);
    return text !== undefined && (text.match(UNREADABLE)?.length ?? 0) <= text.length * MAX_UNREADABLE;
  });
  return decodeAs(readable ?? names[0] ?? FALLBACK, bytes) ?? decodeAs(FALLBACK, bytes)!;
};

/** Replaced bytes and control characters. Text contains no controls except tabs and line ends. */
const UNREADABLE = /[\uFFFD\u0000-\u0008\u000e-\u001f\u0080-\u009f]/g;

/** Undefined for encodings that detection supports but the decoder does not. */
const decodeAs = (name: string, bytes: Uint8Array): string | undefined => {
  try {
    const decoder = new TextDecoder(name);
    const text = decoder.decode(bytes);
    return decoder.encoding === 'windows-1252' ? withPunctuation(text) : text;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

/**
 * The characters 80 to 9F of windows-1252. Node.js before 23.7 decodes them as control characters.
 */
const PUNCTUATION = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const withPunctuation = (text: string): string => {
  let result = '';
  // Works in parts, because `replace` keeps a list of all matches.
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    const part = text.slice(at, at + PART_CHARACTERS);
    result += part.replace(/[\u0080-\u009f]/g, (control) => PUNCTUATION[control.charCodeAt(0) - 0x80]!);
  }
  return result;
};
const PART_CHARACTERS = 64 * 1024;
