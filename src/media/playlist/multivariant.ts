import type { ClosedCaptions } from '../captions/caption-decoder.js';
import type { AudioPlan } from '../plan/plan.js';
import type { PlaybackModifiers, SegmentWindow } from './playback-modifiers.js';

/** The multivariant playlist (RFC 8216, 4.3.4), whatever its variants are made from. */

export interface HlsAudioTrack {
  readonly rendition: string;
  readonly name: string;
  readonly languageCode: string;
  readonly primary: boolean;
  readonly audio: AudioFigures;
}

/** An audio track as listed in the multivariant playlist. */
export type AudioFigures = Pick<AudioPlan, 'channels' | 'bandwidth' | 'bitRate' | 'codecs'>;

/** What all audio tracks of a group need together. */
export type CombinedAudio = Omit<AudioFigures, 'channels'>;

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

type Attributes = readonly (readonly [string, string | undefined])[];

export interface HlsVariant {
  readonly attributes: Attributes;
  readonly child: HlsChild;
}

export interface MultivariantContent {
  /** Every segment of every variant starts with a key frame. */
  readonly isIndependent: boolean;
  readonly hasVideo: boolean;
  readonly title?: string;
  /** Absolute URL of `metadata.json`, for players that read chapters from it. */
  readonly chaptersUri?: string;
  /** Attributes of each `EXT-X-SESSION-KEY`. */
  readonly sessionKeys?: readonly string[];
  /** Ready tracks only, primary first. */
  readonly audioTracks: readonly HlsAudioTrack[];
  readonly textTracks: readonly HlsTextTrack[];
  /** In every variant with video, because players expect them in all or none of them. */
  readonly captions?: readonly ClosedCaptions[];
  /** In the order of the playlist. */
  readonly variants: readonly HlsVariant[];
  readonly modifiers: Pick<PlaybackModifiers, 'defaultSubtitlesLang' | 'redundantStreams'>;
  readonly uri: (child: HlsChild) => string;
}

/** A quoted-string can't contain quotes, line ends or control characters (RFC 8216, 4.2). */
export const quote = (text: string): string =>
  `"${text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').replaceAll('"', "'")}"`;

const attributes = (entries: readonly (readonly [string, string | undefined])[]): string =>
  entries.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])).join(',');

const AUDIO_GROUP = 'aud';
const TEXT_GROUP = 'sub';
const CAPTIONS_GROUP = 'cc';
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

/** An audio group is listed beside video, or for a choice between several tracks. */
export const writeMultivariant = (content: MultivariantContent): string => {
  const { audioTracks, textTracks, modifiers, hasVideo, uri } = content;
  const lines = ['#EXTM3U', '#EXT-X-VERSION:7'];
  if (content.isIndependent) lines.push('#EXT-X-INDEPENDENT-SEGMENTS');
  if (content.title !== undefined)
    lines.push(`#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.title",VALUE=${quote(content.title)}`);
  if (content.chaptersUri !== undefined)
    lines.push(`#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI=${quote(content.chaptersUri)}`);
  for (const key of content.sessionKeys ?? []) lines.push(`#EXT-X-SESSION-KEY:${key}`);

  const audioGroup = audioTracks.length > (hasVideo ? 0 : 1) ? AUDIO_GROUP : undefined;
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

  const captions = hasVideo ? (content.captions ?? []) : [];
  const captionsName = uniqueNames();
  for (const { name, languageCode, channel } of captions)
    lines.push(
      `#EXT-X-MEDIA:${attributes([
        ['TYPE', 'CLOSED-CAPTIONS'],
        ['GROUP-ID', quote(CAPTIONS_GROUP)],
        ['NAME', captionsName(name)],
        ['LANGUAGE', quote(languageCode)],
        ['DEFAULT', 'NO'],
        ['AUTOSELECT', 'YES'],
        ['INSTREAM-ID', quote(channel.toUpperCase())],
        ['CHARACTERISTICS', quote(CAPTION_CHARACTERISTICS)],
      ])}`,
    );

  const groups: Attributes = [
    ['AUDIO', audioGroup && quote(audioGroup)],
    ['SUBTITLES', textTracks.length > 0 ? quote(TEXT_GROUP) : undefined],
    ['CLOSED-CAPTIONS', captions.length > 0 ? quote(CAPTIONS_GROUP) : hasVideo ? 'NONE' : undefined],
  ];
  const writeVariants = (redundant: { readonly redundant?: true }): string[] =>
    content.variants.flatMap((variant) => [
      `#EXT-X-STREAM-INF:${attributes([...variant.attributes, ...groups])}`,
      uri({ ...variant.child, ...redundant }),
    ]);
  lines.push(...writeVariants({}));
  if (modifiers.redundantStreams) lines.push(...writeVariants({ redundant: true }));
  return `${lines.join('\n')}\n`;
};

/** A variant must promise enough for each of its tracks (RFC 8216, 4.3.4.2). */
export const combine = (tracks: readonly AudioFigures[]): CombinedAudio | undefined =>
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

/** For audio without video, and for viewers who only listen. */
export const audioVariant = (audio: CombinedAudio, rendition: string): HlsVariant => ({
  attributes: [
    ['BANDWIDTH', String(audio.bandwidth)],
    ['CODECS', quote(audio.codecs)],
  ],
  child: { kind: 'audio', rendition },
});
