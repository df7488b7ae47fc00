// Answers what the plan is: whether segments can be decoded directly from a file.

import { KinoraError } from '../../lib/errors.js';
import { decideAccess } from '../../media/plan/mezzanine-decision.js';
import { rejections } from '../../media/source/rejections.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { MEDIA_THREADS } from '../../packager/segment-jobs.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { MediaSource, SanityResult } from '../../pool/protocol.js';
import type { FileContext } from './context.js';
import { sourceOf } from './probe-file.js';

/** Why frames are transcoded before the asset is ready. */
export interface Problem {
  readonly reason: string;
  /** Key frames can't be trusted as cutting points. */
  readonly sequential: boolean;
}

/**
 * Decodes a second at three positions.
 * @throws KinoraError `invalid_input` when none of them can be decoded
 */
export const checkSanity = async (
  { pool, signal }: Pick<FileContext, 'pool' | 'signal'>,
  file: MediaSource,
  facts: SourceFacts,
): Promise<SanityResult> => {
  const sanity = await pool.run(
    {
      kind: 'sanity',
      source: sourceOf(file, facts.formatName),
      video: facts.video && { streamIndex: facts.video.streamIndex, threads: MEDIA_THREADS },
      audio: facts.audio[0] && { streamIndex: facts.audio[0].streamIndex },
      durationSeconds: facts.durationSeconds,
    },
    { priority: mediaPriority.warmUp, signal },
  );
  if (!sanity.decodable)
    throw new KinoraError('invalid_input', {
      messages: [rejections.damagedBy('nothing can be decoded at its start, in its middle and at its end')],
      details: { problem: sanity.problem },
    });
  return sanity;
};

/**
 * Why segments can't be decoded directly from the source, according to its index and to
 * `checkSanity`.
 */
export const findProblem = (facts: SourceFacts, index: SourceIndex, sanity: SanityResult): Problem | undefined => {
  if (!facts.video) return undefined;
  const access = decideAccess(facts, index);
  if (access.access === 'mezzanine') return access;
  return sanity.problem === undefined ? undefined : { reason: sanity.problem, sequential: true };
};
