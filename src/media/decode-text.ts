import { detect } from 'chardet';

/** Enough to tell languages apart; detection looks at every byte several times. */
const SAMPLE_BYTES = 128 * 1024;

/**
 * The text of a file in whatever encoding it has: a byte order mark decides, then what is valid UTF-8 is that, and what is
 * neither is judged by how often letters follow each other. Bytes that mean nothing become U+FFFD.
 */
export const decodeText = (bytes: Uint8Array): string => {
  const encoding = markedEncoding(bytes) ?? unmarkedWideEncoding(bytes);
  if (encoding) return decodeAs(encoding, bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return decodeAs(detect(bytes.subarray(0, SAMPLE_BYTES)) ?? 'windows-1252', bytes);
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
  const zeros = [0, 0];
  sample.forEach((byte, at) => {
    if (byte === 0) zeros[at % 2]!++;
  });
  const many = sample.length / 10;
  if (zeros[1]! > many && zeros[0]! < zeros[1]! / 4) return 'utf-16le';
  return zeros[0]! > many && zeros[1]! < zeros[0]! / 4 ? 'utf-16be' : undefined;
};

const decodeAs = (encoding: string, bytes: Uint8Array): string => {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    // Detection knows a few encodings that the decoder does not; most of the text is ASCII in all of them.
    return new TextDecoder('windows-1252').decode(bytes);
  }
};
