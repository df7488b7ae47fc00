import { analyse } from 'chardet';

/** Enough to tell languages apart; detection looks at every byte several times. */
const SAMPLE_BYTES = 128 * 1024;
/** Of all characters; more of them mean nothing only where the encoding is another one. */
const MAX_UNREADABLE = 0.005;
const FALLBACK = 'windows-1252';

/**
 * The text of a file in whatever encoding it has: a byte order mark decides, then what is valid UTF-8 is that, and what is
 * neither is judged by how often letters follow each other. Bytes that mean nothing become U+FFFD.
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

/** UTF-16 without a mark: digits, colons and line ends, of which subtitle files are full, have a zero byte at one side. */
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

/** Of what detection holds for possible, the likeliest in which the bytes mean something. */
const decodeUnmarked = (bytes: Uint8Array): string => {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const names = analyse(sample).map(({ name }) => name);
  const readable = names.find((name) => {
    const text = decodeAs(name, sample);
    return text !== undefined && (text.match(UNREADABLE)?.length ?? 0) <= text.length * MAX_UNREADABLE;
  });
  return decodeAs(readable ?? names[0] ?? FALLBACK, bytes) ?? decodeAs(FALLBACK, bytes)!;
};

/** Replaced bytes, and controls, of which no text has any but tabs and line ends. */
const UNREADABLE = /[\uFFFD\u0000-\u0008\u000e-\u001f\u0080-\u009f]/g;

/** Undefined for an encoding that detection knows and the decoder does not. */
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

/** What windows-1252 has at 80 to 9F. Node.js before 23.7 leaves control characters there. */
const PUNCTUATION = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const withPunctuation = (text: string): string => {
  let result = '';
  // In parts: replacing keeps a list of everything that it finds.
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    const part = text.slice(at, at + PART_CHARACTERS);
    result += part.replace(/[\u0080-\u009f]/g, (control) => PUNCTUATION[control.charCodeAt(0) - 0x80]!);
  }
  return result;
};
const PART_CHARACTERS = 64 * 1024;
