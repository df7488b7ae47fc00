import type { TrackMedia } from '../../domain/tracks/track-state.js';
import { clipStartSeconds } from '../../media/clip.js';
import { furtherAudioRendition } from '../../media/find-segment.js';
import { planFurtherAudio } from '../../media/further-audio.js';
import type { AudioPlan, Gain, Plan } from '../../media/plan.js';
import type { AudioFacts, SourceFacts } from '../../media/source-facts.js';
import { mediaPriority } from '../../pool/media-pool.js';
import { trackIndexKey, trackSourceKey } from '../../storage/keys.js';
import { findProblem } from './find-problem.js';
import { describeInputFile } from './input-file.js';
import { measureGain } from './measure-gain.js';
import { checkLimits, probeFile, refuse } from './probe-file.js';
import { readIndex } from './read-index.js';
import { fetchTrackSource, type TrackIngest, type TrackIngestDeps } from './track-source.js';

/**
 * From the address of a file to a further audio track: the first sound of the file, cut like the asset and as long.
 * @throws KinoraError what the fetcher throws; `invalid_input` for a file without usable sound
 */
export const ingestAudioTrack = async (deps: TrackIngestDeps, ingest: TrackIngest): Promise<void> => {
  const { track, signal } = ingest;
  const media = await deps.state.findMedia(track);
  if (!media) return;
  if (!media.copied) await fetchTrackSource(deps, track, { signal });
  const sourceKey = trackSourceKey(media.sourceAssetId, media.sourceTrackId);
  const source = await deps.blobs.openLocal(sourceKey);
  try {
    const facts = media.facts ?? (await probe(deps, ingest, source.path));
    checkLimits(facts);
    const sound = facts.audio[0] ?? refuse('The input file does not contain any audio.');
    const { asset, audio } = await planSound(deps, ingest, { media, path: source.path, facts });
    const rendition = furtherAudioRendition(track.id);
    await deps.producer.warm(
      { id: track.asset_id, plan: asset, further: { audio: new Map([[rendition, { audio, sourceKey }]]) } },
      { signal, priority: mediaPriority.warmUp },
      [rendition],
    );
    const completed = await deps.state.complete(track.id, {
      ...describeSound(sound, audio, asset),
      plan: audio,
      isSilentAsset: asset.audio === undefined,
    });
    if (!completed) await deps.segments.removeRendition(track.asset_id, rendition);
    deps.logger.info({ track_id: track.id, mode: audio.mode }, 'a further audio track is ready');
  } finally {
    await source.release();
  }
};

const probe = async (deps: TrackIngestDeps, { track, signal }: TrackIngest, path: string): Promise<SourceFacts> => {
  const facts = await probeFile(deps, path, { signal, fresh: true });
  await deps.state.saveInputFile(track, describeInputFile(facts));
  await deps.state.saveFacts(track.id, facts);
  return facts;
};

const planSound = async (
  deps: TrackIngestDeps,
  { plan, signal }: TrackIngest,
  { media, path, facts }: { readonly media: TrackMedia; readonly path: string; readonly facts: SourceFacts },
): Promise<{ asset: Plan; audio: AudioPlan }> => {
  const index = await readIndex(deps, trackIndexKey(media.sourceAssetId, media.sourceTrackId), path, facts, signal);
  const { video: _pictures, ...soundOnly } = facts;
  await findProblem(deps, path, soundOnly, index, signal);
  const asset = await plan();
  const zero = media.copied && { zeroSeconds: media.copied.zeroSeconds + clipStartSeconds(asset, media.copied.clip) };
  const cut = (gain?: Gain): AudioPlan =>
    planFurtherAudio({ facts, index, plan: asset, ...zero, ...(gain && { gain }) }) ??
    refuse('The input file does not contain any playable duration.');
  const audio = cut();
  const gain = media.normalize ? await measureGain(deps, path, audio, signal) : undefined;
  return { asset, audio: gain ? cut(gain) : audio };
};

const describeSound = (sound: AudioFacts, { channels }: AudioPlan, { durationSeconds }: Plan) => ({
  durationSeconds: Math.round(Math.min(sound.durationSeconds || durationSeconds, durationSeconds) * 1000) / 1000,
  maxChannels: channels,
  maxChannelLayout: channels === 1 ? 'mono' : 'stereo',
});
