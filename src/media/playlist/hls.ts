import type { AudioPlan, OriginalRendition, Plan, VideoPlan, VideoRendition } from '../plan/plan.js';
import { secondsPerUnit } from '../plan/segment-times.js';
import { imageStream } from './image-playlist.js';
import {
  chooseRenditions,
  findSegmentWindow,
  type PlaybackModifiers,
  type SegmentWindow,
  withOriginal,
} from './playback-modifiers.js';

/**
 * HLS playlists (RFC 8216, version 7: fragmented MP4), pure: plan, tracks and modifiers in, text
 * out.
 */

export interface HlsAudioTrack {
  readonly rendition: string;
  readonly name: string;
  readonly languageCode: string;
  readonly primary: boolean;
  readonly audio: AudioFigures;
}

/** An audio track as listed in the multivariant playlist. */
export type AudioFigures = Pick<AudioPlan, 'channels' | 'bandwidth' | 'bitRate' | 'codecs'>;

export interface HlsTextTrack {
  readonly id: string;
  readonly name: string;
  readonly languageCode: string;
  readonly closedCaptions: boolean;
}

/** A playlist that the multivariant playlist refers to. */
export type HlsChild = {
  /** Present for instant clips. */
  readonly window?: SegmentWindow;
  /** The second, alternative URL of the same playlist. */
  readonly redundant?: true;
} & (
  | { readonly kind: 'video' | 'audio'; readonly rendition: string }
  | { readonly kind: 'text'; readonly trackId: string }
  | { readonly kind: 'images' }
);

export interface MultivariantInput {
  readonly plan: Plan;
  readonly title?: string;
  /** Absolute URL of `metadata.json`, for players that read chapters from it. */
  readonly chaptersUri?: string;
  /** Ready tracks only, primary first. */
  readonly audioTracks: readonly HlsAudioTrack[];
  readonly textTracks: readonly HlsTextTrack[];
  readonly modifiers: PlaybackModifiers;
  /** Attributes of each `EXT-X-SESSION-KEY`. */
  readonly sessionKeys?: readonly string[];
  readonly uri: (child: HlsChild) => string;
}

/** A quoted-string can't contain quotes, line ends or control characters (RFC 8216, 4.2). */
const quote = (text: string): string =>
  `"${text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').replaceAll('"', "'")}"`;

const attributes = (entries: readonly (readonly [string, string | undefined])[]): string =>
  entries.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])).join(',');

const AUDIO_GROUP = 'aud';
const TEXT_GROUP = 'sub';
const CAPTION_CHARACTERISTICS =
  'public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound';

const primarySubtag = (tag: string): string => tag.toLowerCase().split('-')[0]!;

/**
 * The track for `default_subtitles_lang`: an exact match, or else one with the same primary subtag.
 */
export const findDefaultText = (
  tracks: readonly HlsTextTrack[],
  language: string | undefined,
): HlsTextTrack | undefined => {
  if (language === undefined) return undefined;
  return (
    tracks.find((track) => track.languageCode.toLowerCase() === language.toLowerCase()) ??
    tracks.find((track) => primarySubtag(track.languageCode) === primarySubtag(language))
  );
};

/**
 * The text of the multivariant playlist. Without video, it lists one audio variant, regardless of
 * the resolution filters.
 */
export const multivariantPlaylist = (input: MultivariantInput): string => {
  const { plan, modifiers, audioTracks, textTracks } = input;
  const { video } = plan;
  const audio = combine(audioTracks.map(({ audio }) => audio));
  const window = findSegmentWindow(plan, modifiers);
  const uri = (child: HlsChild): string => input.uri(window ? { ...child, window } : child);
  const lines = ['#EXTM3U', '#EXT-X-VERSION:7', '#EXT-X-INDEPENDENT-SEGMENTS'];
  if (input.title !== undefined)
    lines.push(`#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.title",VALUE=${quote(input.title)}`);
  if (input.chaptersUri !== undefined)
    lines.push(`#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI=${quote(input.chaptersUri)}`);

  for (const key of input.sessionKeys ?? []) lines.push(`#EXT-X-SESSION-KEY:${key}`);

  const audioGroup = audioTracks.length > (video ? 0 : 1) ? AUDIO_GROUP : undefined;
  const audioName = uniqueNames();
  for (const track of audioGroup ? audioTracks : [])
    lines.push(
      `#EXT-X-MEDIA:${attributes([
        ['TYPE', 'AUDIO'],
        ['GROUP-ID', quote(AUDIO_GROUP)],
        ['NAME', audioName(track.name)],
        ['LANGUAGE', quote(track.languageCode)],
        ['DEFAULT', track.primary ? 'YES' : 'NO'],
        ['AUTOSELECT', 'YES'],
        ['CHANNELS', quote(String(track.audio.channels))],
        ['URI', quote(uri({ kind: 'audio', rendition: track.rendition }))],
      ])}`,
    );
  const defaultText = findDefaultText(textTracks, modifiers.defaultSubtitlesLang);
  const textName = uniqueNames();
  for (const track of textTracks)
    lines.push(
      `#EXT-X-MEDIA:${attributes([
        ['TYPE', 'SUBTITLES'],
        ['GROUP-ID', quote(TEXT_GROUP)],
        ['NAME', textName(track.name)],
        ['LANGUAGE', quote(track.languageCode)],
        ['DEFAULT', track === defaultText ? 'YES' : 'NO'],
        ['AUTOSELECT', 'YES'],
        ['FORCED', 'NO'],
        ['CHARACTERISTICS', track.closedCaptions ? quote(CAPTION_CHARACTERISTICS) : undefined],
        ['URI', quote(uri({ kind: 'text', trackId: track.id }))],
      ])}`,
    );

  const groups: [string, string | undefined][] = [
    ['AUDIO', audioGroup && quote(audioGroup)],
    ['SUBTITLES', textTracks.length > 0 ? quote(TEXT_GROUP) : undefined],
  ];
  const addVariant = (entries: readonly (readonly [string, string | undefined])[], child: HlsChild): void => {
    const line = `#EXT-X-STREAM-INF:${attributes([...entries, ...groups, ['CLOSED-CAPTIONS', video ? 'NONE' : undefined]])}`;
    lines.push(line, uri(child));
    redundant.push(line, uri({ ...child, redundant: true }));
  };
  const redundant: string[] = [];
  for (const rendition of video ? withOriginal(video, chooseRenditions(video, modifiers)) : [])
    addVariant(videoVariant(video!, audio, rendition), { kind: 'video', rendition: rendition.name });
  const primaryTrack = audioTracks[0];
  if (audio && primaryTrack && (!video || modifiers.addAudioOnly))
    addVariant(
      [
        ['BANDWIDTH', String(audio.bandwidth)],
        ['CODECS', quote(audio.codecs)],
      ],
      { kind: 'audio', rendition: primaryTrack.rendition },
    );
  if (modifiers.redundantStreams) lines.push(...redundant);
  if (video && modifiers.rokuTrickPlay) lines.push(imageStream(video, window, quote(uri({ kind: 'images' }))));
  return `${lines.join('\n')}\n`;
};

/** A variant must promise enough for each of its tracks (RFC 8216, 4.3.4.2). */
const combine = (tracks: readonly AudioFigures[]): Omit<AudioFigures, 'channels'> | undefined =>
  tracks.length === 0
    ? undefined
    : {
        bandwidth: Math.max(...tracks.map(({ bandwidth }) => bandwidth)),
        bitRate: Math.max(...tracks.map(({ bitRate }) => bitRate)),
        codecs: [...new Set(tracks.map(({ codecs }) => codecs))].join(),
      };

/**
 * Names in a group must differ (RFC 8216, 4.3.4.1.1), even after unquotable characters are
 * replaced.
 */
const uniqueNames = () => {
  const taken = new Set<string>();
  return (name: string): string => {
    let quoted = quote(name);
    for (let number = 2; taken.has(quoted); number += 1) quoted = quote(`${name} (${number})`);
    taken.add(quoted);
    return quoted;
  };
};

const videoVariant = (
  { frameRate, peakFrameRate = 0 }: VideoPlan,
  audio: Omit<AudioFigures, 'channels'> | undefined,
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
