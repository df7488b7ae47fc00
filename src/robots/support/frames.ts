import { readFile } from 'node:fs/promises';
import { findPlan } from '../../db/tables/playback/playable.js';
import { KinoraError } from '../../lib/errors.js';
import { parseThumbnailParameters } from '../../media/image/parameters.js';
import type { Plan, VideoPlan } from '../../media/plan/plan.js';
import { planThumbnail } from '../../packager/image-jobs.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { WorkflowRun } from './workflow-run.js';

/** Large enough for models; more would cost them time. */
const WIDTH = 512;

/** Frames as `data:` URLs, so that a provider never has to fetch anything from this server. */
export const frameUrls = async (
  { images, asset, signal }: WorkflowRun,
  plan: Plan,
  times: readonly number[],
): Promise<string[]> => {
  const urls: string[] = [];
  for (const seconds of times) {
    const image = planThumbnail(plan.video!, parseThumbnailParameters({ width: String(WIDTH) }), seconds, 'jpg');
    const cached = await images.image({ id: asset.id, plan }, image, { signal, priority: mediaPriority.background });
    urls.push(`data:image/jpeg;base64,${await readFile(cached.path, 'base64')}`);
  }
  return urls;
};

/** @throws KinoraError `invalid_input` for an asset without video */
export const openPlan = async ({ context, asset }: WorkflowRun): Promise<{ plan: Plan; video: VideoPlan }> => {
  const plan = (await findPlan(context.database.queryable, asset.id)) as Plan | undefined;
  if (!plan?.video) throw new KinoraError('invalid_input', { messages: ['The asset has no video.'] });
  return { plan, video: plan.video };
};
