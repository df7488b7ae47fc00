import { KinoraError } from '../../lib/errors.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';

/** Downloads the source, unless an earlier run has, or continues where one stopped. */
export const storeSource = async (context: IngestContext): Promise<void> => {
  const { clock, logger } = context;
  const startedMs = clock.monotonicMs();
  await download(context);
  logger.info({ download_ms: Math.round(clock.monotonicMs() - startedMs) }, 'source stored');
};

const download = async ({ assetId, row, blobs, fetcher, state, signal }: IngestContext): Promise<void> => {
  if (await blobs.stat(sourceKey(assetId))) return;
  const { url } = row.mainInput.settings;
  const validator = row.media.source_validator;
  // A direct upload brings its source before there is an asset.
  if (typeof url !== 'string') throw new KinoraError('internal_error', { details: { stage: 'the uploaded source' } });
  const target = await blobs.resumeWrite(sourceKey(assetId));
  await fetcher.fetch(url, target, {
    signal,
    ...(validator !== null && { validator }),
    onValidator: (current) => state.saveSourceValidator(assetId, current),
  });
};
