import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeMezzanine } from '#kinora/engine/video/mezzanine.js';
import { writeIndexedHead } from '#kinora/media/mp4/segment-index.js';
import { planMezzanine } from '#kinora/media/plan/mezzanine-plan.js';
import type { SourceFacts } from '#kinora/media/source/source-facts.js';
import type { SourceIndex } from '#kinora/media/source/source-index.js';
import type { MezzanineResult } from '#kinora/pool/protocol.js';
import { indexFile, probeFile, silent, withFolder } from './video-run.js';

export interface Mezzanine {
  readonly path: string;
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  readonly results: readonly MezzanineResult[];
}

/** Makes the mezzanine of a source the way ingest does, in this process. */
export const withMezzanine = (
  source: string,
  maxChunks: number,
  use: (made: Mezzanine, of: Omit<Mezzanine, 'results'>) => void | Promise<void>,
): Promise<void> =>
  withFolder(async (folder) => {
    const facts = await probeFile(source);
    const index = indexFile(source, facts);
    const { chunks, ...common } = planMezzanine(facts, index, '1080p', maxChunks);
    const results: MezzanineResult[] = [];
    const parts: Buffer[] = [];
    for (const [number, { weight: _weight, ...chunk }] of chunks.entries()) {
      const outPath = join(folder, String(number));
      const job = {
        kind: 'mezzanine' as const,
        source: { path: source, formatName: facts.formatName },
        streamIndex: facts.video!.streamIndex,
        threads: 2,
        outPath,
      };
      results.push(await encodeMezzanine({ ...job, ...common, ...chunk }, silent));
      parts.push(readFileSync(outPath));
    }
    const path = join(folder, 'mezzanine.mp4');
    const fragments = results.flatMap((result) => result.fragments);
    const head = writeIndexedHead(Buffer.from(results[0]!.init, 'base64'), common.timeBase.den, fragments);
    writeFileSync(path, Buffer.concat([head, ...parts]));
    const made = await probeFile(path);
    await use({ path, facts: made, index: indexFile(path, made), results }, { path: source, facts, index });
  });
