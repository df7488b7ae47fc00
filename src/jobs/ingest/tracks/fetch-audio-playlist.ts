import { KinoraError } from '../../../lib/errors.js';
import { readMediaPlaylist } from '../../../media/playlist/read-playlist.js';
import type { SourceFetcher } from '../../../net/fetch-source.js';
import type { BlobInfo, BlobWrite } from '../../../storage/blob-store.js';

/** A segment has at most some tens of seconds of audio. */
const MAX_PIECE_BYTES = 64 * 2 ** 20;
const MAX_PLAYLIST_BYTES = 4 * 2 ** 20;

/**
 * Stores the segments of a media playlist as one file. Each is fetched as any source is; a run that
 * was interrupted starts again.
 * @throws KinoraError what the fetcher throws; `invalid_input` for a playlist that is not one file
 */
export const fetchAudioPlaylist = async (
  url: string,
  target: BlobWrite,
  { fetcher, signal }: { readonly fetcher: SourceFetcher; readonly signal: AbortSignal },
): Promise<void> => {
  const fetchPiece = async (pieceUrl: string, maxBytes: number): Promise<Buffer> => {
    const piece = new MemoryWrite();
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
class MemoryWrite implements BlobWrite {
  private chunks: Uint8Array[] = [];
  private sizeBytes = 0;

  bytes(): Buffer {
    return Buffer.concat(this.chunks, this.sizeBytes);
  }

  get offsetBytes(): number {
    return this.sizeBytes;
  }

  async write(chunk: Uint8Array): Promise<void> {
    // The caller may use its buffer again.
    this.chunks.push(Uint8Array.from(chunk));
    this.sizeBytes += chunk.byteLength;
  }

  async restart(): Promise<void> {
    this.chunks = [];
    this.sizeBytes = 0;
  }

  async commit(): Promise<BlobInfo> {
    return { sizeBytes: this.sizeBytes };
  }

  async suspend(): Promise<void> {}

  async sync(): Promise<void> {}

  async read(offset: number, length: number): Promise<Uint8Array> {
    return this.bytes().subarray(offset, offset + length);
  }

  discard(): Promise<void> {
    return this.restart();
  }

  stage(): never {
    throw new KinoraError('internal_error', { details: { stage: 'a file in memory' } });
  }
}
