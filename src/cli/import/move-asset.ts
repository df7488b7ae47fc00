import { setTimeout as sleep } from 'node:timers/promises';
import { withoutBorrowed } from '../../domain/import/borrowed.js';
import { compareAssets } from '../../domain/import/compare-assets.js';
import { findAudioPlaylist, findBestRendition } from '../../domain/import/find-files.js';
import type { ImportedTrack } from '../../domain/import/import-order.js';
import type { ImportStatus } from '../../domain/import/import-state.js';
import { type ImportPlan, type ImportSettings, planImport } from '../../domain/import/plan-import.js';
import type { SourceAsset } from '../../domain/import/source-asset.js';
import { cancelled } from '../../lib/abort.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { SourceApi } from '../../net/source-api.js';
import { Borrowing } from './borrowing.js';
import type { ServerCall } from './server-calls.js';

export type Outcome = 'imported' | 'present' | 'skipped' | 'failed';

/** What became of one asset. */
export interface Moved {
  readonly assetId: string;
  readonly title: string;
  readonly outcome: Outcome | 'planned';
  /** Whole sentences: what the asset lacks here, or why it is not here. */
  readonly notes: readonly string[];
}

export interface MoveContext extends ImportSettings {
  readonly api: SourceApi;
  readonly server: ServerCall;
  readonly environmentId: string;
  readonly sourceUrl: string;
  /** Where the source serves its streams; without a trailing slash. */
  readonly streamUrl: string;
  readonly prefer: 'master' | 'static-renditions';
  readonly signal: AbortSignal;
  /** The pause between two looks at the asset here; half a second by default. */
  readonly pollMs?: number;
}

const MAX_TRIES = 3;

/**
 * Moves one asset, or continues where an earlier run stopped. What was changed at the source is
 * undone in any case but an abort.
 * @throws KinoraError `cancelled`, `unauthorized`; `unavailable` when the server here is gone
 */
export const moveAsset = async (context: MoveContext, listed: SourceAsset): Promise<Moved> => {
  const { server, api } = context;
  const { id } = listed;
  const end = (outcome: Outcome, notes: readonly string[]): Moved => ({ ...describe(listed), outcome, notes });
  const status = await server('import status', { assetId: id });
  const earlierOutcome = whatIsKnown(status);
  if (earlierOutcome) return end(earlierOutcome.outcome, earlierOutcome.notes);
  const borrowed = status.borrowed ?? {};
  // The list may show what an earlier run has changed.
  const source = withoutBorrowed(listed, borrowed);
  const plan = planImport(source, context);
  const progress = { environmentId: context.environmentId, sourceUrl: context.sourceUrl, assetId: id };
  let state: NonNullable<ImportStatus['state']> = status.state ?? 'prepared';
  const borrowing = new Borrowing({
    api,
    assetId: id,
    borrowed,
    signal: context.signal,
    save: (changed) => server('import save', { ...progress, state, borrowed: changed }),
  });
  if (typeof plan === 'string') {
    if (status.borrowed) await borrowing.release();
    return end('skipped', [plan]);
  }
  const move: Move = { context, source, plan, borrowing, notes: [...plan.notes] };
  const failure = await tryMove(move, status, () => {
    state = 'started';
  });
  state = failure === undefined ? 'done' : 'failed';
  try {
    await borrowing.release();
  } catch (error) {
    const left = `The temporary access at the source is not removed. Run the import again. ${sentenceOf(error)}`;
    return end('failed', [...(failure === undefined ? [] : [failure]), left]);
  }
  if (failure !== undefined) return end('failed', [failure, ...move.notes]);
  const { asset } = await server('import status', { assetId: id });
  return end('imported', [...move.notes, ...compareAssets(source, plan, asset as unknown as SourceAsset)]);
};

export const describe = ({ id, meta }: SourceAsset): Pick<Moved, 'assetId' | 'title'> => ({
  assetId: id,
  title: typeof meta?.title === 'string' ? meta.title : '',
});

const whatIsKnown = ({ state, asset }: ImportStatus): (Pick<Moved, 'notes'> & { outcome: Outcome }) | undefined => {
  if (state === 'done')
    return { outcome: 'present', notes: asset ? [] : ['It was imported before, and deleted here since.'] };
  if (asset && (state === undefined || state === 'prepared'))
    return { outcome: 'failed', notes: ['Another asset with this ID exists here. Nothing was changed.'] };
  return undefined;
};

interface Move {
  readonly context: MoveContext;
  readonly source: SourceAsset;
  readonly plan: ImportPlan;
  readonly borrowing: Borrowing;
  /** Collects what the asset lacks. */
  readonly notes: string[];
}

/** Undefined when everything of the plan is ready here, otherwise why not. */
const tryMove = async (move: Move, started: ImportStatus, onStarted: () => void): Promise<string | undefined> => {
  const { context, plan, source, notes } = move;
  let status = started;
  let failure: string | undefined;
  const planNotes = notes.length;
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    try {
      if (status.asset === undefined || whyFailed(status, plan) !== undefined) {
        notes.length = planNotes;
        const order = await prepareOrder(move);
        await context.server('import asset', order);
        onStarted();
      }
      status = await waitUntilSettled(context, source.id, plan);
      failure = whyFailed(status, plan);
    } catch (error) {
      failure = sentenceOf(error);
      if (isKinoraError(error, 'conflict') || isKinoraError(error, 'invalid_parameters')) return failure;
      status = await context.server('import status', { assetId: source.id });
    }
    if (failure === undefined) return undefined;
  }
  return failure;
};

/** @throws what must end the whole run */
const sentenceOf = (error: unknown): string => {
  const ends = ['cancelled', 'unauthorized'] as const;
  if (!isKinoraError(error) || ends.some((code) => code === error.code)) throw error;
  return error.messages.join(' ');
};

const asSource = (status: ImportStatus): SourceAsset | undefined => status.asset as SourceAsset | undefined;

const whyFailed = (status: ImportStatus, plan: ImportPlan): string | undefined => {
  const asset = asSource(status);
  if (!asset) return 'The asset was deleted here during the import.';
  if (asset.status === 'errored') return asset.errors?.messages?.join(' ') ?? 'The asset failed here.';
  const failed = plan.tracks.find(({ id }) =>
    asset.tracks?.some((track) => track.id === id && track.status === 'errored'),
  );
  return failed && `The ${failed.type} track ${failed.id} failed here: ${status.trackErrors[failed.id] ?? ''}`;
};

const waitUntilSettled = async (
  { server, signal, pollMs = 500 }: MoveContext,
  assetId: string,
  plan: ImportPlan,
): Promise<ImportStatus> => {
  for (let waitMs = pollMs; ; waitMs = Math.min(waitMs * 1.5, pollMs * 6)) {
    const status = await server('import status', { assetId });
    const asset = asSource(status);
    const isWaiting =
      asset?.status === 'preparing' ||
      asset?.tracks?.some(({ id, status: now }) => now === 'preparing' && plan.tracks.some((track) => track.id === id));
    if (!isWaiting) return status;
    await sleep(waitMs, undefined, { signal }).catch((cause: unknown) => {
      throw cancelled(signal, cause);
    });
  }
};

const prepareOrder = async (move: Move) => {
  const { context, source, plan } = move;
  const url = await findMainFile(move);
  const tracks = await findTrackFiles(move);
  return {
    environmentId: context.environmentId,
    sourceUrl: context.sourceUrl,
    id: source.id,
    url,
    tracks,
    createdAtSeconds: Number(source.created_at),
    playbackIds: plan.playbackIds,
    mainTracks: plan.mainTracks,
    mainAudio: plan.mainAudio,
    renditions: plan.renditions,
    settings: plan.settings,
  };
};

/** @throws KinoraError `invalid_input` when the source gives neither a master nor a rendition */
const findMainFile = async ({ context, source, borrowing, notes }: Move): Promise<string> => {
  const rendition = findBestRendition(source);
  const fromRendition = async (name: string): Promise<string> => {
    notes.push(`It is made from the static rendition ${name}, not from the master file.`);
    return `${context.streamUrl}/${await borrowing.publicPlaybackId()}/${name}`;
  };
  if (context.prefer === 'static-renditions' && rendition) return fromRendition(rendition);
  const master = await borrowing.master();
  if (typeof master !== 'string') return master.url;
  if (rendition) return fromRendition(rendition);
  const advice = 'Create a static rendition at the source, and run the import again.';
  throw new KinoraError('invalid_input', { messages: [`${master} ${advice}`] });
};

const findTrackFiles = async ({ context, plan, borrowing, notes }: Move): Promise<ImportedTrack[]> => {
  if (plan.tracks.length === 0) return [];
  const base = `${context.streamUrl}/${await borrowing.publicPlaybackId()}`;
  const hasAudio = plan.tracks.some(({ type }) => type === 'audio');
  const playlist = hasAudio ? await context.api.getText(`${base}.m3u8`) : '';
  return plan.tracks.flatMap((track): ImportedTrack[] => {
    if (track.type === 'text') return [{ ...track, url: `${base}/text/${track.id}.vtt` }];
    const url = findAudioPlaylist(playlist, `${base}.m3u8`, track);
    if (url !== undefined) return [{ ...track, url, isPlaylist: true }];
    notes.push(
      `The audio track ${track.id} (${track.name}) is not moved: the playlist of the source does not have it.`,
    );
    return [];
  });
};
