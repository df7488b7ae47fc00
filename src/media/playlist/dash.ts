import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import { spriteSheetSize } from '../image/storyboard.js';
import { type AudioPlan, isOriginal, type Plan, type VideoPlan, type VideoRendition } from '../plan/plan.js';
import { gridOf } from '../plan/segment-times.js';
import { contentProtection, type DashKey } from './dash-protection.js';
import { sheetBandwidth, windowStoryboard } from './image-playlist.js';
import { findDefaultText, type HlsAudioTrack, type HlsChild, type HlsTextTrack } from './multivariant.js';
import {
  chooseFamilies,
  findSegmentWindow,
  type PlaybackModifiers,
  type SegmentWindow,
  type VariantFamily,
} from './playback-modifiers.js';
import { element, textElement, type XmlAttributes, xmlDocument } from './xml.js';

/**
 * Writes a DASH manifest (ISO/IEC 23009-1) for the same segments as the HLS playlists. Its times
 * are exact ticks of the plan.
 */

export interface DashAudioTrack extends HlsAudioTrack {
  readonly audio: AudioPlan;
}

export interface DashInput {
  readonly plan: Plan;
  readonly title?: string;
  /** Ready tracks only, primary first. */
  readonly audioTracks: readonly DashAudioTrack[];
  readonly textTracks: readonly HlsTextTrack[];
  readonly modifiers: PlaybackModifiers;
  /** Whether the plan's AV1 ladder is listed. */
  readonly listsAv1?: boolean | undefined;
  /** Whether the sprite sheet for previews can be had. */
  readonly hasPreviews: boolean;
  /** Present for DRM playback IDs. */
  readonly keys?: { readonly video: DashKey; readonly audio: DashKey };
  /** URL of a file of a child. `$Number$` in the name stands for a segment number. */
  readonly uri: (child: HlsChild, file: string) => string;
}

const PROFILES = 'urn:mpeg:dash:profile:isoff-live:2011,urn:mpeg:dash:profile:cmaf:2019';
/** The encoder's rate limit applies to any two seconds. */
const MIN_BUFFER = 'PT2S';
const ROLE = 'urn:mpeg:dash:role:2011';
const CHANNELS = 'urn:mpeg:dash:23003:3:audio_channel_configuration:2011';
const SWITCHING = 'urn:mpeg:dash:adaptation-set-switching:2016';
const TRANSFER = 'urn:mpeg:mpegB:cicp:TransferCharacteristics';
const TILES = 'http://dashif.org/guidelines/thumbnail_tile';
/** bit/s of text, required by the format. An upper bound: people read less. */
const TEXT_BANDWIDTH = 1000;
const NUMBER = '$Number$';
const MILLISECONDS = 1000;

export const dashManifest = (input: DashInput): string => {
  const { plan, title, modifiers, audioTracks, textTracks } = input;
  const window = findSegmentWindow(plan, modifiers);
  const { boundaries, ticksPerUnit, timescale } = gridTicks(plan);
  const { first, end } = clampWindow(boundaries, window);
  const startTicks = boundaries[first]! * ticksPerUnit;
  const context: Context = {
    ...input,
    window,
    startSeconds: startTicks / timescale,
    uri: (child, file) => input.uri(window ? { ...child, window } : child, file),
  };
  const defaultText = findDefaultText(textTracks, modifiers.defaultSubtitlesLang);
  const sets: ((id: number) => string)[] = [
    ...(plan.video ? videoSets(context, plan.video) : []),
    ...audioTracks.map((track) => audioSet(context, track)),
    ...textTracks.map((track) => textSet(context, track, track === defaultText)),
    ...(plan.video && input.hasPreviews ? [imageSet(context, plan.video)] : []),
  ];
  return xmlDocument(
    element(
      'MPD',
      {
        xmlns: 'urn:mpeg:dash:schema:mpd:2011',
        'xmlns:cenc': input.keys && 'urn:mpeg:cenc:2013',
        profiles: PROFILES,
        type: 'static',
        mediaPresentationDuration: duration(
          Math.max(
            (boundaries[end]! * ticksPerUnit - startTicks) / timescale,
            // The last AAC frame ends up to a frame after the video.
            ...audioTracks.map(({ audio }) => endOf(audio, window) - context.startSeconds),
          ),
        ),
        minBufferTime: MIN_BUFFER,
      },
      title === undefined ? undefined : element('ProgramInformation', {}, textElement('Title', {}, title)),
      element('Period', { id: '0', start: 'PT0S' }, ...sets.map((set, id) => set(id))),
    ),
  );
};

interface Context extends DashInput {
  readonly window: SegmentWindow | undefined;
  /** Time of the asset at which the manifest begins. */
  readonly startSeconds: number;
}

interface GridTicks {
  readonly boundaries: readonly number[];
  readonly ticksPerUnit: number;
  readonly timescale: number;
}

const ticksOf = (part: VideoPlan | AudioPlan): GridTicks =>
  'timescale' in part
    ? { boundaries: part.boundaries, ticksPerUnit: 1, timescale: part.timescale }
    : { boundaries: part.boundaries, ticksPerUnit: AAC_FRAME_SAMPLES, timescale: part.sampleRate };

const gridTicks = (plan: Plan): GridTicks => {
  const part = gridOf(plan);
  return part ? ticksOf(part) : { boundaries: [0, 0], ticksPerUnit: 1, timescale: 1 };
};

const clampWindow = (boundaries: readonly number[], window: SegmentWindow | undefined): SegmentWindow => {
  const count = boundaries.length - 1;
  const first = Math.min(window?.first ?? 0, count);
  return { first, end: Math.max(first, Math.min(window?.end ?? count, count)) };
};

/** The end of the window's last segment, in seconds on the asset's timeline. */
const endOf = (part: AudioPlan, window: SegmentWindow | undefined): number => {
  const { boundaries, ticksPerUnit, timescale } = ticksOf(part);
  return (boundaries[clampWindow(boundaries, window).end]! * ticksPerUnit) / timescale;
};

/**
 * The next whole millisecond. Players drop a frame that ends after the presentation, and dash.js
 * pauses half a second before the end if the playhead reaches it before the browser reports it
 * (decision 39).
 */
const duration = (endSeconds: number): string => {
  const endMicroseconds = Math.round(endSeconds * 1_000_000);
  return `PT${((Math.floor(endMicroseconds / MILLISECONDS) + 1) / MILLISECONDS).toFixed(3)}S`;
};

/**
 * Attributes and times that the representations of a set share. `addresses` are the URLs of one
 * representation.
 */
const segmentTimes = (
  { window, startSeconds }: Context,
  part: VideoPlan | AudioPlan,
  addresses: XmlAttributes = {},
): string => {
  const { boundaries, ticksPerUnit, timescale } = ticksOf(part);
  const { first, end } = clampWindow(boundaries, window);
  const runs: { ticks: number; repeats: number }[] = [];
  for (let segment = first; segment < end; segment += 1) {
    const ticks = (boundaries[segment + 1]! - boundaries[segment]!) * ticksPerUnit;
    const last = runs.at(-1);
    if (last?.ticks === ticks) last.repeats += 1;
    else runs.push({ ticks, repeats: 0 });
  }
  const startTicks = Math.round(startSeconds * timescale);
  return element(
    'SegmentTemplate',
    { timescale, startNumber: first, presentationTimeOffset: startTicks > 0 ? startTicks : undefined, ...addresses },
    element(
      'SegmentTimeline',
      {},
      ...runs.map(({ ticks, repeats }, run) =>
        element('S', {
          t: run === 0 ? boundaries[first]! * ticksPerUnit : undefined,
          d: ticks,
          r: repeats > 0 ? repeats : undefined,
        }),
      ),
    ),
  );
};

const segmentAddresses = ({ uri }: Context, child: HlsChild): XmlAttributes => ({
  initialization: uri(child, 'init.mp4'),
  media: uri(child, `${NUMBER}.m4s`),
});

const role = (value: string): string => element('Role', { schemeIdUri: ROLE, value });

/** A set for each codec. Players may switch between the two. */
const videoSets = (context: Context, video: VideoPlan): ((id: number) => string)[] => {
  const families = chooseFamilies(video, context.modifiers, context.listsAv1 ?? false);
  if (families.length === 1) return [(id) => videoSet(context, video, families[0]!.renditions, { id })];
  const other = [1, -1];
  return families.map(
    ({ renditions }, index) =>
      (id: number) =>
        videoSet(context, video, renditions, { id, switchesTo: id + other[index]! }),
  );
};

const videoSet = (
  context: Context,
  video: VideoPlan,
  renditions: VariantFamily['renditions'],
  { id, switchesTo }: { readonly id: number; readonly switchesTo?: number },
): string =>
  element(
    'AdaptationSet',
    { id, contentType: 'video', mimeType: 'video/mp4', segmentAlignment: 'true', startWithSAP: 1, sar: '1:1' },
    ...(context.keys ? contentProtection(context.keys.video) : []),
    ...renditions.filter(isOriginal).flatMap(({ original: { videoRange } }) => colorProperties(videoRange)),
    switchesTo === undefined
      ? undefined
      : element('SupplementalProperty', { schemeIdUri: SWITCHING, value: switchesTo }),
    role('main'),
    segmentTimes(context, video),
    ...renditions.map((rendition) => videoRepresentation(context, video, rendition)),
  );

/** Code points of ISO/IEC 23091-2, which tell players that a set is HDR. */
const colorProperties = (videoRange: 'PQ' | 'HLG' | undefined): string[] =>
  videoRange ? [element('EssentialProperty', { schemeIdUri: TRANSFER, value: videoRange === 'PQ' ? 16 : 18 })] : [];

const videoRepresentation = (context: Context, { frameRate }: VideoPlan, rendition: VideoRendition): string => {
  const { name, codecs, width, height, bandwidth, frameStep } = rendition;
  const den = frameRate.den * frameStep;
  return element(
    'Representation',
    {
      id: name,
      codecs,
      bandwidth,
      width,
      height,
      // A source with a single frame has no frame rate.
      frameRate: frameRate.num > 0 ? `${frameRate.num}/${den}` : undefined,
    },
    element('SegmentTemplate', segmentAddresses(context, { kind: 'video', rendition: name })),
  );
};

const audioSet =
  (context: Context, { rendition, name, languageCode, primary, audio }: DashAudioTrack) =>
  (id: number): string =>
    element(
      'AdaptationSet',
      {
        id,
        contentType: 'audio',
        mimeType: 'audio/mp4',
        lang: languageCode,
        segmentAlignment: 'true',
        startWithSAP: 1,
      },
      ...(context.keys ? contentProtection(context.keys.audio) : []),
      textElement('Label', {}, name),
      role(primary ? 'main' : 'alternate'),
      segmentTimes(context, audio, segmentAddresses(context, { kind: 'audio', rendition })),
      element(
        'Representation',
        { id: rendition, codecs: audio.codecs, bandwidth: audio.bandwidth, audioSamplingRate: audio.sampleRate },
        element('AudioChannelConfiguration', { schemeIdUri: CHANNELS, value: audio.channels }),
      ),
    );

const textSet =
  ({ uri }: Context, { id: trackId, name, languageCode, closedCaptions }: HlsTextTrack, isDefault: boolean) =>
  (id: number): string =>
    element(
      'AdaptationSet',
      { id, contentType: 'text', mimeType: 'text/vtt', lang: languageCode },
      textElement('Label', {}, name),
      isDefault ? role('main') : undefined,
      role(closedCaptions ? 'caption' : 'subtitle'),
      element(
        'Representation',
        { id: `text-${trackId}`, bandwidth: TEXT_BANDWIDTH },
        textElement('BaseURL', {}, uri({ kind: 'text', trackId }, 'text.vtt')),
      ),
    );

/**
 * One sprite sheet for previews. Its last row may have empty cells, which count towards its
 * duration.
 */
const imageSet =
  ({ uri, window }: Context, video: VideoPlan) =>
  (id: number): string => {
    const storyboard = windowStoryboard(video, window);
    const { columns, rows, tiles } = storyboard;
    const seconds = storyboard.window.endSeconds - storyboard.window.startSeconds;
    return element(
      'AdaptationSet',
      { id, contentType: 'image', mimeType: 'image/jpeg' },
      element('SegmentTemplate', {
        media: uri({ kind: 'images' }, 'storyboard.jpg'),
        timescale: MILLISECONDS,
        duration: Math.ceil((seconds * MILLISECONDS * columns * rows) / tiles),
        startNumber: 1,
      }),
      element(
        'Representation',
        { id: 'images', bandwidth: sheetBandwidth(storyboard), ...spriteSheetSize(storyboard) },
        element('EssentialProperty', { schemeIdUri: TILES, value: `${columns}x${rows}` }),
      ),
    );
  };
