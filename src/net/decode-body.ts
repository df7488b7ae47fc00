import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import type { GuardedResponse } from './guarded-get.js';
import { unreachable } from './unreachable.js';

/** More than files shrink that are no decompression bombs. */
const MAX_RATIO = 100;
/** Smaller files, such as subtitles, may shrink more. */
const MAX_FREE_BYTES = 16 * 2 ** 20;

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The content coding of a response; undefined when there is none, as requests ask. */
export const codingOf = (response: GuardedResponse): string | undefined => {
  const coding = response.header('content-encoding')?.trim().toLowerCase();
  return coding === '' || coding === 'identity' ? undefined : coding;
};

const rejected = (reason: string): KinoraError =>
  new KinoraError('invalid_input', { messages: [`The input file could not be downloaded: ${reason}.`] });

/**
 * The file in the body of a response, decoded if the server has compressed it.
 * @throws KinoraError `invalid_input` for another coding, damaged data and a decompression bomb; as
 * `response.body`
 */
export const decodeBody = (response: GuardedResponse): AsyncIterable<Uint8Array> => {
  const coding = codingOf(response);
  if (coding === undefined) return response.body;
  const decoder = Object.hasOwn(decoders, coding) ? decoders[coding as keyof typeof decoders]() : undefined;
  if (!decoder) throw rejected('the server compressed it in a way that is not supported (Content-Encoding)');
  return decode(response.body, decoder);
};

async function* decode(
  body: AsyncIterable<Uint8Array>,
  decoder: ReturnType<typeof createGunzip>,
): AsyncGenerator<Uint8Array> {
  let decodedBytes = 0;
  // Failures reach the reader of the decoder.
  pipeline(Readable.from(body, { objectMode: false }), decoder, () => undefined);
  try {
    for await (const chunk of decoder as AsyncIterable<Uint8Array>) {
      decodedBytes += chunk.byteLength;
      if (decodedBytes > MAX_FREE_BYTES && decodedBytes > MAX_RATIO * decoder.bytesWritten)
        throw rejected('its compressed data expands too much');
      yield chunk;
    }
  } catch (error) {
    if (isKinoraError(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    // The data ends early, as after a lost connection.
    if (code === 'Z_BUF_ERROR') throw unreachable(error);
    throw rejected('its compressed data is damaged');
  }
}
