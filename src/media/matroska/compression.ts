import { type EbmlElement, listElements, readElement, readUnsigned } from './ebml.js';

const SEGMENT = 0x18538067;
const TRACKS = 0x1654ae6b;
const TRACK_ENTRY = 0xae;
const TRACK_TYPE = 0x83;
/** Video, audio, subtitles and metadata: FFmpeg makes a stream of each such track. */
const STREAM_TYPES: ReadonlySet<number> = new Set([1, 2, 17, 33]);
const CONTENT_ENCODINGS = 0x6d80;
const CONTENT_ENCODING = 0x6240;
const COMPRESSION = 0x5034;
const ALGORITHM = 0x4254;
const BZIP2 = 1;

/**
 * FFmpeg's numbers of the streams that are compressed with bzip2 (RFC 9559, 5.1.4.1.31.6). The
 * build lacks it, and reads noise.
 * @param bytes the start of a Matroska file; tracks that are described after it are not found
 */
export const findBzip2Streams = (bytes: Uint8Array): ReadonlySet<number> => {
  const within = ({ content, end }: EbmlElement): EbmlElement[] => listElements(bytes, content, end) ?? [];
  const values = (track: EbmlElement, ...path: number[]): number[] =>
    path
      .reduce((elements, childId) => elements.flatMap(within).filter(({ id }) => id === childId), [track])
      .map((element) => readUnsigned(bytes, element));
  const streams = topLevel(bytes)
    .filter(({ id, end }) => id === TRACKS && end <= bytes.length)
    .flatMap(within)
    .filter((track) => track.id === TRACK_ENTRY && STREAM_TYPES.has(values(track, TRACK_TYPE)[0] ?? 0));
  const isBzip2 = (track: EbmlElement): boolean =>
    values(track, CONTENT_ENCODINGS, CONTENT_ENCODING, COMPRESSION, ALGORITHM).includes(BZIP2);
  return new Set(streams.flatMap((track, index) => (isBzip2(track) ? [index] : [])));
};

/** The children of the segment whose headers are in `bytes`. */
const topLevel = (bytes: Uint8Array): EbmlElement[] => {
  const header = readElement(bytes, 0);
  const segment = header && readElement(bytes, header.end);
  const children: EbmlElement[] = [];
  if (segment?.id !== SEGMENT) return children;
  let offset = segment.content;
  while (offset < bytes.length) {
    const child = readElement(bytes, offset);
    if (!child) break;
    children.push(child);
    offset = child.end;
  }
  return children;
};
