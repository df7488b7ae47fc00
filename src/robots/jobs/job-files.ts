/**
 * Keys of the blobs of a job. They are removed with the asset, because they are below its prefix.
 */

/** What a job stores: results, which expire, and intermediate results. */
export const jobPrefix = (assetId: string, jobId: string): string => `assets/${assetId}/robots/${jobId}`;

export const resultKey = (assetId: string, jobId: string, file: string): string =>
  `${jobPrefix(assetId, jobId)}/${file}`;

export const stepsPrefix = (assetId: string, jobId: string): string => `${jobPrefix(assetId, jobId)}/steps`;

export const stepKey = (assetId: string, jobId: string, step: string): string =>
  `${stepsPrefix(assetId, jobId)}/${step}.json`;
