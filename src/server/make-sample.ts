import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../lib/ids.js';
import { mediaPriority } from '../pool/media-pool.js';
import type { MediaParts } from './parts.js';

/** Three segments: the first start waits for all of it. */
const SAMPLE_SECONDS = 12;

/** Makes the sample video of a first start at `path`. */
export const makeSample = async ({ pool, temporaryDir }: MediaParts, path: string): Promise<void> => {
  const outPath = join(temporaryDir, `sample-${newId()}`);
  const job = { kind: 'sample', outPath, width: 1920, height: 1080, seconds: SAMPLE_SECONDS } as const;
  await pool.run(job, { priority: mediaPriority.warmUp });
  await rename(outPath, path);
};
