import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { Planner } from '#kinora/early/planner.js';
import { indexFirstTracks, indexMp4 } from '#kinora/engine/analysis/index-mp4.js';
import { probe } from '#kinora/engine/analysis/probe.js';
import { type ByteRange, type ByteRanges, mergeRanges } from '#kinora/lib/byte-ranges.js';
import type { MediaJob } from '#kinora/pool/protocol.js';
import { quietLogger } from '../support/logger.js';
import { type FixtureName, fixture } from '../support/media/fixtures.js';

/** Plans a file of which a job sees only the parts that the planner has asked for. */
const planByRanges = async (name: FixtureName) => {
  const path = await fixture(name);
  const jobs: string[] = [];
  let opening: ByteRange[] = [];
  const run = async (job: MediaJob): Promise<unknown> => {
    jobs.push(job.kind);
    if (job.kind === 'first-tracks') return indexFirstTracks(job);
    return job.kind === 'probe' ? probe(job) : indexMp4(job as never);
  };
  const openLocal = async (_: string, ranges: ByteRanges) => ({
    path,
    staged: { ranges: mergeRanges([...opening, ...ranges]), version: 1 },
    release: async () => undefined,
  });
  const context = {
    assetId: 'a',
    row: { asset: { video_quality: 'basic', max_resolution_tier: '1080p', is_test: false } },
    ...{ blobs: { openLocal }, pool: { run }, temporaryDir: tmpdir(), logger: quietLogger },
    signal: new AbortController().signal,
  };
  const source = {
    sizeBytes: statSync(path).size,
    keepOpening: (ranges: ByteRanges) => {
      opening = [...ranges];
    },
  };
  const early = await new Planner(context as never).ranges(source as never, []);
  return { jobs, early };
};

test.each<FixtureName>(['long-index-first.mp4', 'long-index-last.mov'])(
  'the tables of %s tell what its probe reads, so that it is probed once',
  async (name) => {
    const { jobs, early } = await planByRanges(name);
    expect(early).toHaveProperty('plan.video.renditions');
    expect(jobs).toEqual(['first-tracks', 'probe']);
  },
);
