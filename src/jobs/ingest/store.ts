import { reject } from '../../early/file/probe-file.js';
import { OriginPlay } from '../../early/origin-play.js';
import type { StoredOverlay } from '../../early/settings.js';
import { recordStatus } from '../../early/status.js';
import { type BucketObject, bucketObjectOf } from '../../lib/bucket-url.js';
import { errorRegistry, isKinoraError, KinoraError } from '../../lib/errors.js';
import { checkSize, type RemoteFile, WEB_PAGE } from '../../net/fetch-source.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';

/**
 * Downloads the source. Skips the download if an earlier run has finished it, and resumes an
 * interrupted one. If possible, the asset plays during the download.
 */
export const storeSource = async (
  context: IngestContext,
  overlays: Promise<readonly StoredOverlay[]>,
): Promise<OriginPlay | undefined> => {
  const { clock, logger } = context;
  const startedMs = clock.monotonicMs();
  const early = await download(context, overlays);
  logger.info({ download_ms: Math.round(clock.monotonicMs() - startedMs) }, 'source stored');
  return early;
};

const download = async (
  context: IngestContext,
  overlays: Promise<readonly StoredOverlay[]>,
): Promise<OriginPlay | undefined> => {
  const { assetId, row, blobs, fetcher, pool, state, signal } = context;
  if (await blobs.stat(sourceKey(assetId))) return undefined;
  if (row.asset.live_stream_id !== null) return reject('The broadcast ended before anything was recorded.');
  const { url } = row.mainInput.settings;
  const validator = row.media.source_validator;
  // A direct upload stores its source before the asset is created.
  if (typeof url !== 'string') throw new KinoraError('internal_error', { details: { stage: 'the uploaded source' } });
  if (await linkSource(context, url)) {
    await recordStatus(context, { status: 'stored_first', reason: 'the source stays in its bucket and is read there' });
    return undefined;
  }
  const target = await blobs.resumeWrite(sourceKey(assetId));
  const obstacle = whyNotEarly(context);
  if (obstacle !== undefined) await recordStatus(context, { status: 'stored_first', reason: obstacle });
  let early: OriginPlay | undefined;
  const fetching = fetcher.fetch(url, target, {
    signal,
    onReceived: () => pool.prepare(),
    validator: validator ?? undefined,
    onValidator: async (current) => {
      if (early && current !== early.validator) await early.withdraw('the source has changed');
      await state.saveSourceValidator(assetId, current);
    },
    ...(obstacle === undefined && {
      onNoRanges: (reason) => recordStatus(context, { status: 'stored_first', reason }),
      onRanges: async (remote: RemoteFile) => {
        early = await OriginPlay.open(context, remote, target, overlays);
        return early?.target;
      },
    }),
  });
  await fetching.catch((error: unknown) => {
    throw isKinoraError(error) && error.details?.reason === WEB_PAGE ? notVideo(error) : error;
  });
  return early;
};

/** The message that every file gets that is not a video, and then the reason. */
const notVideo = (cause: KinoraError): KinoraError =>
  new KinoraError('invalid_input', { messages: [errorRegistry.invalid_input.message, ...cause.messages], cause });

/** Why the asset can't play early, whatever its origin and its file. */
const whyNotEarly = ({ playsEarly, row: { asset, media } }: IngestContext): string | undefined => {
  if (!playsEarly) return 'KINORA_RANGE_SOURCES is false';
  if (asset.normalize_audio) return 'normalize_audio measures the loudness of all of the audio';
  if (media.plan) return 'an earlier run has planned the asset from another file';
  return undefined;
};

/**
 * Makes an object of a bucket the source of the asset, without a copy. Undefined when the URL is
 * none of a bucket.
 * @throws KinoraError `invalid_input`, `unavailable`
 */
const linkSource = async (context: IngestContext, url: string): Promise<BucketObject | undefined> => {
  const { assetId, linked, maxSourceBytes, logger } = context;
  const object = bucketObjectOf(url);
  if (!object) return undefined;
  if (!linked) return reject('The input file is in a bucket, but KINORA_SOURCE_BUCKETS is not set any more.');
  const info = await linked.find(object);
  if (!info) return reject('The input file could not be read: the bucket has no object with this key.');
  if (info.sizeBytes === 0) return reject('The input file is empty.');
  checkSize(maxSourceBytes, info.sizeBytes);
  await linked.link(sourceKey(assetId), { ...object, ...info });
  logger.info({ bucket: object.bucket, bytes: info.sizeBytes }, 'source linked');
  return object;
};
