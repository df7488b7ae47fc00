import { readFile, writeFile } from 'node:fs/promises';
import { liveRendition } from '../../cache/cache-key.js';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import { KinoraError } from '../../lib/errors.js';
import { decodingStart } from '../../media/live/live-track.js';
import { verifyFragment } from '../../media/mp4/fragment-verifier.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { LiveRungsPlan } from '../../media/plan/live-rungs.js';
import type { FileProducer } from '../../packager/file-producer.js';
import { MEDIA_THREADS } from '../../packager/segment-jobs.js';
import { MAX_SEGMENT_BYTES } from '../../packager/verify-segment.js';
import { mediaPriority } from '../../pool/media-pool.js';
import { readResult } from '../../pool/read-result.js';
import type { RungTrack } from './rung-track.js';

/** The demuxer of a fragmented MP4. */
const FORMAT = 'mov,mp4,m4a,3gp,3g2,mj2';

/**
 * Makes a complete segment of a rung from the recorded fragments, as segments of other videos are
 * made. @throws KinoraError `not_found`, `media_failed`, `media_crashed`, `unavailable`
 */
export const makeRungSegment = async (
  files: FileProducer,
  feed: LiveFeed,
  { copyName, plan, track }: { readonly copyName: string; readonly plan: LiveRungsPlan; readonly track: RungTrack },
  number: number,
): Promise<Uint8Array> => {
  const segments = feed.track(copyName)!.segments;
  const at = segments.findIndex((each) => each.number === number);
  const segment = segments[at];
  if (!segment?.complete) throw new KinoraError('not_found');
  const first = decodingStart(segments, at);
  const { rung } = track;
  const { timescale } = track.state.info;
  const key = { assetId: feed.assetId, plan: GENERATION, rendition: liveRendition(rung.name), file: `${number}.m4s` };
  const { path } = await files.get({
    key,
    keys: [key],
    source: feed.assetId,
    priority: mediaPriority.viewer,
    packageFiles: async (task) => {
      const [sourcePath, outPath] = [task.production.temporaryPath(), task.production.temporaryPath()];
      const recorded = [feed.init(copyName, segment.config)];
      for (const each of segments.slice(first, at + 1)) recorded.push(await feed.read(copyName, each.number));
      if (recorded.includes(undefined)) throw new KinoraError('not_found');
      await writeFile(sourcePath, Buffer.concat(recorded as Uint8Array[]));
      const endTicks = segment.startTicks + segment.durationTicks;
      const { sampleCount } = await task.submit({
        kind: 'video-segment',
        source: { path: sourcePath, formatName: FORMAT },
        streamIndex: 0,
        timeBase: { num: 1, den: timescale },
        originTicks: 0,
        startTicks: segment.startTicks,
        endTicks,
        lastFrameTicks: endTicks - 1,
        isLast: false,
        sequence: number + 1,
        rendition: {
          kind: 'encode',
          width: rung.width,
          height: rung.height,
          frameStep: rung.frameStep,
          frameRate: plan.frameRate,
          filters: plan.filters,
          encoder: rung.encoder,
        },
        threads: MEDIA_THREADS,
        outPath,
      });
      const bytes = await readResult(outPath, MAX_SEGMENT_BYTES);
      verifyFragment(bytes, {
        baseDecodeTicks: segment.startTicks,
        durationTicks: segment.durationTicks,
        sampleCount,
        firstSync: true,
      });
      await task.production.commit(key, bytes);
    },
  });
  return readFile(path);
};
