import { planImport } from '../../domain/import/plan-import.js';
import type { SourceAsset } from '../../domain/import/source-asset.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { Borrowing } from './borrowing.js';
import { describe, type MoveContext, type Moved, moveAsset } from './move-asset.js';

export interface ImportOptions extends MoveContext {
  /** Only these assets. */
  readonly assetIds?: readonly string[];
  /** Only assets that were created at this time or later, in Unix seconds. */
  readonly createdAfterSeconds?: number;
  /** At most this many assets. */
  readonly limit?: number;
  /** Assets that are moved at the same time. */
  readonly concurrency: number;
  /** Changes nothing, here or at the source. */
  readonly isDryRun: boolean;
  /** Aborts when no more assets should be begun. */
  readonly stopping: AbortSignal;
  readonly onMoved: (moved: Moved) => void;
}

export interface ImportReport {
  readonly assets: readonly Moved[];
  readonly playbackRestrictions: number;
  /** What is at the source and can't be moved, one sentence each. */
  readonly remarks: readonly string[];
  /** The run was stopped before its end. */
  readonly isStopped: boolean;
}

const PAGE = 50;

/**
 * Moves the assets of an environment. Everything that a later run needs to continue is stored by
 * the server.
 * @throws KinoraError when the run can't go on: `unauthorized`, `unavailable`, `cancelled`
 */
export const runImport = async (options: ImportOptions): Promise<ImportReport> => {
  const { isDryRun, stopping } = options;
  await options.api.call('GET', '/system/v1/whoami');
  const remarks = await findRemarks(options);
  const playbackRestrictions = await importRestrictions(options);
  const assets: Moved[] = [];
  const running = new Set<Promise<void>>();
  let failure: unknown;
  const moveSource = async (source: SourceAsset): Promise<void> => {
    const moved = isDryRun ? await preview(options, source) : await moveAsset(options, source);
    assets.push(moved);
    options.onMoved(moved);
  };
  try {
    for await (const source of selectAssets(options)) {
      while (running.size >= options.concurrency) await Promise.race(running);
      if (stopping.aborted || failure !== undefined) break;
      const task = moveSource(source)
        .catch((error: unknown) => {
          failure ??= error;
        })
        .finally(() => running.delete(task));
      running.add(task);
    }
  } finally {
    await Promise.all(running);
  }
  if (failure !== undefined) throw failure;
  if (!isDryRun) await releaseOrphans(options);
  return { assets, playbackRestrictions, remarks, isStopped: stopping.aborted };
};

async function* selectAssets(options: ImportOptions): AsyncGenerator<SourceAsset> {
  const { createdAfterSeconds = 0, limit = Number.POSITIVE_INFINITY } = options;
  let count = 0;
  for await (const source of options.assetIds ? findAssets(options, options.assetIds) : listAssets(options)) {
    // The list is in descending order of creation, so all others are older.
    if (Number(source.created_at) < createdAfterSeconds) {
      if (options.assetIds) continue;
      return;
    }
    if (count >= limit) return;
    count += 1;
    yield source;
  }
}

async function* findAssets({ api }: ImportOptions, ids: readonly string[]): AsyncGenerator<SourceAsset> {
  for (const id of ids) yield (await api.call<SourceAsset>('GET', `/video/v1/assets/${encodeURIComponent(id)}`)).data;
}

/** By cursor where the source has one: pages by number shift when assets are added meanwhile. */
async function* listAssets({ api }: ImportOptions): AsyncGenerator<SourceAsset> {
  let cursor: string | undefined;
  const seen = new Set<string>();
  for (let page = 1; ; page += 1) {
    const from = cursor === undefined ? `page=${page}` : `cursor=${encodeURIComponent(cursor)}`;
    const { data, next_cursor: next } = await api.call<SourceAsset[]>('GET', `/video/v1/assets?limit=${PAGE}&${from}`);
    const fresh = newOf(data, seen);
    yield* fresh;
    if (next === null || fresh.length === 0 || (next === undefined && data.length < PAGE)) return;
    cursor = next;
  }
}

/**
 * Those that no page before had. A source that ignores the page or repeats a cursor would never
 * end.
 */
const newOf = <T extends { readonly id: string }>(page: readonly T[], seen: Set<string>): T[] =>
  page.filter(({ id }) => !seen.has(id) && seen.add(id));

const preview = async ({ server, ...options }: ImportOptions, source: SourceAsset): Promise<Moved> => {
  const { state, asset } = await server('import status', { assetId: source.id });
  const described = { ...describe(source), notes: [] };
  if (state === 'done') return { ...described, outcome: 'present' };
  if (asset && state === undefined)
    return { ...described, outcome: 'failed', notes: ['Another asset with this ID exists here.'] };
  const plan = planImport(source, options);
  return typeof plan === 'string'
    ? { ...described, outcome: 'skipped', notes: [plan] }
    : { ...described, outcome: 'planned', notes: plan.notes };
};

/**
 * What earlier runs have borrowed for assets that this one does not see: a filter excludes them, or
 * they are gone.
 */
const releaseOrphans = async ({ server, api, sourceUrl, signal }: ImportOptions): Promise<void> => {
  for (let after = ''; ; ) {
    const page = await server('import borrowed', { sourceUrl, after });
    for (const { assetId, environmentId, state, borrowed } of page) {
      after = assetId;
      const { asset } = await server('import status', { assetId });
      // An unfinished download still needs it; its move gives it back.
      if (asset?.status === 'preparing') continue;
      const save = async (): Promise<void> =>
        void (await server('import save', { environmentId, sourceUrl, assetId, state, borrowed: null }));
      await new Borrowing({ api, assetId, borrowed, signal, save }).release();
    }
    if (page.length === 0) return;
  }
};

interface SourceRestriction {
  readonly id: string;
  readonly referrer: object;
  readonly user_agent?: object;
}

/**
 * Tokens name restrictions by their IDs, so these stay. Returns the number of those that are new
 * here.
 */
const importRestrictions = async ({ api, server, environmentId, isDryRun }: ImportOptions): Promise<number> => {
  let count = 0;
  const seen = new Set<string>();
  for (let page = 1; ; page += 1) {
    const path = `/video/v1/playback-restrictions?limit=${PAGE}&page=${page}`;
    const { data } = await api.call<SourceRestriction[]>('GET', path);
    const fresh = newOf(data, seen);
    for (const { id, referrer, user_agent } of fresh) {
      const rules = { referrer, user_agent };
      const isNew = isDryRun || (await server('import restriction', { environmentId, id, rules }));
      if (isNew) count += 1;
    }
    if (data.length < PAGE || fresh.length === 0) return count;
  }
};

const unmovable: readonly (readonly [path: string, sentence: (count: string) => string])[] = [
  [
    '/system/v1/signing-keys',
    (count) =>
      `${count} signing keys are at the source. Their private keys can't be read there: for each one that you have, run kinora import signing-key.`,
  ],
  ['/video/v1/live-streams', (count) => `${count} live streams are not moved: Kinora has none.`],
  [
    '/video/v1/drm-configurations',
    (count) =>
      `${count} DRM configurations are not moved. Create one with kinora drm create and name it with --drm-configuration.`,
  ],
  ['/video/v1/transcription-vocabularies', (count) => `${count} transcription vocabularies are not moved.`],
];

/** Best effort: a token may lack permissions, and a source may lack resources. */
const findRemarks = async ({ api }: ImportOptions): Promise<string[]> => {
  const remarks: string[] = [];
  for (const [path, sentence] of unmovable) {
    try {
      const { data } = await api.call<unknown[]>('GET', `${path}?limit=25`);
      if (data.length > 0) remarks.push(sentence(data.length === 25 ? 'At least 25' : String(data.length)));
    } catch (error) {
      const isExpected = (['not_found', 'forbidden', 'invalid_parameters'] as const).some((code) =>
        isKinoraError(error, code),
      );
      if (!isExpected) throw error instanceof KinoraError ? error : new KinoraError('unavailable', { cause: error });
    }
  }
  return remarks;
};
