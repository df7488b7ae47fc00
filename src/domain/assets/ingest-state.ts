import type { Queryable } from '../../db/database.js';
import type { EarlyPlayback, MainTrackIds, NewRow, Row, StoredChapters } from '../../db/schema.js';
import { findAssetById, saveChapters, saveFramesLost } from '../../db/tables/assets/asset.js';
import { insertAssetFailure } from '../../db/tables/assets/asset-failure.js';
import {
  countCrash,
  findIngest,
  firstReadyAt,
  type IngestRow,
  saveEarlyPlayback,
  saveInputFile,
  saveMedia,
  saveSourceValidator,
  updateUnfinished,
} from '../../db/tables/assets/asset-ingest.js';
import { saveLiveClip } from '../../db/tables/assets/clip.js';
import { findMainTrackIds } from '../../db/tables/assets/import-asset.js';
import { listTracks } from '../../db/tables/assets/track.js';
import { isKinoraError, type KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import type { AssetProperties } from '../../media/plan/asset-properties.js';
import type { ClipSource, LiveClip } from '../../media/plan/clip.js';
import type { Plan } from '../../media/plan/plan.js';
import type { SourceWarning } from '../../media/plan/source-warnings.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { recordAssetEvent, recordAssetWarning } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { failRenditions } from '../renditions/rendition-state.js';
import { startCaptionTracks } from '../tracks/caption-tracks.js';
import { type EmbeddedStreams, insertEmbeddedTracks, labelName, languageOf } from '../tracks/embedded-tracks.js';
import { insertGeneratedSubtitles } from '../tracks/generate-subtitles.js';
import { announceSideCars, MAIN_AUDIO_NAME } from '../tracks/side-cars.js';
import { claimName, takenNames } from '../tracks/track-name.js';
import { linkSource } from './clip-source.js';
import { assetColumns, mainTrackRows, saveMainTracks } from './main-tracks.js';
import { startPostReadyWork } from './post-ready-work.js';

export interface ReadyAsset {
  readonly properties: AssetProperties;
  readonly facts: SourceFacts;
  /** Settings of the main input, which may name its audio. */
  readonly inputSettings: Record<string, unknown>;
  /** Streams of the file that become tracks. */
  readonly embedded: EmbeddedStreams;
  /** Ordered by time, the first one at 0; empty when the file has none. */
  readonly chapters: StoredChapters['chapters'];
  /** What the asset does not show as it is in the file. */
  readonly warnings: readonly SourceWarning[];
}

/** Where and why an ingest failed, for the console. */
export interface IngestFailure {
  readonly jobId: string;
  /** The source is stored, so it was not the download that failed. */
  readonly hasSource: boolean;
  /** The causes of the error, for the operator. */
  readonly detail: string;
}

type Context = Pick<
  DomainContext,
  'database' | 'clock' | 'wire' | 'queue' | 'artifactUrls' | 'recognizesSpeech' | 'assetHook' | 'onPlayableChanged'
>;

/**
 * What the ingest job reads and writes of an asset. Writes after deletion or after a final status
 * do nothing; events for webhooks are recorded with each change.
 */
export class IngestState {
  readonly #context: Context;
  readonly #db: Queryable;

  constructor(context: Context) {
    this.#context = context;
    this.#db = context.database.queryable;
  }

  /** Undefined when the asset was deleted. */
  find(assetId: string): Promise<IngestRow | undefined> {
    return findIngest(this.#db, assetId);
  }

  /** The version of the remote file that is being downloaded. */
  saveSourceValidator(assetId: string, validator: string | undefined): Promise<void> {
    return saveSourceValidator(this.#db, assetId, validator ?? null);
  }

  /** `inputFile` is what `input-info` shows for the main input. */
  saveFacts(assetId: string, facts: SourceFacts, inputFile?: object): Promise<void> {
    return this.#context.database.transaction(async (tx) => {
      const isThere = await saveMedia(tx, assetId, { facts });
      if (isThere && inputFile) await saveInputFile(tx, assetId, inputFile);
    });
  }

  async savePlan(assetId: string, plan: Plan): Promise<void> {
    await saveMedia(this.#db, assetId, { plan });
  }

  /** What `input-info` shows about playback before the file is stored. */
  saveEarlyPlayback(assetId: string, early: EarlyPlayback): Promise<void> {
    return saveEarlyPlayback(this.#db, assetId, early);
  }

  saveReasons(assetId: string, reasons: Record<string, string>): Promise<void> {
    return this.#context.database.transaction(async (tx) => {
      // A run after a restart finds the same problems again; they are reported once.
      const isNews = (await findAssetById(tx, assetId))?.non_standard_input_reasons === null;
      const change = { non_standard_input_reasons: JSON.stringify(reasons) };
      if ((await updateUnfinished(tx, assetId, change)) && isNews)
        await recordAssetEvent(this.#context, tx, 'video.asset.non_standard_input_detected', assetId);
    });
  }

  /** `percent` is only used within `transcoding`. */
  async setProgress(assetId: string, state: 'ingesting' | 'transcoding', percent: number): Promise<void> {
    await updateUnfinished(this.#db, assetId, { progress_state: state, progress: percent });
  }

  /** The file of a clip of a broadcast is stored; `clip` says what of it is shown. */
  async saveOwnClip(assetId: string, clip: ClipSource): Promise<void> {
    await saveLiveClip(this.#db, assetId, clip);
  }

  /** Makes a clip of a broadcast one of the finished recording; see `linkSource`. */
  linkSource({ id, environment_id }: Row<'asset'>, clip: LiveClip): ReturnType<typeof linkSource> {
    return this.#context.database.transaction((tx) =>
      linkSource(tx, environment_id, { id, sourceId: clip.liveAssetId }, clip),
    );
  }

  /** Counts a media process crash on this source and returns the new total. */
  countCrash(assetId: string): Promise<number> {
    return countCrash(this.#db, assetId);
  }

  /**
   * `ready`, tracks and progress become visible together. The recording of a live stream may have
   * been ready before: it is completed. False when the asset has been deleted in the meantime.
   */
  async complete(assetId: string, ready: ReadyAsset): Promise<boolean> {
    const context = this.#context;
    const completed = await context.database.transaction(async (tx) => {
      const now = context.clock.now();
      const changed = await updateUnfinished(tx, assetId, {
        ...assetColumns(ready.properties),
        status: 'ready',
        progress_state: 'completed',
        progress: 100,
        ready_at: firstReadyAt(now),
      });
      if (!changed) return false;
      const ids = await findMainTrackIds(tx, assetId);
      const tracks = await listTracks(tx, [assetId]);
      await saveMainTracks(tx, trackRows(assetId, ready, tracks, ids), tracks);
      await insertGeneratedSubtitles(tx, changed);
      await announceSideCars(context, tx, assetId);
      await insertEmbeddedTracks(context, tx, assetId, ready.facts, ready.embedded);
      await startCaptionTracks(context, tx, assetId, tracks);
      const { chapters } = ready;
      if (chapters.length > 0) await saveChapters(tx, assetId, { id: newId(), chapters });
      const isNews = changed.ready_at?.getTime() === now.getTime();
      if (isNews) await recordAssetEvent(context, tx, 'video.asset.ready', assetId);
      if (changed.live_stream_id !== null)
        await recordAssetEvent(context, tx, 'video.asset.live_stream_completed', assetId);
      for (const warning of [...ready.warnings, ...earlyLoss(changed, ready.warnings)]) {
        if (warning.type === 'frames_lost') await saveFramesLost(tx, assetId, warning.message);
        await recordAssetWarning(context, tx, changed, warning);
      }
      await startPostReadyWork(context, tx, assetId);
      return true;
    });
    if (completed) context.onPlayableChanged(assetId);
    return completed;
  }

  /** Final failure: the asset's `errors` tell the owner of the file what to do about it. */
  async fail(assetId: string, error: unknown, { jobId, hasSource, detail }: IngestFailure): Promise<void> {
    const context = this.#context;
    await context.database.transaction(async (tx) => {
      const changed = await updateUnfinished(tx, assetId, {
        status: 'errored',
        progress_state: 'errored',
        progress: -1,
        error: JSON.stringify(assetErrors(error)),
      });
      const asset = changed && (await findAssetById(tx, assetId));
      if (!asset) return;
      const stage = hasSource ? stageOf((await findIngest(tx, assetId))?.media) : 'download';
      const failure = { asset_id: assetId, occurred_at: context.clock.now(), stage, job_id: jobId, detail } as const;
      await insertAssetFailure(tx, failure);
      await recordAssetEvent(context, tx, 'video.asset.errored', assetId);
      await failRenditions(context, tx, asset);
      await context.assetHook?.onChanged(context, tx, assetId);
    });
    context.onPlayableChanged(assetId);
  }
}

/**
 * The loss in segments made before the asset was ready, unless the ingest itself has counted the
 * lost frames.
 */
const earlyLoss = ({ frames_lost: message }: Row<'asset'>, warnings: readonly SourceWarning[]): SourceWarning[] =>
  message === null || warnings.some(({ type }) => type === 'frames_lost') ? [] : [{ type: 'frames_lost', message }];

/** The step after the last result that is stored. */
const stageOf = (media: IngestRow['media'] | undefined): 'probe' | 'plan' | 'segments' => {
  if (!media?.facts) return 'probe';
  return media.plan ? 'segments' : 'plan';
};

/** The tracks of the main input; those of `sideCars` already have their names. */
const trackRows = (
  assetId: string,
  { properties, facts, inputSettings, embedded }: ReadyAsset,
  sideCars: readonly Row<'track'>[],
  ids: MainTrackIds = {},
): NewRow<'track'>[] => {
  const { name, language_code: languageCode } = inputSettings;
  const [audio] = facts.audio;
  // Among several languages of a file, the main one has its own name too.
  const usual = audio && embedded.audio.length > 0 ? labelName(audio, MAIN_AUDIO_NAME) : MAIN_AUDIO_NAME;
  return mainTrackRows(assetId, properties, {
    audioName: typeof name === 'string' && name ? name : claimName(usual, takenNames(sideCars, 'audio')),
    languageCode: typeof languageCode === 'string' ? languageCode : languageOf(audio?.language),
    ids,
  });
};

/**
 * The `errors` object of an asset whose ingest failed. The messages are part of the API contract.
 */
const assetErrors = (error: unknown): { type: string; messages: readonly string[] } => {
  if (isInputError(error)) return { type: 'invalid_input', messages: error.messages };
  const messages = ['The asset could not be processed.'];
  if (isKinoraError(error, 'media_crashed')) messages.push('The media process crashed or did not finish on this file.');
  return { type: 'internal_error', messages };
};

const isInputError = (error: unknown): error is KinoraError =>
  isKinoraError(error) && (error.code === 'invalid_input' || error.code === 'source_unreachable');
