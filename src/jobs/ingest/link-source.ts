import { refuse } from '../../early/file/probe-file.js';
import { type BucketObject, bucketObjectOf } from '../../lib/bucket-url.js';
import { checkSize } from '../../net/fetch-source.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';

/**
 * Makes an object of a bucket the source of the asset, without a copy. Undefined when the URL is none of a bucket.
 * @throws KinoraError `invalid_input`, `unavailable`
 */
export const linkSource = async (context: IngestContext, url: string): Promise<BucketObject | undefined> => {
  const { assetId, linked, maxSourceBytes, logger } = context;
  const object = bucketObjectOf(url);
  if (!object) return undefined;
  if (!linked) return refuse('The input file is in a bucket, but KINORA_SOURCE_BUCKETS is not set any more.');
  const info = await linked.find(object);
  if (!info) return refuse('The input file could not be read: the bucket has no object with this key.');
  if (info.sizeBytes === 0) return refuse('The input file is empty.');
  checkSize(maxSourceBytes, info.sizeBytes);
  await linked.link(sourceKey(assetId), { ...object, ...info });
  logger.info({ bucket: object.bucket, bytes: info.sizeBytes }, 'source linked');
  return object;
};
