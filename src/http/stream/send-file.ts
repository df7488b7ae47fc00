import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CachedFile } from '../../cache/cached-files.js';
import type { HotContent } from '../../cache/hot-files.js';
import { KinoraError } from '../../lib/errors.js';
import { limitStall } from '../plugins/receive-limit.js';
import { type ByteRange, matchesEtag } from './byte-range.js';
import type { BufferPair } from './part-buffers.js';
import { requestedRange } from './requested-range.js';
import { type ReadPart, readBytes, readRange, readStream, writeParts } from './write-range.js';

/**
 * A file, or a file that is sent in another form than it is stored; size and validator are those of
 * the sent form.
 */
export interface SentFile extends Omit<CachedFile, 'path' | 'acquire'> {
  readonly path?: string;
  /** The sent form in memory, if it is there. */
  readonly acquire?: (() => Promise<HotContent | undefined>) | undefined;
  /** Instead of a path; `end` is exclusive. Undefined when the file was deleted. */
  readonly stream?: (range: { readonly start: number; readonly end: number }) => Promise<Readable | undefined>;
  /** Reads a part in the sent form, from the file at the path. */
  readonly read?: (file: FileHandle, range: ByteRange, buffers: BufferPair) => ReadPart;
}

/**
 * Responds with a file and supports conditional requests, one byte range and HEAD. Headers set on
 * `reply` are kept. `onSent` gets the number of bytes sent and whether the response was complete;
 * if the viewer left, it is what the connection had accepted until then.
 * @throws KinoraError `range_not_satisfiable`
 */
export const sendFile = async (
  request: FastifyRequest,
  reply: FastifyReply,
  file: SentFile,
  contentType: string,
  onSent: (sizeBytes: number, isWhole: boolean) => void = () => {},
): Promise<FastifyReply> => {
  reply.headers({ etag: file.etag, 'accept-ranges': 'bytes' });
  if (matchesEtag(request.headers['if-none-match'], file.etag)) return reply.code(304).send();

  const { start, end } = requestedRange(request, reply, file) ?? { start: 0, end: file.sizeBytes - 1 };
  reply.headers({ 'content-type': contentType, 'content-length': end - start + 1 });
  if (request.method === 'HEAD') return reply.send();

  // Opened before the status line is written, so that an unreadable file still results in a
  // proper 500.
  const opened = await openContent(reply, file, { start, end });
  try {
    // Before `hijack`, so that an error response can still follow if it throws.
    reply.raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string | number | string[]>);
    reply.hijack();
    limitStall(reply.raw);
    onSent(await writeParts(opened.readPart, end - start + 1, reply.raw), reply.raw.writableFinished);
  } catch (error) {
    if (!reply.sent) throw error;
    request.log.warn({ err: error }, 'file response aborted');
  } finally {
    await opened.close();
  }
  return reply;
};

// Values and their close function; files and copies in memory both have it.
interface OpenedContent {
  readonly readPart: ReadPart;
  close(): Promise<void>;
}

/** From a stream of its own, from memory if it is there, or from the disk. */
const openContent = async (reply: FastifyReply, file: SentFile, range: ByteRange): Promise<OpenedContent> => {
  if (file.stream) {
    const stream = await file.stream({ start: range.start, end: range.end + 1 });
    if (!stream) throw new KinoraError('not_found');
    return { readPart: readStream(stream), close: async () => void stream.destroy() };
  }
  const hot = await file.acquire?.();
  if (hot) return { readPart: readBytes(hot.bytes, range), close: async () => hot.release() };
  const handle = await open(file.path!);
  const buffers = reply.server.partBuffers.acquire();
  const close = async () => {
    buffers.release();
    await handle.close();
  };
  return { readPart: (file.read ?? readRange)(handle, range, buffers), close };
};
