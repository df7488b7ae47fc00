import type { TrackMedia } from '../../../domain/tracks/track-state.js';
import { checkSanity } from '../../../early/file/find-problem.js';
import { checkLimits, probeFile, reject } from '../../../early/file/probe-file.js';
import { readIndex } from '../../../early/file/read-index.js';
import { planAlternateAudio } from '../../../media/plan/alternate-audio.js';
import { clipStartSeconds, originOf } from '../../../media/plan/clip.js';
import { alternateAudioRendition } from '../../../media/plan/find-segment.js';
import type { AudioPlan, Gain, Plan } from '../../../media/plan/plan.js';
import { isMpegStreamFormat } from '../../../media/source/frames.js';
import type { SourceFacts } from '../../../media/source/source-facts.js';
import type { SourceIndex } from '../../../media/source/source-index.js';
import { mediaPriority } from '../../../pool/media-pool.js';
import {
  alternateAudioKey,
  trackConcatenatedIndexKey,
  trackConcatenatedKey,
  trackIndexKey,
} from '../../../storage/keys.js';
import { withConcatenatedRecordings } from '../file/concatenate.js';
import { describeInputFile } from '../file/input-file.js';
import { measureGain } from '../file/measure-gain.js';
import { fetchTrackSource, isStreamOfAsset, type TrackContext } from './track-source.js';

/**
 * From the URL of a file, or a stream of the asset's own file, to an alternate audio track: its
 * first audio stream, with the asset's segments and length.
 * @throws KinoraError what the fetcher throws; `invalid_input` for a file without usable audio
 */
export const ingestAudioTrack = async (context: TrackContext): Promise<void> => {
  const { track, state, signal } = context;
  const media = await state.findMedia(track);
  if (!media) return;
  if (!media.copied && !isStreamOfAsset(media)) await fetchTrackSource(context);
  await withAudio(context, media, async (opened) => {
    const { asset, audio } = await planAudio(context, media, opened);
    const rendition = alternateAudioRendition(track.id);
    const additional = { audio: new Map([[rendition, { audio, sourceKey: opened.key }]]) };
    await context.producer.warm(
      { id: track.asset_id, plan: asset, additional },
      { signal, priority: mediaPriority.warmUp },
      [rendition],
    );
    const completed = await state.complete(track.id, {
      ...describeAudio(opened.facts, audio, asset),
      plan: audio,
      concatenated: opened.concatenated,
      isSilentAsset: asset.audio === undefined,
    });
    if (!completed) await context.cache.removeRendition(track.asset_id, rendition);
    context.logger.info({ track_id: track.id, mode: audio.mode }, 'alternate audio track ready');
  });
};

/** The file that audio is read from, while it may be read. */
interface OpenAudio {
  readonly key: string;
  readonly path: string;
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  /** This is the copy with joined recordings. */
  readonly concatenated: boolean;
}

const withAudio = async (
  context: TrackContext,
  media: TrackMedia,
  use: (opened: OpenAudio) => Promise<void>,
): Promise<void> => {
  const { sourceAssetId, sourceTrackId, facts: knownFacts } = media;
  const key = alternateAudioKey(sourceAssetId, sourceTrackId, false);
  const source = await context.blobs.openLocal(key);
  try {
    const { path } = source;
    const facts = knownFacts ?? (await probe(context, path));
    checkLimits(facts);
    if (facts.audio.length === 0) {
      const reasons = facts.unplayable?.filter(({ type }) => type === 'audio').map(({ reason }) => reason) ?? [];
      reject(...(reasons.length > 0 ? reasons : ['The input file does not contain any audio.']));
    }
    const { track } = context;
    const isStream = isStreamOfAsset(media);
    // Streams of one file have an index each.
    const indexKey = isStream ? trackIndexKey(track.asset_id, track.id) : trackIndexKey(sourceAssetId, sourceTrackId);
    const index = await readIndex(context, indexKey, { path }, facts);
    const asItIs = { key, path, facts, index, concatenated: false };
    if (isStream || !index.discontinuous || !isMpegStreamFormat(facts.formatName)) return await use(asItIs);
    const concatenated = {
      key: trackConcatenatedKey(sourceAssetId, sourceTrackId),
      indexKey: trackConcatenatedIndexKey(sourceAssetId, sourceTrackId),
    };
    const recorded = { path, facts: withoutVideo(facts), concatenated };
    await withConcatenatedRecordings(context, recorded, (copy) =>
      use(copy ? { ...copy, key: concatenated.key, concatenated: true } : asItIs),
    );
  } finally {
    await source.release();
  }
};

const withoutVideo = ({ video: _video, ...facts }: SourceFacts): SourceFacts => facts;

const probe = async (context: TrackContext, path: string): Promise<SourceFacts> => {
  const { track, state } = context;
  const facts = await probeFile(context, { path }, { fresh: true });
  await state.saveInputFile(track, describeInputFile(facts));
  await state.saveFacts(track.id, facts);
  return facts;
};

const planAudio = async (
  context: TrackContext,
  media: TrackMedia,
  { path, facts, index }: OpenAudio,
): Promise<{ asset: Plan; audio: AudioPlan }> => {
  await checkSanity(context, { path }, withoutVideo(facts));
  const asset = await context.plan();
  const { copied, normalize } = media;
  const { num, den } = originOf(asset);
  const zero = isStreamOfAsset(media)
    ? { zeroSeconds: num / den }
    : copied && { zeroSeconds: copied.zeroSeconds + clipStartSeconds(asset, copied.clip) };
  const cut = (gain?: Gain): AudioPlan =>
    planAlternateAudio({ facts, index, plan: asset, ...zero, gain }) ??
    reject('The input file does not contain any playable duration.');
  const audio = cut();
  const gain = normalize ? await measureGain(context, path, audio) : undefined;
  return { asset, audio: gain ? cut(gain) : audio };
};

const describeAudio = ({ audio }: SourceFacts, { channels }: AudioPlan, { durationSeconds }: Plan) => ({
  durationSeconds: Math.round(Math.min(audio[0]!.durationSeconds || durationSeconds, durationSeconds) * 1000) / 1000,
  maxChannels: channels,
  maxChannelLayout: channels === 1 ? 'mono' : 'stereo',
});
