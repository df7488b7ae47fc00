import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { handlers } from '#kinora/engine/handlers.js';
import { systemClock } from '#kinora/lib/clock.js';
import { parseThumbnailParameters } from '#kinora/media/image/parameters.js';
import { audioChunkRange } from '#kinora/media/plan/audio-chunks.js';
import { planSpriteSheet, planThumbnail } from '#kinora/packager/image-jobs.js';
import { audioChunkJob, MEDIA_THREADS, videoSegmentJob } from '#kinora/packager/segment-jobs.js';
import { MediaPool, type MediaPriority, mediaPriority } from '#kinora/pool/media-pool.js';
import type { AudioChunkJob, StillJob, StoryboardJob, VideoSegmentJob } from '#kinora/pool/protocol.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { storyboardOf } from '../support/media/image-run.js';
import { type PlannedSource, planFile, silent, withFolder } from '../support/media/video-run.js';
import { memoryLogger } from '../support/memory-logger.js';

type Job = VideoSegmentJob | AudioChunkJob | StillJob | StoryboardJob;

const runScript = fileURLToPath(new URL('../support/processes/run-script.mjs', import.meta.url));
const script = `
  const { readFileSync } = await import('node:fs');
  const { handlers } = await kinora('engine/handlers.js');
  const job = JSON.parse(readFileSync(process.argv[1], 'utf8'));
  await handlers[job.kind](job, { progress: () => undefined });
`;

/**
 * Makes it in a process of its own that has one core, and finds rubbish in all memory that it gets.
 */
const makeElsewhere = (job: Job, folder: string, rubbish: number): void => {
  const jobPath = join(folder, 'job.json');
  writeFileSync(jobPath, JSON.stringify(job));
  const env = {
    ...process.env,
    MALLOC_PERTURB_: String(rubbish),
    MALLOC_MMAP_THRESHOLD_: String(2 ** 30),
    MALLOC_TOP_PAD_: String(2 ** 26),
  };
  execFileSync('taskset', ['-c', '0', process.execPath, runScript, script, jobPath], { env });
};

const make = async (job: Job): Promise<void> => {
  await (handlers[job.kind] as (job: Job, context: typeof silent) => unknown)(job, silent);
};

const digestOf = (job: Job): string => {
  const hash = createHash('sha256');
  for (const path of 'outPaths' in job ? job.outPaths : [job.outPath]) hash.update(readFileSync(path));
  return hash.digest('hex');
};

/** Different results of a job: in this process after those before it, and alone in others. */
const resultsOf = async (job: Job, folder: string, before: readonly Job[] = []): Promise<Set<string>> => {
  const digests = new Set<string>();
  for (const earlier of before) await make(earlier);
  // 85 and 170 together set each bit of a byte once.
  for (const rubbish of [0, 85, 170]) {
    if (rubbish === 0) await make(job);
    else makeElsewhere(job, folder, rubbish);
    digests.add(digestOf(job));
  }
  return digests;
};

const encodedJob = (
  { path, video }: PlannedSource,
  width: number,
  height: number,
  folder: string,
  maxRate = 200_000,
): VideoSegmentJob => {
  const encoder = { preset: 'veryfast', crf: 23, maxRate, level: height > 720 ? 40 : 31 };
  const rendition = { ...video.renditions[0]!, kind: 'encode' as const, width, height, encoder };
  return videoSegmentJob(video, rendition, 0, {
    source: { path },
    overlayPaths: [],
    outPath: join(folder, 'segment'),
  });
};

const chunkJobs = ({ path, plan }: PlannedSource, folder: string): AudioChunkJob[] => {
  const audio = { ...plan.audio!, chunkSegments: 1, firstChunkSegments: 1 };
  return [0, 1].map((number) => {
    const { first } = audioChunkRange(audio, number);
    return audioChunkJob(audio, first, { path }, [join(folder, `chunk-${number}`)]);
  });
};

describe('the same bytes whenever and wherever it is made', () => {
  // Rows of 30, 40, 54 and 120 macroblocks, of frames that the rate buffer holds down.
  test.each([
    [480, 270, 2],
    [640, 360, 2],
    [854, 480, 2],
    [1920, 1080, 1],
  ])('an encoded segment of %i x %i', async (width, height, seconds) => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    await withFolder(async (folder) => {
      const job = encodedJob(source, width, height, folder);
      const endTicks = Math.min(job.endTicks, seconds * source.video.timescale);
      expect((await resultsOf({ ...job, endTicks }, folder)).size).toBe(1);
    });
  });

  // Two threads made about 20 different segments in 60 runs of this one.
  test('an encoded segment of few bits, again and again', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    await withFolder(async (folder) => {
      const job = encodedJob(source, 320, 180, folder, 30_000);
      const digests = new Set<string>();
      for (let run = 0; run < 20; run++) {
        await make(job);
        digests.add(digestOf(job));
      }
      expect(digests.size).toBe(1);
    });
  });

  test('a copied segment', async () => {
    const source = await planFile(await fixture('long.mp4'));
    const rendition = source.video.renditions.at(-1)!;
    expect(rendition.kind).toBe('copy');
    await withFolder(async (folder) => {
      const [first, second] = [0, 1].map((number) =>
        videoSegmentJob(source.video, rendition, number, {
          source: { path: source.path },
          overlayPaths: [],
          outPath: join(folder, `segment-${number}`),
        }),
      );
      expect((await resultsOf(second!, folder, [first!])).size).toBe(1);
    });
  });

  test.each<[EncodedName, 'copy' | 'encode']>([
    ['h264-aac.mp4', 'copy'],
    ['h264-mp3.mkv', 'encode'],
    ['vp9-opus.webm', 'encode'],
    ['h264-vorbis.mkv', 'encode'],
    ['hevc-ac3.mkv', 'encode'],
    ['h264-aac-22050.mp4', 'encode'],
  ])('audio of %s', async (name, mode) => {
    const source = await planFile(await fixture(name));
    expect(source.plan.audio!.mode).toBe(mode);
    await withFolder(async (folder) => {
      const [first, second] = chunkJobs(source, folder);
      expect((await resultsOf(second!, folder, [first!])).size).toBe(1);
    });
  });

  test.each(['jpg', 'png', 'webp'] as const)('a thumbnail and a storyboard as %s', async (format) => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    const { video, path } = source;
    await withFolder(async (folder) => {
      const outPath = join(folder, 'image');
      const target = { source: { path, formatName: video.formatName }, threads: MEDIA_THREADS, outPath };
      const thumbnail = planThumbnail(video, parseThumbnailParameters({ width: 214 }), 3.3, format);
      const window = { asset_start_time: 2, asset_end_time: 2.4 };
      const sheet = planSpriteSheet(video, storyboardOf(source, window), format);
      for (const { job } of [thumbnail, sheet]) {
        const whole = { ...job, ...target, filters: video.filters } as StillJob | StoryboardJob;
        expect((await resultsOf(whole, folder)).size).toBe(1);
      }
    });
  });

  test('a segment of a pool, for a viewer and in the background', async () => {
    const source = await planFile(await fixture('h264-aac.mp4'));
    await withFolder(async (folder) => {
      const writeDir = join(folder, 'out');
      mkdirSync(writeDir);
      const job = encodedJob(source, 640, 360, writeDir);
      const chunk = chunkJobs(source, writeDir)[0]!;
      const pool = await MediaPool.start({
        size: 2,
        readDirs: [dirname(source.path)],
        writeDir,
        memoryBytes: 2 ** 30,
        logger: memoryLogger(),
        clock: systemClock,
      });
      const run = async (priority: MediaPriority): Promise<string[]> => {
        await pool.run(job, { priority, fresh: true });
        await pool.run(chunk, { priority, fresh: true });
        return [digestOf(job), digestOf(chunk)];
      };
      try {
        const forViewer = await run(mediaPriority.viewer);
        expect(await run(mediaPriority.background)).toEqual(forViewer);
        await make(job);
        await make(chunk);
        expect([digestOf(job), digestOf(chunk)]).toEqual(forViewer);
      } finally {
        await pool.stop();
      }
    });
  });
});
