import { asFullBox, findBox, listBoxes, type Mp4Box, readBoxHeader, viewOf } from '../../media/mp4/box-reader.js';

const NORMAL_RATE = 0x10000;

/** Empty edits (a late start), then at most one edit at normal speed (ISO/IEC 14496-12, 8.6.6). */
const isSimple = (moov: Uint8Array, box: Mp4Box): boolean => {
  const list = asFullBox(moov, box);
  if (!list || list.version > 1 || list.content + 4 > list.end) return false;
  const view = viewOf(moov);
  const timeBytes = list.version === 1 ? 8 : 4;
  const entryBytes = 2 * timeBytes + 4;
  const count = view.getUint32(list.content);
  if (list.content + 4 + count * entryBytes > list.end) return false;
  for (let index = 0; index < count; index += 1) {
    const entry = list.content + 4 + index * entryBytes;
    // An empty edit has a media time of -1.
    const isEmpty = view.getInt32(entry + timeBytes) < 0;
    if (isEmpty === (index === count - 1)) return false;
    if (!isEmpty && view.getUint32(entry + 2 * timeBytes) !== NORMAL_RATE) return false;
  }
  return true;
};

export interface TrackFacts {
  /** The edit list only shifts the start or cuts the ends; absent without an edit list. */
  readonly hasSimpleEdits?: boolean;
  readonly isEncrypted: boolean;
  /** All samples have the same decoder configuration. */
  readonly isUniform: boolean;
}

/** Sample entries of encrypted tracks (ISO/IEC 14496-12, 8.12), and those of the iTunes store. */
const ENCRYPTED: ReadonlySet<string> = new Set(['encv', 'enca', 'drmi', 'drms']);

/**
 * What a `moov` box says about each track, by ID. The result is empty when the boxes can't be read.
 */
export const readTracks = (moov: Uint8Array): ReadonlyMap<number, TrackFacts> => {
  const tracks = new Map<number, TrackFacts>();
  const root = listBoxes(moov)?.[0];
  for (const track of (root && listBoxes(moov, root.content, root.end)) ?? []) {
    if (track.type !== 'trak') continue;
    const below = (...path: string[]): Mp4Box | undefined => findBox(moov, path, track.content, track.end);
    const header = asFullBox(moov, below('tkhd'));
    const idOffset = header && header.content + (header.version === 1 ? 16 : 8);
    if (idOffset === undefined || idOffset + 4 > header!.end) continue;
    const edits = below('edts', 'elst');
    const entries = asFullBox(moov, below('mdia', 'minf', 'stbl', 'stsd'));
    // After the number of entries, each entry is a box.
    const entry = entries && readBoxHeader(viewOf(moov), entries.content + 4, entries.end);
    tracks.set(viewOf(moov).getUint32(idOffset), {
      ...(edits && { hasSimpleEdits: isSimple(moov, edits) }),
      isUniform: !entries || entries.content + 4 > entries.end || viewOf(moov).getUint32(entries.content) <= 1,
      isEncrypted: entry !== undefined && ENCRYPTED.has(entry.type),
    });
  }
  return tracks;
};
