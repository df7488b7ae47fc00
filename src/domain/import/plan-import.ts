import type { MainTrackIds } from '../../db/schema.js';
import { isId, newId } from '../../lib/ids.js';
import { mp4Supports, resolutions } from '../requests/asset-request.js';
import type { ImportedRendition, ImportedSettings, ImportedTrack, ImportOrder } from './import-order.js';
import type { SourceAsset, SourceTrack } from './source-asset.js';

/** A track whose file is still to be found. */
export type PlannedTrack = Omit<ImportedTrack, 'url' | 'isPlaylist'>;

/** How an asset of another server can be made here. */
export interface ImportPlan {
  readonly playbackIds: ImportOrder['playbackIds'];
  readonly mainTracks: MainTrackIds;
  readonly mainAudio: ImportOrder['mainAudio'];
  readonly tracks: readonly PlannedTrack[];
  readonly renditions: readonly ImportedRendition[];
  readonly settings: ImportedSettings;
  /** What the asset will lack or change here, one sentence each. */
  readonly notes: readonly string[];
}

export interface ImportSettings {
  /** The configuration here that playback IDs with the policy `drm` get. */
  readonly drmConfigurationId?: string;
}

/** A sentence that says why the asset can't be imported, or how it can be. */
export const planImport = (source: SourceAsset, { drmConfigurationId }: ImportSettings): ImportPlan | string => {
  const rejection = whyNot(source);
  if (rejection !== undefined) return rejection;
  const notes: string[] = [];
  if (source.live_stream_id !== undefined)
    notes.push('It was recorded from a live stream; here it is an ordinary asset without live_stream_id.');
  if (source.directives?.length) notes.push('Its directives are not set here: their workflows have run at the source.');
  if (source.test) notes.push('It is a test asset, which is deleted 24 hours after its creation here too.');
  return {
    playbackIds: planPlaybackIds(source, drmConfigurationId, notes),
    ...planTracks(source, notes),
    renditions: planRenditions(source, notes),
    settings: planSettings(source, notes),
    notes,
  };
};

const whyNot = ({ id, status, is_live: isLive, errors }: SourceAsset): string | undefined => {
  if (!isId(id)) return 'Its ID has an unknown form.';
  if (isLive) return 'It is live. Import it when the stream has ended.';
  if (status === 'preparing') return 'It is still preparing at the source. Run the import again later.';
  if (status === 'errored') return `It failed at the source: ${errors?.messages?.join(' ') ?? 'no reason is given.'}`;
  return status === 'ready' ? undefined : `Its status is unknown: ${status}.`;
};

const planPlaybackIds = (
  { playback_ids: sourceIds = [] }: SourceAsset,
  drmConfigurationId: string | undefined,
  notes: string[],
): ImportPlan['playbackIds'] =>
  sourceIds.flatMap(({ id, policy }): ImportPlan['playbackIds'][number][] => {
    if (isId(id) && (policy === 'public' || policy === 'signed')) return [{ id, policy }];
    if (isId(id) && policy === 'drm' && drmConfigurationId !== undefined)
      return [{ id, policy, drm_configuration_id: drmConfigurationId }];
    notes.push(
      policy === 'drm'
        ? `The playback ID ${id} is not moved: its policy is drm. Name a DRM configuration with --drm-configuration.`
        : `The playback ID ${id} is not moved: its policy ${policy} is unknown.`,
    );
    return [];
  });

const textSources = ['uploaded', 'embedded', 'generated_live', 'generated_live_final', 'generated_vod'] as const;

const planTracks = (
  { tracks = [] }: SourceAsset,
  notes: string[],
): Pick<ImportPlan, 'mainTracks' | 'mainAudio' | 'tracks'> => {
  const audios = tracks.filter(({ type }) => type === 'audio');
  const main = audios.find(({ primary }) => primary) ?? audios[0];
  const video = tracks.find(({ type }) => type === 'video');
  const others = tracks.filter((track) => track !== main && (track.type === 'audio' || track.type === 'text'));
  return {
    mainTracks: { ...idOf('video', video), ...idOf('audio', main) },
    mainAudio: {
      ...(main?.name && { name: main.name }),
      ...(main?.language_code && { language_code: main.language_code }),
    },
    tracks: others.flatMap((track) => planTrack(track, notes)),
  };
};

const idOf = (kind: 'video' | 'audio', track: SourceTrack | undefined): MainTrackIds =>
  track && isId(track.id) ? { [kind]: track.id } : {};

const planTrack = (track: SourceTrack, notes: string[]): PlannedTrack[] => {
  const { id, status, name = '', language_code: languageCode = 'und', passthrough } = track;
  const label = `The ${track.type} track ${id}${name && ` (${name})`}`;
  if (!isId(id)) notes.push(`${label} is not moved: its ID has an unknown form.`);
  else if (status === 'errored') notes.push(`${label} is not moved: it failed at the source.`);
  else if (status !== undefined && status !== 'ready')
    notes.push(`${label} is not moved: it is ${status} at the source. Wait until it is ready to import it.`);
  else {
    const textSource = textSources.find((candidate) => candidate === track.text_source);
    const text = {
      textSource: textSource ?? 'uploaded',
      closedCaptions: track.closed_captions ?? false,
      ...(passthrough && { passthrough }),
      languageConfidence: track.auto_language_confidence,
    } as const;
    const type = track.type === 'text' ? 'text' : 'audio';
    return [{ id, type, name: name || languageCode, languageCode, ...(type === 'text' && text) }];
  }
  return [];
};

const planRenditions = (source: SourceAsset, notes: string[]): ImportedRendition[] => {
  if ((source.mp4_support ?? 'none') !== 'none') return [];
  return (source.static_renditions?.files ?? []).flatMap(({ id, name, resolution, status, passthrough }) => {
    const match = resolutions.find((candidate) => candidate === resolution);
    const label = `The static rendition ${name ?? resolution}`;
    if (!match) notes.push(`${label} is not moved: its resolution ${resolution} is unknown.`);
    else if (status === 'errored') notes.push(`${label} is not moved: it failed at the source.`);
    else {
      const own = id !== undefined && isId(id) ? id : newId();
      return [{ id: own, resolution: match, ...(passthrough && { passthrough }) }];
    }
    return [];
  });
};

const qualityOfTier: Readonly<Record<string, string>> = { baseline: 'basic', smart: 'plus', premium: 'premium' };

const planSettings = (source: SourceAsset, notes: string[]): ImportedSettings => {
  const choose = <T extends string>(field: string, rawValue: string | undefined, values: readonly T[], other: T): T => {
    const match = values.find((value) => value === rawValue);
    if (rawValue !== undefined && match === undefined)
      notes.push(`${field} ${rawValue} is unknown; here it is ${other}.`);
    return match ?? other;
  };
  const quality = source.video_quality ?? qualityOfTier[source.encoding_tier ?? ''];
  const types = ['on_demand_url', 'on_demand_direct_upload', 'on_demand_clip'] as const;
  const { meta = {} } = source;
  const entries = Object.entries(meta).filter(([key, value]) => metaKeys.has(key) && typeof value === 'string');
  const dropped = Object.keys(meta).filter((key) => !entries.some(([name]) => name === key));
  if (dropped.length > 0) notes.push(`The metadata ${dropped.join(', ')} is not moved: the API has no such field.`);
  return {
    // Live recordings have types of their own, which are not made here.
    ingest_type: types.find((type) => type === source.ingest_type) ?? 'on_demand_url',
    video_quality: choose('video_quality', quality, ['basic', 'plus', 'premium'], 'basic'),
    max_resolution_tier: choose(
      'max_resolution_tier',
      source.max_resolution_tier,
      ['1080p', '1440p', '2160p'],
      '1080p',
    ),
    mp4_support: choose('mp4_support', source.mp4_support, mp4Supports, 'none'),
    master_access: source.master_access === 'temporary' ? 'temporary' : 'none',
    normalize_audio: source.normalize_audio ?? false,
    generate_shots: source.generate_shots ?? false,
    is_test: source.test ?? false,
    passthrough: source.passthrough || null,
    meta: entries.length > 0 ? (Object.fromEntries(entries) as Record<string, string>) : null,
    thumbnail_time: source.thumbnail_time ?? null,
    upload_id: source.upload_id ?? null,
    source_asset_id: source.source_asset_id ?? null,
  };
};

const metaKeys: ReadonlySet<string> = new Set(['title', 'creator_id', 'external_id']);
