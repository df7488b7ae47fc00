import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { newId, newSecret } from '../../lib/ids.js';
import type { ObjectClient, S3Settings } from './object-client.js';

/** Outside of all prefixes that blobs have. */
const CHECK_KEY = 'kinora-check';

/**
 * Writes, reads, lists and deletes an object.
 * @throws KinoraError `config_invalid` whose message says what to change; `unavailable` while the
 * service is unavailable
 */
export const checkBucket = async (objects: ObjectClient, settings: S3Settings): Promise<void> => {
  try {
    const key = `${CHECK_KEY}-${newId()}`;
    const sent = Buffer.from(newSecret());
    await objects.put(key, sent);
    const { chunks } = (await objects.open(key, { start: 0, end: sent.length })) ?? { chunks: [] };
    const got: Uint8Array[] = [];
    for await (const chunk of chunks) got.push(chunk);
    const listed: string[] = [];
    for await (const { key: listedKey } of objects.list(key)) listed.push(listedKey);
    await objects.delete(key);
    await objects.listParts(key);
    if (Buffer.concat(got).equals(sent) && listed.includes(key)) return;
  } catch (error) {
    throw explained(error, settings);
  }
  const message = `${describeBucket(settings)} does not return what was written to it: it is not an S3 service that Kinora can use.`;
  throw new KinoraError('config_invalid', { messages: [message] });
};

/**
 * Lists an object.
 * @throws KinoraError as `checkBucket`
 */
export const checkReadable = async (objects: ObjectClient, settings: S3Settings): Promise<void> => {
  try {
    for await (const _ of objects.list('')) return;
  } catch (error) {
    throw explained(error, settings);
  }
};

const explained = (error: unknown, settings: S3Settings): unknown => {
  if (!isKinoraError(error, 'unavailable')) return error;
  const code = isUnavailable(error) ? 'unavailable' : 'config_invalid';
  return new KinoraError(code, { messages: [explain(error, settings)], cause: error });
};

/** No connection, or a response that the service can't work now: it may be starting. */
const AWAY: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'TimeoutError',
]);
const isUnavailable = ({ details }: KinoraError): boolean =>
  AWAY.has(details?.reason) || Number(details?.status) >= 500;

export const describeBucket = ({ bucket, prefix, endpoint }: S3Settings): string =>
  `s3://${bucket}${prefix && `/${prefix}`}${endpoint === undefined ? '' : ` at ${endpoint}`}`;

const RIGHTS =
  's3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucket and s3:ListBucketMultipartUploads';

const explain = ({ details, cause }: KinoraError, settings: S3Settings): string => {
  const { reason, status, operation } = details as { reason: string; status?: number; operation: string };
  const { endpoint = 'the endpoint of AWS', region, bucket } = settings;
  const beginning = `${describeBucket(settings)} cannot be used`;
  switch (reason) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${beginning}: the name in ${endpoint} does not resolve. Correct KINORA_S3_ENDPOINT; where the bucket is not a host name, set KINORA_S3_PATH_STYLE=true.`;
    case 'ECONNREFUSED':
    case 'ECONNRESET':
    case 'EHOSTUNREACH':
    case 'ETIMEDOUT':
    case 'TimeoutError':
      return `${beginning}: ${endpoint} does not answer (${reason}). Start the service or correct KINORA_S3_ENDPOINT.`;
    case 'NoSuchBucket':
      return `${beginning}: the bucket ${bucket} does not exist. Create it or correct KINORA_BLOBS.`;
    case 'InvalidAccessKeyId':
      return `${beginning}: the service does not know the access key. Correct KINORA_S3_ACCESS_KEY_ID.`;
    case 'SignatureDoesNotMatch':
      return `${beginning}: the access key or its secret is wrong. Correct KINORA_S3_ACCESS_KEY_ID and KINORA_S3_SECRET_ACCESS_KEY.`;
    case 'RequestTimeTooSkewed':
      return `${beginning}: the clocks of this machine and of the service differ by more than 15 minutes. Set the clock; use NTP.`;
    case 'AuthorizationHeaderMalformed':
    case 'PermanentRedirect':
      return `${beginning}: the bucket is not in the region ${region}. Correct KINORA_S3_REGION.`;
    case 'CredentialsProviderError':
      return `${beginning}: there are no credentials. Set KINORA_S3_ACCESS_KEY_ID and KINORA_S3_SECRET_ACCESS_KEY.`;
    case 'AccessDenied':
      return `${beginning}: the credentials do not allow ${operation}. Allow ${RIGHTS}.`;
    default:
      return `${beginning}: ${operation} failed${status === undefined ? '' : ` with status ${status}`} (${(cause as Error).message}).`;
  }
};
