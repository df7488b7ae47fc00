import { KinoraError } from '../../lib/errors.js';
import type { RemoteFile } from '../../net/fetch-source.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { type EarlyPlay, playEarly } from './play-early.js';
import type { StoredOverlay } from './store-overlays.js';

/**
 * Downloads the source. Skips the download if an earlier run has finished it, and resumes an interrupted one. If
 * possible, the asset plays during the download.
 */
export const storeSource = async (
  context: IngestContext,
  overlays: Promise<readonly StoredOverlay[]>,
): Promise<EarlyPlay | undefined> => {
  const { clock, logger } = context;
  const startedMs = clock.monotonicMs();
  const early = await download(context, overlays);
  logger.info({ download_ms: Math.round(clock.monotonicMs() - startedMs) }, 'source stored');
  return early;
};

const download = async (
  context: IngestContext,
  overlays: Promise<readonly StoredOverlay[]>,
): Promise<EarlyPlay | undefined> => {
  const { assetId, row, blobs, fetcher, state, signal } = context;
  if (await blobs.stat(sourceKey(assetId))) return undefined;
  const { url } = row.mainInput.settings;
  const validator = row.media.source_validator;
  // A direct upload stores its source before the asset is created.
  if (typeof url !== 'string') throw new KinoraError('internal_error', { details: { stage: 'the uploaded source' } });
  const target = await blobs.resumeWrite(sourceKey(assetId));
  let early: EarlyPlay | undefined;
  await fetcher.fetch(url, target, {
    signal,
    ...(validator !== null && { validator }),
    onValidator: async (current) => {
      if (early && current !== early.validator) await early.withdraw();
      await state.saveSourceValidator(assetId, current);
    },
    ...(canPlayEarly(context) && {
      onRanges: async (remote: RemoteFile) => {
        early = await playEarly(context, remote, target, overlays);
        return early?.target;
      },
    }),
  });
  return early;
};

/** False when playback needs the whole source: `normalize_audio` measures the gain over all of the audio. */
const canPlayEarly = ({ playsEarly, row: { asset, media } }: IngestContext): boolean =>
  playsEarly && !asset.normalize_audio && !media.plan;
