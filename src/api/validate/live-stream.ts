import type { Static, TSchema } from 'typebox';
import type { AssetRequest, NewStaticRendition } from '../../domain/requests/asset-request.js';
import type {
  EmbeddedSubtitles,
  LatencyMode,
  LiveStreamRequest,
  LiveStreamUpdate,
  LiveSubtitles,
  NewSimulcastTarget as NewTarget,
} from '../../domain/requests/live-stream-request.js';
import { languageName } from '../../domain/tracks/track-name.js';
import { lastOf } from '../../lib/last-of.js';
import { Problems } from '../../lib/problems.js';
import {
  CreateLiveStreamBody,
  type EmbeddedSubtitlesEntry,
  type GeneratedSubtitlesEntry,
  NewSimulcastTarget,
  UpdateEmbeddedSubtitlesBody,
  UpdateGeneratedSubtitlesBody,
  UpdateLiveStreamBody,
  UpdateStaticRenditionsBody,
} from '../schemas/live-stream.js';
import { findRepeated, writeOutPolicies } from './create-asset.js';
import { readPage } from './list-query.js';
import { SETTINGS, writeOutSettings } from './new-asset-settings.js';
import { validateDrm } from './playback-id.js';
import { requireJsonObject, validate } from './validate.js';

/** The least quality of a live stream, and its default. */
const QUALITY = 'plus';
const MAX_DURATION_SECONDS = 12 * 3600;

/**
 * Checks everything in a request for a live stream that needs no lookup.
 * @throws KinoraError `invalid_parameters` with one message per problem, in body order
 */
export const validateCreateLiveStream = (body: unknown): LiveStreamRequest => {
  const problems = new Problems();
  const rawBody = requireJsonObject(body);
  const { written, read } = writeOutSettings(rawBody, problems, QUALITY, 'live streams');
  const full = { ...writeOutPolicies(rawBody, problems), ...(written && { [SETTINGS]: written }) };
  const parsed = validate(CreateLiveStreamBody, full, [], problems);
  const { asset, settings } = read(parsed.new_asset_settings ?? {});
  const simple = (parsed.playback_policies ?? parsed.playback_policy ?? []) as ('public' | 'signed')[];
  const advanced = parsed.advanced_playback_policies ?? [];
  advanced.forEach((entry, index) => {
    validateDrm(entry, ['advanced_playback_policies', index], problems);
  });
  const embedded = parsed.embedded_subtitles ?? [];
  checkChannels(embedded, problems);
  problems.throwIfAny(body);
  return {
    body,
    playbackPolicies: [...simple.map((policy) => ({ policy })), ...advanced],
    advancedOffset: simple.length,
    latencyMode: parsed.latency_mode ?? latencyOfFlags(parsed),
    reconnectWindow: parsed.reconnect_window,
    useSlate: parsed.use_slate_for_standard_latency,
    slateUrl: parsed.reconnect_slate_url,
    maxContinuousDuration: parsed.max_continuous_duration ?? MAX_DURATION_SECONDS,
    audioOnly: parsed.audio_only ?? false,
    test: parsed.test ?? false,
    passthrough: parsed.passthrough,
    meta: parsed.meta as Record<string, string> | undefined,
    embeddedSubtitles: embedded.map(withEmbeddedDefaults),
    generatedSubtitles: (parsed.generated_subtitles ?? []).map(withGeneratedDefaults),
    simulcastTargets: parsed.simulcast_targets ?? [],
    newAssetSettings: withCurrentNames(settings),
    asset,
  };
};

/**
 * The asset of a live stream with these settings.
 * @throws KinoraError `invalid_parameters`
 */
export const readLiveAsset = (newAssetSettings: object): AssetRequest =>
  validateCreateLiveStream({ [SETTINGS]: newAssetSettings }).asset;

/** Deprecated flags. */
const latencyOfFlags = ({
  low_latency: low,
  reduced_latency: reduced,
}: {
  readonly low_latency?: boolean;
  readonly reduced_latency?: boolean;
}): LatencyMode => {
  if (low) return 'low';
  return reduced ? 'reduced' : 'standard';
};

/** Settings are stored, and shown, without deprecated names. */
const withCurrentNames = ({ input, playback_policy, encoding_tier, ...settings }: Record<string, unknown>) => ({
  ...settings,
  ...(input !== undefined && { inputs: input }),
  ...(playback_policy !== undefined && { playback_policies: playback_policy }),
  ...(encoding_tier !== undefined && { video_quality: encoding_tier === 'premium' ? 'premium' : QUALITY }),
});

const withEmbeddedDefaults = ({
  language_code: code = 'en',
  language_channel: channel = 'cc1',
  name,
  passthrough,
}: Static<typeof EmbeddedSubtitlesEntry>): EmbeddedSubtitles => ({
  name: name || languageName(code),
  ...(passthrough && { passthrough }),
  language_code: code,
  language_channel: channel,
});

const withGeneratedDefaults = ({
  language_code: code = 'en',
  name,
  passthrough,
  transcription_vocabulary_ids: vocabularies = [],
}: Static<typeof GeneratedSubtitlesEntry>): LiveSubtitles => ({
  name: name || languageName(code),
  ...(passthrough && { passthrough }),
  language_code: code,
  ...(vocabularies.length > 0 && { transcription_vocabulary_ids: vocabularies }),
});

const checkChannels = (entries: readonly Static<typeof EmbeddedSubtitlesEntry>[], problems: Problems): void => {
  const channels = entries.map(({ language_channel: channel = 'cc1' }) => channel);
  for (const channel of findRepeated(channels))
    problems.add(['embedded_subtitles'], `contains a duplicate language_channel: ${channel}`);
};

const validateBody = <T extends TSchema>(schema: T, body: unknown, problems = new Problems()): Static<T> => {
  const valid = validate(schema, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return valid;
};

/** Body of PATCH /video/v1/live-streams/{id}. @throws KinoraError `invalid_parameters` */
export const validateUpdateLiveStream = (body: unknown): LiveStreamUpdate => {
  const update = validateBody(UpdateLiveStreamBody, body);
  return {
    latencyMode: update.latency_mode,
    reconnectWindow: update.reconnect_window,
    useSlate: update.use_slate_for_standard_latency,
    slateUrl: update.reconnect_slate_url,
    maxContinuousDuration: update.max_continuous_duration,
    passthrough: update.passthrough,
    meta: update.meta as Record<string, string> | undefined,
    newAssetSettings: update.new_asset_settings,
  };
};

/** Body of PUT …/embedded-subtitles. @throws KinoraError `invalid_parameters` */
export const validateEmbeddedSubtitles = (body: unknown): EmbeddedSubtitles[] => {
  const problems = new Problems();
  const { embedded_subtitles: entries = [] } = validate(
    UpdateEmbeddedSubtitlesBody,
    requireJsonObject(body),
    [],
    problems,
  );
  checkChannels(entries, problems);
  problems.throwIfAny(body);
  return entries.map(withEmbeddedDefaults);
};

/** Body of PUT …/generated-subtitles. @throws KinoraError `invalid_parameters` */
export const validateGeneratedSubtitles = (body: unknown): LiveSubtitles[] =>
  (validateBody(UpdateGeneratedSubtitlesBody, body).generated_subtitles ?? []).map(withGeneratedDefaults);

/** Body of POST …/simulcast-targets. @throws KinoraError `invalid_parameters` */
export const validateSimulcastTarget = (body: unknown): NewTarget => validateBody(NewSimulcastTarget, body);

/**
 * Body of PUT …/new-asset-settings/static-renditions.
 * @throws KinoraError `invalid_parameters`
 */
export const validateLiveStaticRenditions = (body: unknown): readonly NewStaticRendition[] => {
  const problems = new Problems();
  const { static_renditions: entries } = validate(UpdateStaticRenditionsBody, requireJsonObject(body), [], problems);
  const resolutions = (entries ?? []).map(({ resolution }) => resolution);
  for (const resolution of findRepeated(resolutions))
    problems.add(['static_renditions'], `contains a duplicate resolution: ${resolution}`);
  problems.throwIfAny(body);
  return entries;
};

const STATUSES = ['active', 'idle', 'disabled'] as const;

/** Query of GET /video/v1/live-streams. @throws KinoraError `invalid_parameters` */
export const readLiveStreamsQuery = (query: Readonly<Record<string, unknown>>) => {
  const problems = new Problems();
  const page = readPage(query, problems);
  const status = lastOf(query.status) || undefined;
  const isKnown = (text: string): text is (typeof STATUSES)[number] => (STATUSES as readonly string[]).includes(text);
  if (status !== undefined && !isKnown(status)) problems.add(['status'], `must be one of: ${STATUSES.join(', ')}`);
  problems.throwIfAny(query);
  return {
    ...page,
    status: status as (typeof STATUSES)[number] | undefined,
    streamKey: lastOf(query.stream_key) || undefined,
  };
};
