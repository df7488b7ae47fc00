import { overlayInputs } from '../../domain/assets/overlay-inputs.js';
import type { SourceFile } from '../../early/file/context.js';
import type { Problem } from '../../early/file/find-problem.js';
import { guessIndex } from '../../early/file/guess-index.js';
import { checkLimits, probeFile, reject, sourceOf } from '../../early/file/probe-file.js';
import { type EarlyPlan, FirstSegments } from '../../early/first-segments.js';
import { openingRanges } from '../../early/ranges.js';
import { readSettings, type StoredOverlay } from '../../early/settings.js';
import { continueUpload } from '../../early/upload-play.js';
import { throwIfAborted } from '../../lib/abort.js';
import { bucketObjectOf } from '../../lib/bucket-url.js';
import type { ByteRanges } from '../../lib/byte-ranges.js';
import { isKinoraError } from '../../lib/errors.js';
import { createLinkedAbort } from '../../lib/linked-abort.js';
import { PendingWork } from '../../lib/pending-work.js';
import { type ClipSource, isLiveClip, type StoredClip } from '../../media/plan/clip.js';
import { afterGrowth } from '../../media/plan/growing-plan.js';
import type { Plan } from '../../media/plan/plan.js';
import { isMovFormat } from '../../media/source/frames.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { needsWholeFile, readSource, type SourceNeed } from '../../packager/read-source.js';
import type { MediaSource } from '../../pool/protocol.js';
import { LINKED_SOURCE, type LocalBlob } from '../../storage/blob-store.js';
import { concatenatedKey, sourceKey } from '../../storage/keys.js';
import type { IngestContext, PrepareContext } from './context.js';
import { describeInputFile } from './file/input-file.js';
import { LongWorkAhead, rejectLongReading } from './long-work.js';
import { makeReady } from './make-ready.js';
import { ownClipOf, type Planned, planClip, planSource, savePlan } from './plan.js';
import { storeSource } from './store.js';
import { storeLiveClip } from './store-live-clip.js';
import { storeOverlays } from './store-overlays.js';
import { SideCars } from './tracks/side-cars.js';

/**
 * From a URL to a ready asset: store, probe, plan, warm, make ready. Every step stores its result
 * (a blob, the facts, the plan), so a restart continues after the last finished step.
 */
export const runIngest = async (started: IngestContext): Promise<void> => {
  started.logger.info({}, 'ingest started');
  const storedClip = started.row.media.clip as StoredClip | null;
  const context = storedClip && isLiveClip(storedClip) ? await storeLiveClip(started, storedClip) : started;
  const { assetId, row, signal } = context;
  if (!row.media.facts) context.pool.prepare();
  using stopOverlays = createLinkedAbort(signal);
  const storingOverlays = storeOverlays({ ...context, signal: stopOverlays.signal }, overlayInputs(row.otherInputs));
  // A failure is thrown where the overlays are needed: without video they are ignored.
  storingOverlays.catch(() => undefined);
  const sideCars = SideCars.start({ ...context, state: context.tracks }, assetId);
  let early: EarlyPlan | undefined;
  try {
    // A clip reads what its source has stored.
    if (!row.media.clip) early = (await storeSource(context, storingOverlays)) ?? continueUpload(context);
    await context.limit(signal, () => prepare(context, storingOverlays, sideCars, early));
  } catch (error) {
    if (error instanceof LongWorkAhead) await early?.withdraw('the video is transcoded first');
    throw error;
  } finally {
    context.earlySources.end(assetId);
    stopOverlays.abort();
    await Promise.allSettled([storingOverlays, sideCars.stop()]);
  }
};

/** Runs every step after the download. */
const prepare = async (
  context: IngestContext,
  storingOverlays: Promise<readonly StoredOverlay[]>,
  sideCars: SideCars,
  early: EarlyPlan | undefined,
): Promise<void> => {
  const { clock, row, signal } = context;
  const startedMs = clock.monotonicMs();
  const first = new FirstSegments(context, early);
  const planned = await readSource(
    (needed) => openSource(context, needed),
    await partsOf(context),
    async (source) => {
      const writes = new PendingWork();
      using stop = createLinkedAbort(context.signal);
      const guess = row.media.facts
        ? undefined
        : guessIndex({ ...context, signal: stop.signal }, source, { besideProbe: true });
      if (guess) writes.add(guess);
      try {
        return await prepareSource({ ...context, guess, writes }, source, storingOverlays, first);
      } catch (error) {
        // Parts can look like a damaged file.
        throw source.staged && isKinoraError(error, 'invalid_input') ? needsWholeFile() : error;
      } finally {
        stop.abort();
        await writes.settled();
      }
    },
  );
  sideCars.planned(planned.plan);
  await sideCars.stopSoon();
  throwIfAborted(signal);
  await makeReady(context, planned, startedMs);
};

const prepareSource = async (
  context: PrepareContext,
  source: LocalBlob,
  storingOverlays: Promise<readonly StoredOverlay[]>,
  first: FirstSegments,
): Promise<Planned> => {
  const facts = (context.row.media.facts as SourceFacts | null) ?? (await probeSource(context, source));
  // Other containers are read from the start to the end: once, instead of again for each missing
  // part.
  if (source.staged && !isMovFormat(facts.formatName) && !context.row.media.clip) throw needsWholeFile();
  checkLimits(facts);
  rejectLongReading(context, facts);
  const overlays = facts.video ? await storingOverlays : [];
  const file = { ...sourceOf(source), facts, settings: readSettings(context, overlays) };
  return warm(context, file, await choosePlan(context, file, first), first);
};

/**
 * A source that was not downloaded for this asset is read by parts, as they are found missing.
 * Loudness is measured over all of the audio.
 */
const partsOf = async (context: IngestContext): Promise<SourceNeed | undefined> => {
  const { assetId, blobs, row } = context;
  if (blobs.isLocal || row.asset.normalize_audio) return undefined;
  // The facts and the index of its source are stored.
  if (row.media.clip && !ownClipOf(row)) return { ranges: [], isStored: true };
  if (!bucketObjectOf(String(row.mainInput.settings.url))) return undefined;
  const source = await blobs.stat(sourceKey(assetId));
  const ranges = source && (await openingRanges(context, source.sizeBytes));
  return Array.isArray(ranges) ? { ranges, isStored: true } : undefined;
};

const openSource = (
  { blobs, assetId, row: { media } }: IngestContext,
  needed: ByteRanges | undefined,
): Promise<LocalBlob> => {
  const clip = media.clip as ClipSource | null;
  const owner = media.source_owner ?? assetId;
  const key = clip?.concatenated ? concatenatedKey(owner) : sourceKey(owner);
  return blobs.openLocal(key, needed).catch((error: unknown) => {
    if (!isKinoraError(error, 'not_found')) throw error;
    if (clip) return reject('The source asset is no longer available.');
    if (error.details?.stage === LINKED_SOURCE)
      return reject('The input file was replaced or deleted in its bucket while it was read.');
    throw error;
  });
};

const probeSource = async (context: PrepareContext, source: MediaSource): Promise<SourceFacts> => {
  const facts = await probeFile(context, source, { fresh: true });
  context.writes.add(context.state.saveFacts(context.assetId, facts, describeInputFile(facts)));
  const { formatName: format, durationSeconds: duration_s } = facts;
  context.logger.info({ format, duration_s, video: facts.video?.codec, audio: facts.audio[0]?.codec }, 'source probed');
  return facts;
};

/** Uses the plan of an earlier run or makes a new one. */
const choosePlan = async (context: PrepareContext, file: SourceFile, first: FirstSegments): Promise<Planned> => {
  const { clip, plan: stored } = context.row.media;
  if (stored) return { plan: stored as unknown as Plan, facts: file.facts };
  try {
    const drafted = await (clip && !ownClipOf(context.row)
      ? planClip(context, file, clip as unknown as ClipSource)
      : planSource(context, file, { onLikely: (plan) => first.start(plan) }));
    const planned = hasGrown(context, file.facts) ? { ...drafted, plan: afterGrowth(drafted.plan) } : drafted;
    // Before the plan is stored: a run after a crash would not compare again.
    await first.keepOnly(planned.plan);
    await savePlan(context, planned.plan);
    return planned;
  } catch (error) {
    await first.stop();
    throw error;
  }
};

/** Whether the asset is of an upload that played as a part of its frames, also before a restart. */
const hasGrown = ({ row: { asset, mainInput } }: IngestContext, { formatName }: SourceFacts): boolean =>
  asset.upload_id !== null && mainInput.early_playback?.status === 'played' && !isMovFormat(formatName);

/** Makes the first segments, by a plan with a mezzanine if they can't be made otherwise. */
const warm = async (
  context: PrepareContext,
  file: SourceFile,
  planned: Planned,
  first: FirstSegments,
): Promise<Planned> => {
  try {
    await first.make(planned.plan);
    return planned;
  } catch (error) {
    if (
      (context.row.media.clip && !ownClipOf(context.row)) ||
      planned.plan.video?.access !== 'source' ||
      !isVideoFailure(error)
    )
      throw error;
  }
  // The sanity check passed at three positions but this segment failed: read the frames once in
  // order instead.
  const problem: Problem = { reason: 'a segment could not be made', sequential: true };
  // Files made by the first plan have the same names as those of the second.
  await first.discard(problem.reason);
  const sequential = await planSource(context, file, { knownProblem: problem });
  await savePlan(context, sequential.plan);
  await first.make(sequential.plan);
  return sequential;
};

const isVideoFailure = (error: unknown): boolean =>
  (isKinoraError(error, 'media_failed') || isKinoraError(error, 'media_crashed')) &&
  error.details?.kind === 'video-segment';
