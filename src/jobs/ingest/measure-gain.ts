import type { SourceFacts } from '../../media/source-facts.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';

/** Below it the loudness measurement found nothing but silence. */
const SILENCE_LUFS = -70;

/** EBU R128: integrated loudness to -24 LUFS but no true peak above -2 dBTP; one constant for the whole track. */
export const measureGain = async (
  deps: { readonly pool: MediaPool },
  path: string,
  facts: SourceFacts,
  signal: AbortSignal,
): Promise<number | undefined> => {
  const audio = facts.audio[0];
  if (!audio) return undefined;
  const { integrated, truePeak } = await deps.pool.run(
    { kind: 'loudness', source: { path, formatName: facts.formatName }, streamIndex: audio.streamIndex },
    { priority: mediaPriority.warmUp, signal },
  );
  return integrated <= SILENCE_LUFS ? undefined : Math.min(-24 - integrated, -2 - truePeak);
};
