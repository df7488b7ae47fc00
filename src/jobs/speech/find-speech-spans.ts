import { json } from 'node:stream/consumers';
import { KinoraError } from '../../lib/errors.js';
import type { Span } from '../../media/speech/pack-windows.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { FindSpeechResult, SpeechSource } from '../../pool/protocol.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { speechPartKey } from '../../storage/keys.js';

/** The audio of a track while its file may be read. */
export interface OpenAudio extends SpeechSource {
  readonly durationMs: number;
}

interface Search {
  readonly assetId: string;
  readonly trackId: string;
  readonly audio: OpenAudio;
  readonly signal: AbortSignal;
  /** 0 to 1 */
  readonly onProgress: (fraction: number) => Promise<void>;
}

/** Short enough that a restart loses little work. */
const PART_MS = 600_000;

/** The spans with speech, in order. Finished parts survive a restart. */
export const findSpeechSpans = async (
  { blobs, pool }: { readonly blobs: BlobStore; readonly pool: MediaPool },
  { assetId, trackId, audio, signal, onProgress }: Search,
): Promise<Span[]> => {
  const { durationMs, ...speech } = audio;
  const spans: Span[] = [];
  for (let startMs = 0, part = 0; startMs < durationMs; part++) {
    const key = speechPartKey(assetId, trackId, part);
    const stored = await blobs.read(key);
    let result: FindSpeechResult;
    if (stored) {
      result = (await json(stored)) as FindSpeechResult;
    } else {
      const endMs = Math.min(durationMs, startMs + PART_MS);
      const job = { kind: 'find-speech', ...speech, startMs, endMs, more: endMs < durationMs } as const;
      result = checked(await pool.run(job, { priority: mediaPriority.speech, signal }), { startMs, endMs });
      await blobs.put(key, Buffer.from(JSON.stringify(result)));
    }
    spans.push(...result.spans);
    startMs = result.nextMs;
    await onProgress(startMs / durationMs);
  }
  return spans;
};

/** The process's report is not trusted, because a malicious file may control it. */
const checked = ({ spans, nextMs }: FindSpeechResult, { startMs, endMs }: Span): FindSpeechResult => {
  let latestMs = startMs;
  const isOrdered =
    Array.isArray(spans) &&
    spans.every((span: Span) => {
      const isNext = Number.isFinite(span.startMs) && span.startMs >= latestMs && span.endMs > span.startMs;
      latestMs = span.endMs;
      return isNext && span.endMs <= endMs;
    });
  if (isOrdered && nextMs > startMs && nextMs <= endMs && latestMs <= nextMs)
    return { spans: spans.map(({ startMs, endMs }) => ({ startMs, endMs })), nextMs };
  throw new KinoraError('media_failed', { details: { kind: 'find-speech', reason: 'spans without order' } });
};
