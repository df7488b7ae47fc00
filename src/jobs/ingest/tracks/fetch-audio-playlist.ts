import { KinoraError } from '../../../lib/errors.js';
import { readMediaPlaylist } from '../../../media/playlist/read-playlist.js';
import type { SourceFetcher } from '../../../net/fetch-source.js';
import type { BlobWrite } from '../../../storage/blob-store.js';

/** A segment has at most some tens of seconds of audio. */
const MAX_PIECE_BYTES = 64 * 2 ** 20;
const MAX_PLAYLIST_BYTES = 4 * 2 ** 20;

/**
 * Stores the segments of a media playlist as one file. Each is fetched as any source is; a run that was interrupted
 * starts again.
 * @throws KinoraError what the fetcher throws; `invalid_input` for a playlist that is not one file
 */
export const fetchAudioPlaylist = async (
  url: string,
  target: BlobWrite,
  { fetcher, signal }: { readonly fetcher: SourceFetcher; readonly signal: AbortSignal },
): Promise<void> => {
  const fetchPiece = async (pieceUrl: string, maxBytes: number): Promise<Buffer> => {
    const piece = createMemoryWrite();
    await fetcher.fetch(pieceUrl, piece, { signal, maxBytes });
    return piece.bytes();
  };
  try {
    if (target.offsetBytes > 0) await target.restart();
    const playlist = readMediaPlaylist((await fetchPiece(url, MAX_PLAYLIST_BYTES)).toString('utf8'), url);
    if (typeof playlist === 'string') throw new KinoraError('invalid_input', { messages: [playlist] });
    for (const pieceUrl of playlist.urls) await target.write(await fetchPiece(pieceUrl, MAX_PIECE_BYTES));
  } catch (error) {
    await target.discard();
    throw error;
  }
  await target.commit();
};

/** Keeps a small file in memory. */
const createMemoryWrite = (): BlobWrite & { bytes(): Buffer } => {
  let chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const clear = async (): Promise<void> => {
    chunks = [];
    sizeBytes = 0;
  };
  const bytes = (): Buffer => Buffer.concat(chunks, sizeBytes);
  return {
    get offsetBytes() {
      return sizeBytes;
    },
    write: async (chunk) => {
      // The caller may use its buffer again.
      chunks.push(Uint8Array.from(chunk));
      sizeBytes += chunk.byteLength;
    },
    restart: clear,
    discard: clear,
    commit: async () => ({ sizeBytes }),
    suspend: async () => undefined,
    sync: async () => undefined,
    read: async (offset, length) => bytes().subarray(offset, offset + length),
    stage: () => Promise.reject(new KinoraError('internal_error', { details: { stage: 'a file in memory' } })),
    bytes,
  };
};
