import { type EarlyPlay, playEarly } from '../../early/origin-play.js';
import type { StoredOverlay } from '../../early/settings.js';
import { recordStatus } from '../../early/status.js';
import { errorRegistry, isKinoraError, KinoraError } from '../../lib/errors.js';
import { type RemoteFile, WEB_PAGE } from '../../net/fetch-source.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { linkSource } from './link-source.js';

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
  const { assetId, row, blobs, fetcher, pool, state, signal } = context;
  if (await blobs.stat(sourceKey(assetId))) return undefined;
  const { url } = row.mainInput.settings;
  const validator = row.media.source_validator;
  // A direct upload stores its source before the asset is created.
  if (typeof url !== 'string') throw new KinoraError('internal_error', { details: { stage: 'the uploaded source' } });
  if (await linkSource(context, url)) {
    await recordStatus(context, { status: 'stored_first', reason: 'the source stays in its bucket and is read there' });
    return undefined;
  }
  const target = await blobs.resumeWrite(sourceKey(assetId));
  const refusal = whyNotEarly(context);
  if (refusal !== undefined) await recordStatus(context, { status: 'stored_first', reason: refusal });
  let early: EarlyPlay | undefined;
  const fetching = fetcher.fetch(url, target, {
    signal,
    onReceived: () => pool.prepare(),
    ...(validator !== null && { validator }),
    onValidator: async (current) => {
      if (early && current !== early.validator) await early.withdraw('the source has changed');
      await state.saveSourceValidator(assetId, current);
    },
    ...(refusal === undefined && {
      onNoRanges: (reason) => recordStatus(context, { status: 'stored_first', reason }),
      onRanges: async (remote: RemoteFile) => {
        early = await playEarly(context, remote, target, overlays);
        return early?.target;
      },
    }),
  });
  await fetching.catch((error: unknown) => {
    throw isKinoraError(error) && error.details?.reason === WEB_PAGE ? notVideo(error) : error;
  });
  return early;
};

/** With the message that every file gets that is no video, and then the reason. */
const notVideo = (cause: KinoraError): KinoraError =>
  new KinoraError('invalid_input', { messages: [errorRegistry.invalid_input.message, ...cause.messages], cause });

/** Why the asset can't play early, whatever its origin and its file. */
const whyNotEarly = ({ playsEarly, row: { asset, media } }: IngestContext): string | undefined => {
  if (!playsEarly) return 'KINORA_RANGE_SOURCES is false';
  if (asset.normalize_audio) return 'normalize_audio measures the loudness of all of the audio';
  if (media.plan) return 'an earlier run has planned the asset from another file';
  return undefined;
};
