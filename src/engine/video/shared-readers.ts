import type { MediaSource } from '../../pool/protocol.js';
import { OpenCache } from '../ffmpeg/open-cache.js';
import { VideoReader } from './reader.js';

const readers = new OpenCache<VideoReader>(3);

/**
 * Calls `use` with a reader, which may still be positioned at the end of the previous range of the
 * same stream.
 */
export const withVideoReader = <T>(
  source: MediaSource,
  streamIndex: number,
  threads: number,
  use: (reader: VideoReader) => T,
): T =>
  readers.use(
    [source.path, source.staged, streamIndex, threads],
    () => new VideoReader(source, streamIndex, threads),
    use,
  );

/** The same for a use that takes several turns of the event loop. */
export const lendVideoReader = <T>(
  source: MediaSource,
  streamIndex: number,
  threads: number,
  use: (reader: VideoReader) => Promise<T>,
): Promise<T> =>
  readers.lend(
    [source.path, source.staged, streamIndex, threads],
    () => new VideoReader(source, streamIndex, threads),
    use,
  );
