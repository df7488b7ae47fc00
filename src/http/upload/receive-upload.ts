import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { BodyRange, UploadSession } from '../../uploads/upload-session.js';
import type { UploadSessions } from '../../uploads/upload-sessions.js';
import { readUploadRange, type UploadRange } from './content-range.js';

interface Received {
  /** Everything was received: the response is 200. */
  readonly isComplete: boolean;
  readonly receivedBytes: number;
}

/** A connection without data for this long is closed; the received bytes are kept. */
const IDLE_LIMIT_MS = 60_000;

/**
 * Receives the content of a request. When it returns, the bytes are stored, and the asset exists if
 * they were the last.
 * @throws KinoraError as `UploadSessions.open` and `UploadSession`; `range_not_satisfiable` for a
 * chunk after a gap
 */
export const receiveUpload = async (
  sessions: UploadSessions,
  uploadId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Received> => {
  const bodyBytes = bodyLength(request);
  const range = readUploadRange(request.headers['content-range'], bodyBytes);
  if (range.kind === 'file' && bodyBytes === 0) throw invalid('The file is empty.');
  const session = await sessions.open(uploadId);
  try {
    const body: Body = (position) => receiveBody(request, reply, (sent) => session.append(sent, position));
    const isComplete = await take(session, range, bodyBytes, body, reply);
    return { isComplete, receivedBytes: session.receivedBytes };
  } finally {
    // Before the response, because that promises that the bytes are stored.
    await session.close();
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

/** Stores the body of the request. */
type Body = (position: BodyRange) => Promise<void>;

/** Returns whether the file is complete as far as this request can tell. */
const take = async (
  session: UploadSession,
  range: UploadRange,
  bodyBytes: number | undefined,
  body: Body,
  reply: FastifyReply,
): Promise<boolean> => {
  if (range.kind === 'file') return takeFile(session, bodyBytes, body);
  if (range.totalBytes !== undefined) await session.declareSize(range.totalBytes);
  if (range.kind === 'status') return completeIfReceived(session);
  const { startBytes, endBytes } = range;
  if (endBytes > (session.totalBytes ?? endBytes)) throw invalid('Content-Range goes past the size of the file.');
  if (startBytes > session.receivedBytes) {
    if (session.receivedBytes > 0) reply.header('range', `bytes=0-${session.receivedBytes - 1}`);
    throw new KinoraError('range_not_satisfiable', {
      messages: ['The bytes before this chunk have not been received.'],
    });
  }
  if (endBytes > session.receivedBytes) {
    await body({ offsetBytes: startBytes, endBytes });
    if (session.receivedBytes < endBytes) throw invalid('The body is shorter than Content-Range.');
  }
  return endBytes === session.totalBytes ? completeIfReceived(session) : false;
};

const completeIfReceived = async (session: UploadSession): Promise<boolean> => {
  if (session.receivedBytes !== session.totalBytes) return false;
  await session.complete();
  return true;
};

/** A body without a range is the whole file. */
const takeFile = async (session: UploadSession, bodyBytes: number | undefined, body: Body): Promise<boolean> => {
  if (session.isComplete) {
    // Probably the same file again.
    if (bodyBytes !== undefined) await session.declareSize(bodyBytes);
    return true;
  }
  await session.startOver(bodyBytes);
  try {
    await body({ offsetBytes: 0, endBytes: bodyBytes });
  } catch (error) {
    // The part that was stored belongs to a file that is refused.
    if (isKinoraError(error, 'payload_too_large')) await session.startOver();
    throw error;
  }
  await session.complete();
  return true;
};

/** Undefined for chunked encoding. */
const bodyLength = ({ headers }: FastifyRequest): number | undefined => {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
};

const invalid = (message: string): KinoraError => new KinoraError('invalid_parameters', { messages: [message] });
