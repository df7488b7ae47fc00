import type { AudioPlan, OriginalRendition, Plan, VideoPlan, VideoRendition } from '../plan/plan.js';
import { secondsPerUnit } from '../plan/segment-times.js';
import { imageStream } from './image-playlist.js';
import {
  audioVariant,
  type CombinedAudio,
  combine,
  type HlsChild,
  type HlsVariant,
  type MultivariantContent,
  quote,
  writeMultivariant,
} from './multivariant.js';
import { chooseFamilies, findSegmentWindow, type PlaybackModifiers, type SegmentWindow } from './playback-modifiers.js';

/**
 * HLS playlists (RFC 8216, version 7: fragmented MP4), pure: plan, tracks and modifiers in, text
 * out.
 */

export interface MultivariantInput
  extends Omit<MultivariantContent, 'isIndependent' | 'hasVideo' | 'variants' | 'modifiers'> {
  readonly plan: Plan;
  readonly modifiers: PlaybackModifiers;
  /** Whether the plan's AV1 ladder is listed. */
  readonly listsAv1?: boolean | undefined;
}

/**
 * The text of the multivariant playlist. Without video, it lists one audio variant, regardless of
 * the resolution filters.
 */
export const multivariantPlaylist = (input: MultivariantInput): string => {
  const { plan, modifiers, audioTracks, listsAv1 = false } = input;
  const { video } = plan;
  const audio = combine(audioTracks.map(({ audio }) => audio));
  const window = findSegmentWindow(plan, modifiers);
  const uri = (child: HlsChild): string => input.uri(window ? { ...child, window } : child);
  const variants: HlsVariant[] = [];
  const families = video ? chooseFamilies(video, modifiers, listsAv1) : [];
  for (const rendition of families.flatMap(({ renditions }) => renditions))
    variants.push({
      attributes: videoVariant(video!, audio, rendition),
      child: { kind: 'video', rendition: rendition.name },
    });
  const primaryTrack = audioTracks[0];
  if (audio && primaryTrack && (!video || modifiers.addAudioOnly))
    variants.push(audioVariant(audio, primaryTrack.rendition));
  const playlist = writeMultivariant({ ...input, isIndependent: true, hasVideo: video !== undefined, variants, uri });
  return video && modifiers.rokuTrickPlay
    ? `${playlist}${imageStream(video, window, quote(uri({ kind: 'images' })))}\n`
    : playlist;
};

const videoVariant = (
  { frameRate, peakFrameRate = 0 }: VideoPlan,
  audio: CombinedAudio | undefined,
  rendition: VideoRendition & Partial<OriginalRendition>,
): [string, string | undefined][] => {
  const average = rendition.averageBandwidth;
  const framesPerSecond = Math.max(frameRate.num / frameRate.den, peakFrameRate) / rendition.frameStep;
  return [
    ['BANDWIDTH', String(rendition.bandwidth + (audio?.bandwidth ?? 0))],
    ['AVERAGE-BANDWIDTH', average === undefined ? undefined : String(average + (audio?.bitRate ?? 0))],
    ['RESOLUTION', `${rendition.width}x${rendition.height}`],
    // The maximum. A source with a single frame has no frame rate.
    ['FRAME-RATE', frameRate.num > 0 ? framesPerSecond.toFixed(3) : undefined],
    ['CODECS', quote(audio ? `${rendition.codecs},${audio.codecs}` : rendition.codecs)],
    ['VIDEO-RANGE', rendition.original?.videoRange],
  ];
};

export interface MediaPlaylistInput {
  /** Every video rendition has the same segments. */
  readonly part: VideoPlan | AudioPlan;
  /** The part that the segments of every playlist of the asset follow: `gridOf` of its plan. */
  readonly grid: VideoPlan | AudioPlan;
  readonly window?: SegmentWindow;
  /** More segments follow. */
  readonly grows?: boolean;
  /** See `Plan`. */
  readonly leastTargetSeconds?: number | undefined;
  /** Absent for text segments. */
  readonly initUri?: string;
  /** Attributes of each `EXT-X-KEY`. */
  readonly keys?: readonly string[];
  /** `segment` is counted from 0 at the start of the asset. */
  readonly segmentUri: (segment: number) => string;
}

const MICROSECONDS = 1_000_000;

const boundaryMicroseconds = (part: VideoPlan | AudioPlan): number[] => {
  const unit = secondsPerUnit(part);
  return part.boundaries.map((boundary) => Math.round(boundary * unit * MICROSECONDS));
};

const longestSeconds = (part: VideoPlan | AudioPlan): number => {
  const times = boundaryMicroseconds(part);
  return times.slice(1).reduce((longest, time, index) => Math.max(longest, time - times[index]!), 0) / MICROSECONDS;
};

/**
 * All playlists of an asset have the same target duration (RFC 8216, 6.2.4). No duration may exceed
 * it when rounded to whole seconds (4.3.3.1). Audio segments end at an audio frame near the end of
 * the video segment, so the target of the video suits them. An alternate audio track can end later
 * than the video.
 */
const targetSeconds = (part: VideoPlan | AudioPlan, grid: VideoPlan | AudioPlan, leastSeconds: number): number =>
  Math.max(leastSeconds, Math.ceil(longestSeconds(grid)), Math.round(longestSeconds(part)));

/**
 * A media playlist. Segment durations are differences of rounded times, so that their sum never
 * drifts.
 */
export const mediaPlaylist = ({
  part,
  grid,
  window,
  grows = false,
  leastTargetSeconds = 1,
  initUri,
  keys = [],
  segmentUri,
}: MediaPlaylistInput): string => {
  const times = boundaryMicroseconds(part);
  const first = window?.first ?? 0;
  const end = Math.min(window?.end ?? Number.POSITIVE_INFINITY, times.length - 1);
  const segments = Array.from({ length: Math.max(end - first, 0) }, (_, index) => ({
    uri: segmentUri(first + index),
    microseconds: times[first + index + 1]! - times[first + index]!,
  }));
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${targetSeconds(part, grid, leastTargetSeconds)}`,
    '#EXT-X-MEDIA-SEQUENCE:0',
    // Players start at the end of a playlist that grows, unless it says otherwise.
    ...(grows ? ['#EXT-X-PLAYLIST-TYPE:EVENT', '#EXT-X-START:TIME-OFFSET=0'] : ['#EXT-X-PLAYLIST-TYPE:VOD']),
    '#EXT-X-INDEPENDENT-SEGMENTS',
    ...keys.map((key) => `#EXT-X-KEY:${key}`),
    ...(initUri === undefined ? [] : [`#EXT-X-MAP:URI=${quote(initUri)}`]),
    ...segments.flatMap(({ uri, microseconds }) => [`#EXTINF:${(microseconds / MICROSECONDS).toFixed(6)},`, uri]),
    ...(grows ? [] : ['#EXT-X-ENDLIST']),
    '',
  ].join('\n');
};
