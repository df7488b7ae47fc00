import type { LiveSegment, LiveTimes, LiveTrackInfo, LiveTrackState } from '../live/live-track.js';
import { findWindow, type LiveRange, type LiveWindow } from './live-range.js';
import {
  audioVariant,
  combine,
  type HlsAudioTrack,
  type HlsTextTrack,
  type MultivariantContent,
  quote,
  writeMultivariant,
} from './multivariant.js';
import { chooseRenditions, type PlaybackModifiers } from './playback-modifiers.js';

/**
 * Playlists of a broadcast (RFC 8216bis: blocking reload, delta updates; in mode `low` also parts),
 * pure: states of tracks in, text out. Rules that the names of tags do not tell are beside them.
 */

export interface LivePlaylistInput {
  readonly state: LiveTrackState;
  readonly times: LiveTimes;
  /** See `LiveFeed`. */
  readonly firstDiscontinuity: number;
  readonly range: LiveRange;
  /** The viewer knows what is older than the skip boundary. */
  readonly skip: boolean;
  /** The other renditions, by the relative URL of their playlists. */
  readonly others: readonly { readonly uri: string; readonly state: LiveTrackState }[];
  /** Follows the name of each file; empty or `?…`. */
  readonly query: string;
  /** Attributes of each `EXT-X-KEY`; they apply to all segments. */
  readonly keys?: readonly string[];
}

/** RFC 8216bis, 4.4.3.8: at least six target durations. */
const SKIP_TARGETS = 6;
/** Three is the least for segments; Apple asks for three parts at least. */
const HOLD_BACK_TARGETS = 3;
const HOLD_BACK_PARTS = 3;
/** Parts that are further from the edge may be removed (RFC 8216bis, 6.2.2). */
const PART_TARGETS = 3;
/** Segments that a request may be ahead of the playlist (RFC 8216bis, 6.2.5.2). */
const MAX_AHEAD = 2;
/** The same after a takeover: what players know beyond the playlist may be lost. */
const MAX_LOST = 8;
/** A player that gets fewer parts and no segment takes the playlist for empty. */
const LEAST_PARTS = 3;
const MICROSECONDS = 1_000_000;

const microsecondsOf = (ticks: number, timescale: number): number => Math.round((ticks * MICROSECONDS) / timescale);
const secondsText = (microseconds: number): string => (microseconds / MICROSECONDS).toFixed(6);

const hasParts = ({ latencyMode }: LiveTimes): boolean => latencyMode === 'low';

/** What a request waits for. */
export interface LivePlace {
  readonly segment: number;
  /** Absent: the complete segment. */
  readonly part: number | undefined;
}

/**
 * A part behind the last one of a complete segment stands for the first one of the next segment
 * (RFC 8216bis, 6.2.5.2).
 */
export const existingPlace = ({ segments }: LiveTrackState, { segment, part }: LivePlace): LivePlace => {
  const asked = part === undefined ? undefined : segments[segment - (segments[0]?.number ?? 0)];
  return asked?.complete && part! >= asked.parts.length ? { segment: segment + 1, part: 0 } : { segment, part };
};

/** Whether the track has the segment, or its part. */
export const hasReached = (state: LiveTrackState, wanted: LivePlace): boolean => {
  const last = state.segments.at(-1);
  if (state.ended) return true;
  if (!last) return false;
  const { segment, part } = existingPlace(state, wanted);
  if (last.number !== segment) return last.number > segment;
  return last.complete || (part !== undefined && part < last.parts.length);
};

/** Whether a request waits for something that is too far away to wait for. */
export const isTooFarAhead = (
  { segments, version }: LiveTrackState,
  { partTargetSeconds = 1 }: LiveTimes,
  { segment, part = 0 }: LivePlace,
): boolean => {
  const last = segments.at(-1);
  if (!last) return false;
  if (segment > last.number + MAX_AHEAD + (version === undefined ? 0 : MAX_LOST)) return true;
  // The Advance Part Limit. What a complete segment does not have is in the next one.
  const aheadParts = partTargetSeconds < 1 ? Math.ceil(3 / partTargetSeconds) : 3;
  return segment === last.number && !last.complete && part >= last.parts.length + aheadParts;
};

/** Whether a player can start with the playlist. */
export const isPlayable = ({ segments, ended }: LiveTrackState, times: LiveTimes): boolean =>
  segments.some(({ complete }) => complete) ||
  (hasParts(times) && (segments[0]?.parts.length ?? 0) >= LEAST_PARTS) ||
  (ended && segments.length > 0);

/** An init segment has the number of the first segment that needs it in its name. */
const initSegment = ({ segments }: LiveTrackState, config: number): LiveSegment | undefined =>
  segments.find((segment) => segment.config === config);

/** The configuration of the init segment with this number. */
export const initConfig = (state: LiveTrackState, number: number): number | undefined => {
  const config = state.segments[number - (state.segments[0]?.number ?? 0)]?.config;
  return config !== undefined && initSegment(state, config)?.number === number ? config : undefined;
};

/** The value of `v` in the URLs of a version, which makes each URL stand for the same bytes. */
export const versionText = (version: number | undefined): string | undefined => version?.toString(36);

/** @param query empty or `?…` */
const withVersion = (query: string, version: number | undefined): string =>
  version === undefined ? query : `${query}${query === '' ? '?' : '&'}v=${versionText(version)}`;

/**
 * The media playlist of one track. Undefined when the range has no segment yet. Segment durations
 * are differences of rounded times, so that their sum never drifts.
 */
export const liveMediaPlaylist = (input: LivePlaylistInput): string | undefined => {
  const { state, range } = input;
  const { segments, info } = state;
  const times = timesOf(info, input.times);
  const listed = findWindow(state, range, times);
  const window = hasParts(times) ? listed : { ...listed, end: completeEnd(segments, listed) };
  if (window.first >= window.end) return undefined;
  const skips = input.skip && !window.isComplete;
  const skipped = skips ? window.end - window.first - countNear(state, window, times, SKIP_TARGETS) : 0;
  // Where audio ends before the last part of video, hls.js 1.7 would never see the end.
  const firstNear = window.end - (window.isComplete ? 0 : countNear(state, window, times, PART_TARGETS));
  const isDiscontinuity = ({ discontinuity }: LiveSegment): boolean => discontinuity;
  const discontinuities = input.firstDiscontinuity + segments.slice(0, window.first).filter(isDiscontinuity).length;
  return [
    '#EXTM3U',
    `#EXT-X-VERSION:${hasParts(times) || skipped > 0 ? 9 : 7}`,
    `#EXT-X-TARGETDURATION:${times.targetSeconds}`,
    ...(range === 'window' ? [] : ['#EXT-X-PLAYLIST-TYPE:EVENT']),
    serverControl(times),
    // The first and only attribute, because Mux Player splits the line at the first `=`.
    ...(hasParts(times) ? [`#EXT-X-PART-INF:PART-TARGET=${times.partTargetSeconds}`] : []),
    `#EXT-X-MEDIA-SEQUENCE:${segments[window.first]!.number}`,
    `#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuities}`,
    // Of the whole broadcast: a playlist that loses the tag never gets it back.
    ...(isIndependent(state) ? ['#EXT-X-INDEPENDENT-SEGMENTS'] : []),
    ...(skipped > 0 ? [`#EXT-X-SKIP:SKIPPED-SEGMENTS=${skipped}`] : []),
    ...(input.keys ?? []).map((key) => `#EXT-X-KEY:${key}`),
    ...writeSegments({ ...input, times }, { first: window.first + skipped, end: window.end, firstNear }),
    ...(window.isComplete ? ['#EXT-X-ENDLIST'] : writeHints({ ...input, times })),
    '',
  ].join('\n');
};

/** Text has no parts. */
const timesOf = ({ kind }: LiveTrackInfo, times: LiveTimes): LiveTimes =>
  kind === 'text' ? { ...times, latencyMode: 'reduced' } : times;

/** Every segment so far starts with a key frame. */
const isIndependent = ({ segments }: LiveTrackState): boolean => segments.every(({ independent }) => independent);

/** Without parts, an incomplete segment is not listed. */
const completeEnd = (segments: readonly LiveSegment[], { end }: LiveWindow): number =>
  end > 0 && !segments[end - 1]!.complete ? end - 1 : end;

const serverControl = (times: LiveTimes): string => {
  const { targetSeconds, partTargetSeconds } = times;
  return `#EXT-X-SERVER-CONTROL:${[
    'CAN-BLOCK-RELOAD=YES',
    `CAN-SKIP-UNTIL=${SKIP_TARGETS * targetSeconds}`,
    ...(hasParts(times) ? [`PART-HOLD-BACK=${(HOLD_BACK_PARTS * partTargetSeconds!).toFixed(3)}`] : []),
    `HOLD-BACK=${HOLD_BACK_TARGETS * targetSeconds}`,
  ].join()}`;
};

const endTicksOf = ({ startTicks, durationTicks }: LiveSegment): number => startTicks + durationTicks;

/** How many of the newest segments of a window end within so many target durations of its end. */
const countNear = (
  { segments, info }: LiveTrackState,
  { first, end }: LiveWindow,
  { targetSeconds }: LiveTimes,
  targets: number,
): number => {
  const limitTicks = targets * targetSeconds * info.timescale;
  let count = 0;
  // Summed up, because times do not continue over a discontinuity.
  for (let ticks = 0; count < end - first && ticks < limitTicks; count += 1)
    ticks += segments[end - 1 - count]!.durationTicks;
  return count;
};

/** Segments whose text is kept as a whole: it never changes once they are away from the edge. */
const BLOCK_SEGMENTS = 256;
/** By the last segment of a block; of playlists without a query, which all viewers share. */
const blocks = new WeakMap<LiveSegment, string>();

/** Of a broadcast of twelve hours, only the newest segments are written again for each state. */
const writeSegments = (
  input: Pick<LivePlaylistInput, 'state' | 'times' | 'query'>,
  { first, end, firstNear }: Pick<LiveWindow, 'first' | 'end'> & { readonly firstNear: number },
): string[] => {
  const { segments } = input.state;
  const texts: string[] = [];
  for (let at = first; at < end; ) {
    const blockEnd = at + BLOCK_SEGMENTS;
    const isKept = at > first && at % BLOCK_SEGMENTS === 0 && blockEnd <= firstNear && input.query === '';
    const upTo = isKept ? blockEnd : Math.min(end, at + BLOCK_SEGMENTS - (at % BLOCK_SEGMENTS));
    const key = segments[upTo - 1]!;
    const text = (isKept ? blocks.get(key) : undefined) ?? writeBlock(input, { first, firstNear }, at, upTo);
    if (isKept) blocks.set(key, text);
    texts.push(text);
    at = upTo;
  }
  return texts;
};

const writeBlock = (
  { state, times, query }: Pick<LivePlaylistInput, 'state' | 'times' | 'query'>,
  { first, firstNear }: { readonly first: number; readonly firstNear: number },
  start: number,
  end: number,
): string => {
  const { segments, info } = state;
  const lines: string[] = [];
  for (let at = start; at < end; at += 1) {
    const segment = segments[at]!;
    const { number, config, discontinuity, complete, startTicks, version } = segment;
    const isFirst = at === first;
    if (discontinuity) lines.push('#EXT-X-DISCONTINUITY');
    if (info.kind !== 'text' && (isFirst || config !== segments[at - 1]!.config)) {
      const init = initSegment(state, config)!;
      lines.push(`#EXT-X-MAP:URI=${quote(`init-${init.number}.mp4${withVersion(query, init.version)}`)}`);
    }
    if (isFirst || discontinuity)
      lines.push(`#EXT-X-PROGRAM-DATE-TIME:${new Date(Math.round(segment.wallMs)).toISOString()}`);
    if (hasParts(times) && at >= firstNear) lines.push(...writeParts(segment, info.timescale, query));
    if (!complete) continue;
    const startTime = microsecondsOf(startTicks, info.timescale);
    const endTime = microsecondsOf(endTicksOf(segment), info.timescale);
    if (segment.gap) lines.push('#EXT-X-GAP');
    const ending = info.kind === 'text' ? 'vtt' : 'm4s';
    lines.push(`#EXTINF:${secondsText(endTime - startTime)},`, `${number}.${ending}${withVersion(query, version)}`);
  }
  return lines.join('\n');
};

const writeParts = (
  { number, startTicks, parts, version }: LiveSegment,
  timescale: number,
  query: string,
): string[] => {
  const ending = `m4s${withVersion(query, version)}`;
  let ticks = startTicks;
  return parts.map(({ durationTicks, independent }, part) => {
    const start = microsecondsOf(ticks, timescale);
    ticks += durationTicks;
    const duration = secondsText(microsecondsOf(ticks, timescale) - start);
    return `#EXT-X-PART:DURATION=${duration},URI=${quote(`${number}.${part}.${ending}`)}${independent ? ',INDEPENDENT=YES' : ''}`;
  });
};

/** What follows, and how far the other renditions are. */
const writeHints = ({ state, times, others, query }: LivePlaylistInput): string[] => {
  const last = state.segments.at(-1)!;
  const next = last.complete ? `${last.number + 1}.0` : `${last.number}.${last.parts.length}`;
  const hinted = `${next}.m4s${withVersion(query, last.complete ? state.version : last.version)}`;
  const reports = others.flatMap(({ uri, state: { segments } }) => {
    const listed = segments.findLast((segment) => segment.complete || (hasParts(times) && segment.parts.length > 0));
    if (!listed) return [];
    // A segment that was made on request has no parts.
    const part = hasParts(times) ? `,LAST-PART=${Math.max(0, listed.parts.length - 1)}` : '';
    return `#EXT-X-RENDITION-REPORT:URI=${quote(uri)},LAST-MSN=${listed.number}${part}`;
  });
  return [...(hasParts(times) ? [`#EXT-X-PRELOAD-HINT:TYPE=PART,URI=${quote(hinted)}`] : []), ...reports];
};

export interface LiveMultivariantInput extends Pick<MultivariantContent, 'title' | 'sessionKeys' | 'captions' | 'uri'> {
  /** The copied video first, lower rungs next, audio last. */
  readonly tracks: readonly LiveTrackState[];
  readonly textTracks?: readonly HlsTextTrack[];
  readonly modifiers: PlaybackModifiers;
}

/** The multivariant playlist of a broadcast; the rung that is not encoded is the first variant. */
export const liveMultivariantPlaylist = ({
  tracks,
  textTracks = [],
  modifiers,
  ...rest
}: LiveMultivariantInput): string => {
  const infos = tracks.map(({ info }) => info);
  const videos = infos.filter(({ kind }) => kind === 'video');
  const audioTracks = infos.flatMap((info) => (info.kind === 'audio' ? [audioTrackOf(info)] : []));
  const audio = combine(audioTracks.map((track) => track.audio));
  const renditions = videos.toReversed();
  const chosen =
    renditions.length > 0 ? chooseRenditions({ renditions, startRendition: videos[0]!.name }, modifiers) : [];
  const variants = chosen.map((info) => ({
    attributes: [
      ['BANDWIDTH', String(info.bandwidth + (audio?.bandwidth ?? 0))],
      ['RESOLUTION', info.width === undefined ? undefined : `${info.width}x${info.height}`],
      ['FRAME-RATE', info.frameRate?.toFixed(3)],
      ['CODECS', quote(audio ? `${info.codecs},${audio.codecs}` : info.codecs)],
    ] as const,
    child: { kind: 'video', rendition: info.name } as const,
  }));
  const listens = videos.length === 0 || modifiers.addAudioOnly;
  return writeMultivariant({
    ...rest,
    isIndependent: tracks.every(isIndependent),
    hasVideo: videos.length > 0,
    audioTracks,
    textTracks,
    variants: audio && listens ? [...variants, audioVariant(audio, audioTracks[0]!.rendition)] : variants,
    modifiers,
  });
};

const audioTrackOf = ({ name, bandwidth, codecs, channels }: LiveTrackInfo): HlsAudioTrack => ({
  rendition: name,
  name: 'Default',
  languageCode: 'und',
  primary: true,
  audio: { channels: channels === 1 ? 1 : 2, bandwidth, bitRate: bandwidth, codecs },
});
