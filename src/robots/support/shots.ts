import { lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { findShots } from '../../db/tables/assets/shots.js';
import { orderShots } from '../../domain/assets/shots.js';
import { KinoraError } from '../../lib/errors.js';
import { findTranscript, type Line, scopeOf } from './captions.js';
import { frameUrls, openPlan } from './frames.js';
import type { FramesOf, ShotLine } from './shot-lines.js';
import type { WorkflowEnd, WorkflowRun } from './workflow-run.js';

type Wait = Extract<WorkflowEnd, { waitUntil: unknown }>;

/**
 * Where the shots of the asset begin, in seconds. If they are missing, they are ordered and the job
 * waits.
 * @throws KinoraError `invalid_input` when they can't be found
 */
const awaitShots = async ({ context, asset }: WorkflowRun): Promise<{ readonly starts: readonly number[] } | Wait> => {
  const shots = await context.database.transaction(async (tx) => {
    const locked = await lockAssetForUpdate(tx, asset.environment_id, asset.id);
    const shots = await findShots(tx, asset.id);
    if (!locked || (shots && shots.status !== 'deleted')) return shots;
    return orderShots(context, tx, locked);
  });
  if (shots?.status === 'completed') return { starts: shots.start_times ?? [0] };
  if (shots?.status !== 'pending')
    throw new KinoraError('invalid_input', { messages: ['The shots of the asset could not be found.'] });
  return { waitUntil: async (tx) => (await findShots(tx, asset.id))?.status !== 'pending' };
};

/**
 * The shots within the time range of the job, with what is said in each and a way to see them. A
 * shot longer than `mostSeconds` is divided evenly.
 * @throws KinoraError `provider_unavailable` when nothing is said and no model can see
 */
export const readShots = async (
  run: WorkflowRun,
  mostSeconds = Number.POSITIVE_INFINITY,
): Promise<{ readonly shots: readonly ShotLine[]; readonly framesOf: FramesOf } | Wait> => {
  const awaited = await awaitShots(run);
  if ('waitUntil' in awaited) return awaited;
  const lines = (await findTranscript(run))?.lines ?? [];
  const { start, end } = scopeOf(run);
  const shots = shotsWithin(awaited.starts, lines, { start, end, mostSeconds });
  if (run.model.isConfigured('vision')) {
    const { plan } = await openPlan(run);
    const framesOf = (part: readonly ShotLine[]) =>
      frameUrls(
        run,
        plan,
        part.map(({ startSeconds, endSeconds }) => (startSeconds + endSeconds) / 2),
      );
    return { shots, framesOf };
  }
  if (lines.length > 0) return { shots, framesOf: undefined };
  throw new KinoraError('provider_unavailable', {
    messages: ['The asset has no captions, and no vision model is configured.'],
  });
};

const shotsWithin = (
  starts: readonly number[],
  lines: readonly Line[],
  { start, end, mostSeconds }: { readonly start: number; readonly end: number; readonly mostSeconds: number },
): ShotLine[] =>
  starts
    .map((first, at) => ({ from: Math.max(first, start), until: Math.min(starts[at + 1] ?? end, end) }))
    .filter(({ from, until }) => until > from)
    .flatMap(({ from, until }) => {
      const count = Math.max(1, Math.ceil((until - from) / mostSeconds));
      const placeOf = (part: number): number => from + ((until - from) * part) / count;
      return Array.from({ length: count }, (_, part) => ({
        startSeconds: placeOf(part),
        endSeconds: placeOf(part + 1),
      }));
    })
    .map((shot, number) => ({
      ...shot,
      number,
      lines: lines.filter(
        ({ startSeconds, endSeconds }) => startSeconds < shot.endSeconds && endSeconds > shot.startSeconds,
      ),
    }));
