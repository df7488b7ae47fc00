/** Media playlists of broadcasts, parsed for `live-rules.ts` and for tests. */

export interface ListedPart {
  readonly uri: string;
  readonly seconds: number;
  readonly independent: boolean;
}

export interface ListedSegment {
  readonly number: number;
  /** Absent while only parts are listed, and for gaps. */
  readonly uri: string | undefined;
  /** Of the parts, while the segment is not complete. */
  readonly seconds: number;
  readonly parts: readonly ListedPart[];
  readonly discontinuity: boolean;
  readonly map: string | undefined;
  readonly programMs: number | undefined;
}

export interface LivePlaylist {
  /** Values of tags that stand once, by name without `EXT-X-`. */
  readonly tags: Readonly<Record<string, string>>;
  readonly control: Readonly<Record<string, string>>;
  readonly targetSeconds: number;
  readonly partTarget: number | undefined;
  /** Of the first segment, skipped or not. */
  readonly firstNumber: number;
  readonly discontinuitySequence: number;
  readonly skipped: number;
  /** Without those that are skipped. */
  readonly segments: readonly ListedSegment[];
  /** Values of `EXT-X-KEY`, which apply to all segments. */
  readonly keys: readonly string[];
  readonly hint: string | undefined;
  readonly reports: readonly Readonly<Record<string, string>>[];
  readonly isEvent: boolean;
  readonly ended: boolean;
  /** What does not even parse. */
  readonly problems: readonly string[];
}

const ATTRIBUTE = /([A-Z0-9-]+)=("[^"]*"|[^,]*)/g;

const attributesOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(ATTRIBUTE)].map(([, name, value]) => [name!, value!.replaceAll('"', '')]));

const ONCE = [
  ...(['VERSION', 'TARGETDURATION', 'PLAYLIST-TYPE', 'SERVER-CONTROL', 'PART-INF', 'MEDIA-SEQUENCE'] as const),
  ...(['DISCONTINUITY-SEQUENCE', 'INDEPENDENT-SEGMENTS', 'SKIP', 'ENDLIST', 'PRELOAD-HINT'] as const),
];
/** Tags that stand before the first segment. */
const HEADER = new Set<string>(ONCE.slice(0, 9));

interface Draft {
  parts: ListedPart[];
  seconds?: number;
  discontinuity: boolean;
  gap?: boolean;
  programMs?: number;
}

export const parseLivePlaylist = (text: string): LivePlaylist => {
  const problems: string[] = [];
  const tags: Record<string, string> = {};
  const segments: ListedSegment[] = [];
  const keys: string[] = [];
  const reports: Record<string, string>[] = [];
  let draft: Draft = { parts: [], discontinuity: false };
  let map: string | undefined;
  let hasBegun = false;
  const lines = text.split('\n');
  if (lines[0] !== '#EXTM3U') problems.push('does not begin with EXTM3U');
  if (lines.at(-1) !== '') problems.push('does not end with a line end');
  const firstNumber = (): number => Number(tags['MEDIA-SEQUENCE'] ?? 0) + skipped();
  const skipped = (): number => Number(attributesOf(tags.SKIP ?? '')['SKIPPED-SEGMENTS'] ?? 0);
  const finish = (uri: string | undefined): void => {
    const sum = draft.parts.reduce((total, { seconds }) => total + seconds, 0);
    const { parts, discontinuity, programMs, seconds = sum } = draft;
    const file = draft.gap ? undefined : uri;
    segments.push({
      number: firstNumber() + segments.length,
      uri: file,
      seconds,
      parts,
      discontinuity,
      map,
      programMs,
    });
    draft = { parts: [], discontinuity: false };
  };
  for (const line of lines.slice(1).filter(Boolean)) {
    const [, name = '', value = ''] = /^#(?:EXT-X-)?([A-Z0-9-]+)(?::(.*))?$/.exec(line) ?? [];
    if (!line.startsWith('#')) {
      if (draft.seconds === undefined) problems.push(`${line} has no EXTINF`);
      finish(line);
    } else if (ONCE.some((once) => once === name)) {
      if (name in tags) problems.push(`${name} stands twice`);
      if (HEADER.has(name) && hasBegun) problems.push(`${name} stands behind segments`);
      tags[name] = value;
    } else if (name === 'EXTINF') draft.seconds = Number(/^([\d.]+),$/.exec(value)?.[1]);
    else if (name === 'PART') {
      const { URI = '', DURATION, INDEPENDENT } = attributesOf(value);
      draft.parts.push({ uri: URI, seconds: Number(DURATION), independent: INDEPENDENT === 'YES' });
    } else if (name === 'DISCONTINUITY') draft.discontinuity = true;
    else if (name === 'GAP') draft.gap = true;
    else if (name === 'MAP') map = attributesOf(value).URI;
    else if (name === 'PROGRAM-DATE-TIME') draft.programMs = Date.parse(value);
    else if (name === 'KEY' && !hasBegun) keys.push(value);
    else if (name === 'RENDITION-REPORT') reports.push(attributesOf(value));
    else problems.push(`unknown line: ${line}`);
    hasBegun ||= ['EXTINF', 'PART', 'DISCONTINUITY', 'MAP'].includes(name);
  }
  if (draft.parts.length > 0) finish(undefined);
  const partTarget = attributesOf(tags['PART-INF'] ?? '')['PART-TARGET'];
  return {
    tags,
    control: attributesOf(tags['SERVER-CONTROL'] ?? ''),
    targetSeconds: Number(tags.TARGETDURATION),
    partTarget: partTarget === undefined ? undefined : Number(partTarget),
    firstNumber: Number(tags['MEDIA-SEQUENCE'] ?? 0),
    discontinuitySequence: Number(tags['DISCONTINUITY-SEQUENCE'] ?? 0),
    skipped: skipped(),
    segments,
    keys,
    hint: attributesOf(tags['PRELOAD-HINT'] ?? '').URI,
    reports,
    isEvent: tags['PLAYLIST-TYPE'] === 'EVENT',
    ended: 'ENDLIST' in tags,
    problems,
  };
};
