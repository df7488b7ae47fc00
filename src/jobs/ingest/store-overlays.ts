import type { OverlayInput } from '../../domain/assets/overlay-inputs.js';
import type { StoredOverlay } from '../../early/settings.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { OVERLAY_HEADER_BYTES, type OverlayFile, RGBA_BYTES, readOverlayHeader } from '../../media/overlay/file.js';
import { tierBox } from '../../media/plan/ladder.js';
import { mediaPriority } from '../../pool/media-pool.js';
import { readResult } from '../../pool/read-result.js';
import { overlayImageKey, overlayKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';

const MAX_SIDE = 4096;
/** Several times the size of the largest allowed image. */
const MAX_IMAGE_BYTES = 64 * 2 ** 20;
const UNUSABLE = 'The overlay image could not be used.';

/**
 * Fetches every overlay once, decodes it in a media process and stores its pixels. The results of
 * earlier runs are reused.
 * @throws KinoraError `invalid_input`
 */
export const storeOverlays = async (
  context: IngestContext,
  inputs: readonly OverlayInput[],
): Promise<StoredOverlay[]> => {
  const stored: StoredOverlay[] = [];
  for (const input of inputs) {
    try {
      const file = (await findStored(context, input)) ?? (await store(context, input));
      stored.push({ input, file });
    } catch (error) {
      if (!isUnusable(error)) throw error;
      throw new KinoraError('invalid_input', { messages: [UNUSABLE, whyUnusable(input, error)], cause: error });
    }
  }
  return stored;
};

const isUnfetched = (error: unknown): error is KinoraError =>
  isKinoraError(error, 'invalid_input') || isKinoraError(error, 'source_unreachable');

const isUnusable = (error: unknown): boolean =>
  isUnfetched(error) || isKinoraError(error, 'media_failed') || isKinoraError(error, 'media_crashed');

/**
 * Names the input by its position in `input-info`: an asset may have many, and an input without
 * `type` may be meant for something else.
 */
const whyUnusable = ({ position }: OverlayInput, error: unknown): string => {
  if (isUnfetched(error)) return `inputs[${position}]: ${error.messages[0]}`;
  const image = `PNG, JPEG, WebP or GIF image of at most ${MAX_SIDE}x${MAX_SIDE} pixels`;
  return `inputs[${position}] is not a readable ${image}. Subtitles and audio tracks need a type.`;
};

const findStored = async (
  { blobs, assetId }: IngestContext,
  { position }: OverlayInput,
): Promise<OverlayFile | undefined> => {
  const key = overlayKey(assetId, position);
  const stored = await blobs.stat(key);
  const stream = stored && (await blobs.read(key, { start: 0, end: OVERLAY_HEADER_BYTES }));
  if (!stream) return undefined;
  return readOverlayHeader(Buffer.concat((await stream.toArray()) as Buffer[]), stored.sizeBytes);
};

const store = async (
  { assetId, row, blobs, fetcher, pool, temporaryDir, signal }: IngestContext,
  { position, url }: OverlayInput,
): Promise<OverlayFile> => {
  const imageKey = overlayImageKey(assetId, position);
  if (!(await blobs.stat(imageKey))) {
    await fetcher.fetch(url, await blobs.resumeWrite(imageKey), { signal, maxBytes: MAX_IMAGE_BYTES });
  }
  const image = await blobs.openLocal(imageKey);
  const box = tierBox(row.asset.max_resolution_tier);
  try {
    return await withTemporaryFile(temporaryDir, async (outPath) => {
      const side = Math.max(box.width, box.height);
      await pool.run(
        {
          kind: 'overlay-image',
          source: { path: image.path },
          maxSide: MAX_SIDE,
          maxWidth: side,
          maxHeight: side,
          outPath,
        },
        { priority: mediaPriority.warmUp, signal, fresh: true },
      );
      // The process's report is not trusted: the file itself is checked.
      const bytes = await readResult(outPath, MAX_SIDE * MAX_SIDE * RGBA_BYTES + OVERLAY_HEADER_BYTES);
      const file = readOverlayHeader(bytes, bytes.length);
      if (!file) throw new KinoraError('media_failed', { details: { stage: 'overlay' } });
      await blobs.put(overlayKey(assetId, position), bytes);
      return file;
    });
  } finally {
    await image.release();
    await blobs.delete(imageKey);
  }
};
