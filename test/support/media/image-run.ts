/** Makes images of a planned source the way the server does, in this process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAnimated } from '#kinora/engine/image/animation.js';
import { writeStill } from '#kinora/engine/image/still.js';
import { writeStoryboard } from '#kinora/engine/image/storyboard.js';
import {
  parseAnimatedParameters,
  parseStoryboardWindow,
  parseThumbnailParameters,
} from '#kinora/media/image/parameters.js';
import { planStoryboard, type Storyboard } from '#kinora/media/image/storyboard.js';
import { verifyImage } from '#kinora/media/image/verifier.js';
import { type PlannedImage, planAnimated, planSpriteSheet, planThumbnail } from '#kinora/packager/image-jobs.js';
import type { AnimatedJob, StillJob, StoryboardJob } from '#kinora/pool/protocol.js';
import { type PlannedSource, withFolder } from './video-run.js';

type Query = Readonly<Record<string, string | number | boolean>>;

const makeImage = ({ path, video }: PlannedSource, image: PlannedImage): Buffer =>
  withFolder((folder) => {
    const outPath = join(folder, 'image');
    const source = { path, formatName: video.formatName };
    const job = { ...image.job, source, filters: video.filters, threads: 2, outPath };
    if (job.kind === 'still') writeStill(job as StillJob);
    else if (job.kind === 'animated') writeAnimated(job as AnimatedJob);
    else writeStoryboard(job as StoryboardJob);
    const bytes = readFileSync(outPath);
    verifyImage(bytes, image.job.format, image.size);
    return bytes;
  });

export const makeThumbnail = (source: PlannedSource, query: Query = {}, format: 'jpg' | 'png' | 'webp' = 'png') =>
  makeImage(
    source,
    planThumbnail(source.video, parseThumbnailParameters(query), source.plan.durationSeconds / 2, format),
  );

export const makeAnimation = (source: PlannedSource, query: Query = {}, format: 'gif' | 'webp' = 'gif') =>
  makeImage(source, planAnimated(source.video, parseAnimatedParameters(query, source.plan.durationSeconds), format));

export const storyboardOf = ({ plan, video }: PlannedSource, query: Query = {}): Storyboard =>
  planStoryboard(video, parseStoryboardWindow(query, plan.durationSeconds));

export const makeSpriteSheet = (source: PlannedSource, query: Query = {}, format: 'jpg' | 'png' | 'webp' = 'png') =>
  makeImage(source, planSpriteSheet(source.video, storyboardOf(source, query), format));
