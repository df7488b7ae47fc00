import { type ByteRange, countBytes, mergeRanges } from '../../lib/byte-ranges.js';
import type { ReadRange } from '../mp4/sample-tables.js';
import { type EbmlElement, listElements, MAX_HEADER_BYTES, readElement, readUnsigned } from './ebml.js';

/** Where the parts of a Matroska or WebM file are. */
export interface MatroskaLayout {
  /** The position from which the file counts. */
  readonly origin: number;
  readonly firstCluster: number;
  readonly info: ByteRange;
  readonly tracks: ByteRange;
  readonly cues: ByteRange;
  /** What a demuxer reads when it opens the file. */
  readonly opening: readonly ByteRange[];
}

type ReadHeader = (offset: number) => Promise<EbmlElement | undefined>;

const EBML = 0x1a45dfa3;
const SEGMENT = 0x18538067;
const SEEK_HEAD = 0x114d9b74;
const SEEK = 0x4dbb;
const SEEK_ID = 0x53ab;
const SEEK_POSITION = 0x53ac;
const INFO = 0x1549a966;
const TRACKS = 0x1654ae6b;
const CUES = 0x1c53bb6b;
const CLUSTER = 0x1f43b675;

/** Files have about ten. Each may be in another part of the file, which is fetched. */
const MAX_ELEMENTS = 64;
const MAX_SEEK_HEAD_BYTES = 64 * 1024;
/** Fonts and cover images included. */
const MAX_OPENING_BYTES = 64 * 2 ** 20;
/**
 * More than a cue for each second of twelve hours; also of the other two, which are much smaller.
 */
const MAX_DESCRIPTION_BYTES = 8 * 2 ** 20;

/** Whether a file that begins with `bytes` is a Matroska or WebM file. */
export const isMatroska = (bytes: Uint8Array): boolean => readElement(bytes, 0)?.id === EBML;

/**
 * Finds the parts of a Matroska file from the headers of its elements; a reason when one is
 * missing.
 */
export const findMatroskaLayout = async (read: ReadRange, sizeBytes: number): Promise<MatroskaLayout | string> => {
  const readHeader: ReadHeader = async (offset) =>
    offset < sizeBytes
      ? readElement(await read(offset, Math.min(MAX_HEADER_BYTES, sizeBytes - offset)), 0, offset)
      : undefined;
  const ebml = await readHeader(0);
  const segment = ebml && (await readHeader(ebml.end));
  if (segment?.id !== SEGMENT) return 'it has no segment';
  const start = await readStart(readHeader, segment, sizeBytes);
  if (typeof start === 'string') return start;
  const listed = await readListed(read, readHeader, { ...start, origin: segment.content, sizeBytes });
  if (typeof listed === 'string') return listed;
  const { firstCluster, elements } = start;
  const [info, tracks, cues] = [INFO, TRACKS, CUES].map((id) => [...elements, ...listed].find((at) => at.id === id));
  if (!info || !tracks) return 'its tracks are not described at its start';
  if (!cues) return 'it has no cues';
  const opening = [{ start: 0, end: firstCluster }, ...listed.map(({ start, end }) => ({ start, end }))];
  if (countBytes(mergeRanges(opening)) > MAX_OPENING_BYTES)
    return 'it has too much beside its frames, such as attachments';
  if ([info, tracks, cues].some(({ content, end }) => end - content > MAX_DESCRIPTION_BYTES))
    return 'its cues are too large';
  const contentOf = ({ content, end }: EbmlElement): ByteRange => ({ start: content, end });
  return {
    origin: segment.content,
    firstCluster,
    info: contentOf(info),
    tracks: contentOf(tracks),
    cues: contentOf(cues),
    opening,
  };
};

interface Start {
  readonly firstCluster: number;
  /** Those before the first cluster. */
  readonly elements: readonly EbmlElement[];
}

const readStart = async (readHeader: ReadHeader, segment: EbmlElement, sizeBytes: number): Promise<Start | string> => {
  const elements: EbmlElement[] = [];
  for (let offset = segment.content; elements.length < MAX_ELEMENTS; ) {
    const element = await readHeader(offset);
    if (!element) break;
    if (element.id === CLUSTER) return { firstCluster: element.start, elements };
    if (element.end > sizeBytes) return 'an element ends after the file';
    elements.push(element);
    offset = element.end;
  }
  return 'no frames were found at its start';
};

/** The elements after the first cluster, of which the lists of elements tell. */
const readListed = async (
  read: ReadRange,
  readHeader: ReadHeader,
  { firstCluster, elements, origin, sizeBytes }: Start & { readonly origin: number; readonly sizeBytes: number },
): Promise<EbmlElement[] | string> => {
  const listed = new Map<number, EbmlElement>();
  const isList = ({ id }: EbmlElement): boolean => id === SEEK_HEAD;
  const lists = elements.filter(isList);
  for (const { content, end } of lists) {
    const seeks = end - content > MAX_SEEK_HEAD_BYTES ? undefined : listSeeks(await read(content, end - content));
    if (!seeks) return 'its list of elements is too large or damaged';
    for (const { id, position } of seeks) {
      const start = origin + position;
      if (start < firstCluster || id === CLUSTER || listed.get(start)?.id === id) continue;
      if (listed.size === MAX_ELEMENTS) return 'its list of elements is too large or damaged';
      const element = await readHeader(start);
      if (element?.id !== id || element.end > sizeBytes) return 'its list of elements points to something else';
      listed.set(start, element);
      if (isList(element)) lists.push(element);
    }
  }
  return [...listed.values()];
};

/** The entries of a SeekHead; undefined when it is damaged. */
const listSeeks = (bytes: Uint8Array): { id: number; position: number }[] | undefined => {
  const entries = listElements(bytes, 0, bytes.length)?.filter(({ id }) => id === SEEK);
  const seeks = entries?.map(({ content, end }) => listElements(bytes, content, end));
  return seeks?.every((children) => children !== undefined)
    ? seeks.flatMap((children) => {
        const [id, position] = [SEEK_ID, SEEK_POSITION].map((childId) =>
          children.find((child) => child.id === childId),
        );
        return id && position ? [{ id: readUnsigned(bytes, id), position: readUnsigned(bytes, position) }] : [];
      })
    : undefined;
};
