import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { UploadWriter, UploadWriters } from '../../domain/uploads/upload-writer.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { readUploadRange, type UploadRange } from './content-range.js';

interface Received {
  /** Everything was received: the response is 200. */
  readonly isComplete: boolean;
  readonly receivedBytes: number;
}

/** A connection without data for this long is closed; the received bytes are kept. */
const IDLE_LIMIT_MS = 60_000;

/**
 * Receives the content of a request. When it returns, the bytes are stored, and the asset exists if they were the
 * last.
 * @throws KinoraError as `UploadWriters.open` and `UploadWriter`; `range_not_satisfiable` for a chunk after a gap
 */
export const receiveUpload = async (
  writers: UploadWriters,
  uploadId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Received> => {
  const bodyBytes = bodyLength(request);
  const range = readUploadRange(request.headers['content-range'], bodyBytes);
  if (range.kind === 'file' && bodyBytes === 0) throw invalid('The file is empty.');
  const writer = await writers.open(uploadId);
  try {
    const body: Body = async (startBytes, endBytes) => {
      const range = { offsetBytes: startBytes, ...(endBytes !== undefined && { endBytes }) };
      await receiveBody(request, reply, (sent) => writer.write(sent, range));
    };
    const isComplete = await take(writer, range, bodyBytes, body, reply);
    return { isComplete, receivedBytes: writer.receivedBytes };
  } finally {
    // Before the response, because that promises that the bytes are stored.
    await writer.close();
  }
};

/** Requests the body if the sender waits for this, and limits the wait for its next byte. */
export const receiveBody = async <T>(
  { headers, raw }: FastifyRequest,
  reply: FastifyReply,
  receive: (body: Readable) => Promise<T>,
): Promise<T> => {
  if (headers.expect !== undefined) reply.raw.writeContinue();
  raw.socket.setTimeout(IDLE_LIMIT_MS);
  try {
    return await receive(raw);
  } finally {
    raw.socket.setTimeout(0);
  }
};

/** Stores the body of the request, which starts at `startBytes` of the file. */
type Body = (startBytes: number, endBytes?: number) => Promise<void>;

/** Returns whether the file is complete as far as this request can tell. */
const take = async (
  writer: UploadWriter,
  range: UploadRange,
  bodyBytes: number | undefined,
  body: Body,
  reply: FastifyReply,
): Promise<boolean> => {
  if (range.kind === 'file') return takeFile(writer, bodyBytes, body);
  if (range.totalBytes !== undefined) await writer.setTotal(range.totalBytes);
  if (range.kind === 'status') return finishIfComplete(writer);
  const { startBytes, endBytes } = range;
  if (endBytes > (writer.totalBytes ?? endBytes)) throw invalid('Content-Range goes past the size of the file.');
  if (startBytes > writer.receivedBytes) {
    if (writer.receivedBytes > 0) reply.header('range', `bytes=0-${writer.receivedBytes - 1}`);
    throw new KinoraError('range_not_satisfiable', {
      messages: ['The bytes before this chunk have not been received.'],
    });
  }
  if (endBytes > writer.receivedBytes) {
    await body(startBytes, endBytes);
    if (writer.receivedBytes < endBytes) throw invalid('The body is shorter than Content-Range.');
  }
  return endBytes === writer.totalBytes ? finishIfComplete(writer) : false;
};

const finishIfComplete = async (writer: UploadWriter): Promise<boolean> => {
  if (writer.receivedBytes !== writer.totalBytes) return false;
  await writer.finish();
  return true;
};

/** A body without a range is the whole file. */
const takeFile = async (writer: UploadWriter, bodyBytes: number | undefined, body: Body): Promise<boolean> => {
  if (writer.isComplete) {
    // Probably the same file again.
    if (bodyBytes !== undefined) await writer.setTotal(bodyBytes);
    return true;
  }
  await writer.restart(bodyBytes);
  try {
    await body(0, bodyBytes);
  } catch (error) {
    // The part that was stored belongs to a file that is refused.
    if (isKinoraError(error, 'payload_too_large')) await writer.restart();
    throw error;
  }
  await writer.finish();
  return true;
};

/** Undefined for chunked encoding. */
const bodyLength = ({ headers }: FastifyRequest): number | undefined => {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
};

const invalid = (message: string): KinoraError => new KinoraError('invalid_parameters', { messages: [message] });
