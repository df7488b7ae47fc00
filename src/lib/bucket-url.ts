/** A bucket, and the part of it whose keys begin with `prefix/`; all of it with an empty prefix. */
export interface BucketPath {
  readonly bucket: string;
  readonly prefix: string;
}

export interface BucketObject {
  readonly bucket: string;
  readonly key: string;
}

const MAX_KEY_BYTES = 1024;

/**
 * The object at `s3://bucket/key`, whose key is taken as it is written; undefined for any other
 * text.
 */
export const bucketObjectOf = (url: string): BucketObject | undefined => {
  const [, bucket, key = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(\P{Cc}+)$/u.exec(url) ?? [];
  // Some servers and proxies resolve such parts of a path, and would leave the prefix.
  const isPlain = key.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  return bucket !== undefined && isPlain && Buffer.byteLength(key) <= MAX_KEY_BYTES ? { bucket, key } : undefined;
};

export const isUnderPath = ({ bucket, key }: BucketObject, path: BucketPath): boolean =>
  bucket === path.bucket && (path.prefix === '' || key.startsWith(`${path.prefix}/`));
