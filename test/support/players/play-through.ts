/**
 * Fetches a presentation over HTTP the way a player does: multivariant playlist, media playlists,
 * init segments, segments. Reads playlists and boxes with code of its own, so that it can't share a
 * mistake with the product.
 */

export interface FragmentSample {
  readonly presentationTicks: number;
  readonly durationTicks: number;
  readonly sizeBytes: number;
  readonly sync: boolean;
}

export interface PlayedSegment {
  readonly url: string;
  /** EXTINF. */
  readonly seconds: number;
  readonly bytes: Buffer;
  /** Base media decode time. */
  readonly baseTicks: number;
  /** In decode order. */
  readonly samples: readonly FragmentSample[];
}

export interface PlayedRendition {
  /** Of EXT-X-STREAM-INF or EXT-X-MEDIA. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly url: string;
  /** Lines of the media playlist. */
  readonly lines: readonly string[];
  readonly targetSeconds: number;
  readonly init: Buffer;
  readonly timescale: number;
  readonly segments: readonly PlayedSegment[];
}

export interface Played {
  readonly lines: readonly string[];
  /** In the order of the playlist. */
  readonly variants: readonly PlayedRendition[];
  readonly audio?: PlayedRendition;
}

const get = async (url: string): Promise<Buffer> => {
  const response = await fetch(url);
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${response.status} ${url} ${body.toString('utf8', 0, 200)}`);
  return body;
};

const getLines = async (url: string): Promise<string[]> => {
  const text = (await get(url)).toString('utf8');
  if (!text.startsWith('#EXTM3U\n') || !text.endsWith('\n')) throw new Error(`not a playlist: ${text.slice(0, 200)}`);
  return text.slice(0, -1).split('\n');
};

/** The attribute list behind a tag (RFC 8216, 4.2), without quotes. */
const readAttributes = (line: string): Record<string, string> =>
  Object.fromEntries(
    [...line.slice(line.indexOf(':') + 1).matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^,"]*))(?:,|$)/g)].map(
      ([, name, quoted, plain]) => [name, quoted ?? plain ?? ''],
    ),
  );

/** The parts of a multivariant playlist, without what it names. */
export const readMultivariant = async (url: string) => {
  const lines = await getLines(url);
  const variants = lines.flatMap((line, index) =>
    line.startsWith('#EXT-X-STREAM-INF:')
      ? [{ attributes: readAttributes(line), url: new URL(lines[index + 1] ?? '', url).href }]
      : [],
  );
  const audioGroup = lines
    .filter((line) => line.startsWith('#EXT-X-MEDIA:TYPE=AUDIO'))
    .map((line) => {
      const attributes = readAttributes(line);
      return { attributes, url: new URL(attributes.URI ?? '', url).href };
    });
  return { lines, variants, audio: audioGroup[0], audioGroup };
};

/** A media playlist and, unless `segments` says which ones, every segment of it. */
export const playRendition = async (
  { attributes, url }: { attributes: Readonly<Record<string, string>>; url: string },
  wanted?: (segment: number) => boolean,
): Promise<PlayedRendition> => {
  const lines = await getLines(url);
  const tag = (name: string): string =>
    lines.find((line) => line.startsWith(`#${name}:`))?.slice(name.length + 2) ?? '';
  const init = await get(new URL(readAttributes(`:${tag('EXT-X-MAP')}`).URI ?? '', url).href);
  const track = readTrack(init);
  const segments: PlayedSegment[] = [];
  const entries = lines.flatMap((line, index) =>
    line.startsWith('#EXTINF:') ? [{ seconds: Number.parseFloat(line.slice(8)), uri: lines[index + 1] ?? '' }] : [],
  );
  for (const [number, { seconds, uri }] of entries.entries()) {
    if (wanted && !wanted(number)) continue;
    const segmentUrl = new URL(uri, url).href;
    const bytes = await get(segmentUrl);
    segments.push({ url: segmentUrl, seconds, bytes, ...readFragment(bytes, track) });
  }
  const targetSeconds = Number(tag('EXT-X-TARGETDURATION'));
  return { attributes, url, lines, targetSeconds, init, timescale: track.timescale, segments };
};

/** Everything that a playlist names. */
export const playThrough = async (url: string): Promise<Played> => {
  const { lines, variants, audio } = await readMultivariant(url);
  const played: PlayedRendition[] = [];
  for (const variant of variants) played.push(await playRendition(variant));
  return { lines, variants: played, ...(audio && { audio: await playRendition(audio) }) };
};

/** The contents of all boxes at a path such as `moov/trak/mdia`. */
export const findBoxes = (bytes: Buffer, path: string): Buffer[] => {
  const [type, ...rest] = path.split('/');
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > bytes.length) throw new Error(`box of ${size} bytes at ${at} of ${bytes.length}`);
    if (bytes.toString('latin1', at + 4, at + 8) === type) found.push(bytes.subarray(at + 8, at + size));
    at += size;
  }
  return rest.length === 0 ? found : found.flatMap((box) => findBoxes(box, rest.join('/')));
};

const onlyBox = (bytes: Buffer, path: string): Buffer => {
  const [box, ...others] = findBoxes(bytes, path);
  if (box === undefined || others.length > 0) throw new Error(`not exactly one ${path}`);
  return box;
};

interface Track {
  readonly timescale: number;
  readonly defaultDuration: number;
  readonly defaultSize: number;
  readonly defaultFlags: number;
  /** Media time at which the track begins, by its edit list. */
  readonly startTicks: number;
}

const readTrack = (init: Buffer): Track => {
  const mdhd = onlyBox(init, 'moov/trak/mdia/mdhd');
  const trex = onlyBox(init, 'moov/mvex/trex');
  return {
    timescale: mdhd.readUInt32BE(mdhd[0] === 1 ? 20 : 12),
    defaultDuration: trex.readUInt32BE(12),
    defaultSize: trex.readUInt32BE(16),
    defaultFlags: trex.readUInt32BE(20),
    startTicks: findBoxes(init, 'moov/trak/edts/elst')[0]?.readInt32BE(12) ?? 0,
  };
};

const NON_SYNC = 0x10000;

/** ISO/IEC 14496-12, 8.8.7, 8.8.8 and 8.8.12. */
const readFragment = (bytes: Buffer, track: Track): { baseTicks: number; samples: FragmentSample[] } => {
  const traf = onlyBox(bytes, 'moof/traf');
  const tfhd = onlyBox(traf, 'tfhd');
  const tfhdFlags = tfhd.readUInt32BE(0) & 0xffffff;
  let at = 8 + (tfhdFlags & 1 ? 8 : 0) + (tfhdFlags & 2 ? 4 : 0);
  const optional = (present: number, otherwise: number): number => {
    if (!present) return otherwise;
    at += 4;
    return tfhd.readUInt32BE(at - 4);
  };
  const defaultDuration = optional(tfhdFlags & 8, track.defaultDuration);
  const defaultSize = optional(tfhdFlags & 0x10, track.defaultSize);
  const defaultFlags = optional(tfhdFlags & 0x20, track.defaultFlags);
  const tfdt = onlyBox(traf, 'tfdt');
  const baseTicks = tfdt[0] === 1 ? Number(tfdt.readBigUInt64BE(4)) : tfdt.readUInt32BE(4);

  const trun = onlyBox(traf, 'trun');
  const flags = trun.readUInt32BE(0) & 0xffffff;
  let place = 8 + (flags & 1 ? 4 : 0);
  const next = (present: number, otherwise: number, signed = false): number => {
    if (!present) return otherwise;
    place += 4;
    return signed ? trun.readInt32BE(place - 4) : trun.readUInt32BE(place - 4);
  };
  const firstFlags = next(flags & 4, defaultFlags);
  let decodeTicks = baseTicks;
  const samples = Array.from({ length: trun.readUInt32BE(4) }, (_, index): FragmentSample => {
    const durationTicks = next(flags & 0x100, defaultDuration);
    const sizeBytes = next(flags & 0x200, defaultSize);
    const sampleFlags = next(flags & 0x400, index === 0 ? firstFlags : defaultFlags);
    const presentationTicks = decodeTicks + next(flags & 0x800, 0, trun[0] === 1) - track.startTicks;
    decodeTicks += durationTicks;
    return { presentationTicks, durationTicks, sizeBytes, sync: (sampleFlags & NON_SYNC) === 0 };
  });
  const [mdat] = findBoxes(bytes, 'mdat');
  const total = samples.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (mdat?.length !== total) throw new Error(`mdat has ${mdat?.length} bytes, its samples have ${total}`);
  return { baseTicks, samples };
};
