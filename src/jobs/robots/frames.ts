import { readFile } from 'node:fs/promises';
import { planThumbnail } from '../../cache/image-jobs.js';
import { parseThumbnailParameters } from '../../media/image-parameters.js';
import type { Plan } from '../../media/plan.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { WorkflowRun } from './workflow.js';

/** What models see well; more costs them time. */
const WIDTH = 512;

/** Frames as `data:` URLs, so that a provider never fetches anything from here. */
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
