import { KinoraError } from '../../lib/errors.js';

/** The content of a request to an upload URL. */
export type UploadRange =
  /** The whole file. */
  | { readonly kind: 'file' }
  /** No bytes: the client asks how much was received. */
  | { readonly kind: 'status'; readonly totalBytes: number | undefined }
  /** `endBytes` is exclusive. */
  | {
      readonly kind: 'chunk';
      readonly startBytes: number;
      readonly endBytes: number;
      readonly totalBytes: number | undefined;
    };

// Integers of up to 15 digits are exact, and larger than any file.
const CHUNK = /^bytes\s+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i;
const STATUS = /^bytes\s+\*\/(\d{1,15}|\*)$/i;

const totalOf = (text: string): number | undefined => (text === '*' ? undefined : Number(text));

/**
 * Parses the `Content-Range` of a request (RFC 9110, 14.4).
 * @param bodyBytes length of the body; undefined for chunked encoding
 * @throws KinoraError `invalid_parameters`
 */
export const readUploadRange = (header: string | undefined, bodyBytes: number | undefined): UploadRange => {
  if (header === undefined) return { kind: 'file' };
  const status = STATUS.exec(header.trim());
  if (status) {
    if (bodyBytes) throw invalid('A request for the status has no body.');
    return { kind: 'status', totalBytes: totalOf(status[1]!) };
  }
  const chunk = CHUNK.exec(header.trim());
  if (!chunk) throw invalid('Content-Range must be bytes <first>-<last>/<size>.');
  const startBytes = Number(chunk[1]);
  const endBytes = Number(chunk[2]) + 1;
  const totalBytes = totalOf(chunk[3]!);
  if (endBytes <= startBytes) throw invalid('Content-Range ends before it starts.');
  if (totalBytes !== undefined && endBytes > totalBytes) throw invalid('Content-Range goes past the size of the file.');
  if (bodyBytes !== undefined && bodyBytes !== endBytes - startBytes)
    throw invalid('Content-Length is not the length of Content-Range.');
  return { kind: 'chunk', startBytes, endBytes, totalBytes };
};

const invalid = (message: string): KinoraError => new KinoraError('invalid_parameters', { messages: [message] });
