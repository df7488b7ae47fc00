import { BucketAlreadyOwnedByYou, CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Settings } from '#kinora/storage/s3/object-client.js';

export const makeBucket = async ({ bucket, region, endpoint, pathStyle, credentials }: S3Settings): Promise<void> => {
  const client = new S3Client({ region, endpoint: endpoint!, forcePathStyle: pathStyle, credentials: credentials! });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    // The client has repeated a slow request that succeeded.
    if (!(error instanceof BucketAlreadyOwnedByYou)) throw error;
  });
  client.destroy();
};
